/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where generated code keeps what its callers need: rows that say what changes from a place in the code on, and
 * the DWARF tables that unwinders read, made of such rows (DWARF 5, 6.4, in the form of .eh_frame).
 *
 * At its first byte a function is as the machine's calls leave it: on x86-64 the caller's frame ends (the CFA) at
 * rsp + 8, on arm64 at sp, and no register has been saved.
 */
#ifndef BPFU_JIT_CFI_H
#define BPFU_JIT_CFI_H

#include <stdint.h>

#include "util/bytes.h"

enum bpfu_cfi_op {
	BPFU_CFI_CFA,      /* the CFA is register + value */
	BPFU_CFI_SAVED,    /* the caller's register lies at CFA - value */
	BPFU_CFI_SAME,     /* the register is the caller's again */
	BPFU_CFI_REMEMBER, /* all this, to be taken up again */
	BPFU_CFI_AGAIN,
	BPFU_CFI_START,    /* all is as at the first byte */
};

struct bpfu_cfi {
	uint32_t off;  /* in the code; rows are in this order */
	uint8_t op;    /* enum bpfu_cfi_op */
	uint8_t reg;   /* as encoders number it; 31 is arm64's sp */
	int32_t value; /* a multiple of 8 */
};

#if defined(__x86_64__)
#define BPFU_CFI_SP 4
#define BPFU_CFI_FP 5
#else
#define BPFU_CFI_SP 31
#define BPFU_CFI_FP 29
#endif

/* Before the functions, and after them. */
void bpfu_cfi_begin(struct bpfu_bytes *table);
void bpfu_cfi_end(struct bpfu_bytes *table);

/*
 * The function of @len bytes at @addr. Its rows are those of the @cnt at @rows that lie in it; it begins at
 * @off of what they count from.
 */
void bpfu_cfi_func(struct bpfu_bytes *table, uint64_t addr, uint32_t off, uint32_t len,
		   const struct bpfu_cfi *rows, uint32_t cnt);

#endif
