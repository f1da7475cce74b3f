/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases of conformance files (*.t); README.md describes the format. */
#ifndef TESTS_INSN_CASES_H
#define TESTS_INSN_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

#define CASE_MAX_INSNS 70000
#define CASE_MAX_MEM 4096

struct insn_case {
	char name[160];        /* "file: case" */
	struct bpf_insn *insns;
	uint32_t cnt;
	uint8_t mem[CASE_MAX_MEM];
	uint32_t mem_len;
	bool has_result;
	uint64_t result;       /* r0 */
	char error[96];        /* or the phrase of the refusal */
	char cpu[16];          /* instructions beyond v3: "v4", "acq_rel" */
	bool direct;           /* kernel: load without the calling frame */
	char kernel_skip[96];  /* kernel: why not there */
};

/* Call @fn for every case of @path in order. Returns 0, or -1 with the reason printed. */
int cases_read(const char *path, void (*fn)(const struct insn_case *c, void *ctx), void *ctx);

#endif
