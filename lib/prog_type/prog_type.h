/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Program types: prog_types.def has one row per type; a family's file says what its context looks
 * like, how an access to it is checked and converted, which helpers it may call, which values it may
 * return, and how BPF_PROG_TEST_RUN runs it.
 */
#ifndef BPFU_PROG_TYPE_PROG_TYPE_H
#define BPFU_PROG_TYPE_PROG_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

struct bpfu_helper;
struct bpfu_log;
struct bpfu_prog;

enum bpfu_ctx_kind { /* what a context load yields */
	BPFU_CTX_SCALAR,
	BPFU_CTX_PACKET,
	BPFU_CTX_PACKET_META,
	BPFU_CTX_PACKET_END,
};

struct bpfu_ctx_access {
	bool is_ldsx;                /* in: the load extends the sign */
	struct bpfu_log *log;        /* in: for why an access is refused; may be NULL */
	enum bpfu_ctx_kind kind;
	uint32_t ctx_field_size;     /* size of the field when a narrower load is allowed, else 0 */
};

/* Insns of one converted access go here; conversions are short. */
#define BPFU_CTX_INSNS_MAX 16

struct bpfu_prog_type {
	enum bpf_prog_type type;
	const char *name;                    /* libbpf's: "raw_tracepoint" */

	/* May the program access @size bytes at @off of its context? Fills *@info. */
	bool (*is_valid_access)(int off, int size, bool write, const struct bpfu_prog *prog,
				struct bpfu_ctx_access *info);
	/*
	 * Convert a context access (BPF_LDX/BPF_ST/BPF_STX @insn on the user-visible layout) into
	 * accesses of the internal layout, in @buf. Returns the number of instructions, or 0 if the
	 * layouts are the same and the instruction stays. *@target_size gets the size loaded (for
	 * narrow loads). NULL: never converted.
	 */
	int (*convert_ctx_access)(const struct bpf_insn *insn, struct bpf_insn *buf,
				  const struct bpfu_prog *prog, uint32_t *target_size);
	/* May the type call this helper? */
	bool (*helper_allowed)(const struct bpfu_helper *helper, int32_t id,
			       const struct bpfu_prog *prog);
	/* Range of r0 at exit; *@has false: any value. */
	void (*retval_range)(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max);
	/* Direct packet writes allowed. */
	bool may_write_packet;
	/* expected_attach_type at load: 0 or -EINVAL. NULL: the type takes any, as in the kernel. */
	int (*load_check)(const union bpf_attr *attr);
	/*
	 * BPF_PROG_TEST_RUN. @attr is our copy; results are written to it and to user memory, the
	 * caller copies attr->test back to the user. NULL: -ENOTSUPP (524).
	 */
	int (*test_run)(struct bpfu_prog *prog, union bpf_attr *attr);
};

/* NULL: the type is not supported (-EINVAL). */
const struct bpfu_prog_type *bpfu_prog_type_of(uint32_t type);

#endif
