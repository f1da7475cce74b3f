/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verifier's interface: abstract interpretation of a program that accepts only what is safe.
 * README.md says which layer checks what, where and why; state.h and the other headers of this
 * folder are private to it.
 */
#ifndef BPFU_VERIFIER_VERIFIER_H
#define BPFU_VERIFIER_VERIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "insn/insn.h"
#include "util/vlog.h"

struct bpfu_func;
struct bpfu_map;
struct bpfu_prog;

/* What the verifier learnt about one instruction, for rewrite/. Indexed as prog->insns. */
struct bpfu_insn_aux {
	bool seen;                   /* reached on some path; others are dead code */
	bool ctx_access;             /* load or store through the context pointer */
	bool ctx_narrow;             /* narrower than the field: ctx_field_size tells its size */
	bool probe_mem;              /* load that may fault (BTF pointer) */
	bool map_ptr_poison;         /* helper call: different maps reach it */
	bool is_const_map_key;       /* lookup: constant in-bounds key known, see const_key */
	bool loop_inline;            /* bpf_loop: one callback on all paths, flags known 0 */
	bool subreg_def_zext;        /* 32-bit definition whose upper half is read: needs zext */
	bool nospec;                 /* speculation barrier wanted before it (hardening) */
	bool nospec_after;           /* and behind it */
	int8_t branch_known;         /* conditional jump: -1 both ways seen, 0 never, 1 always taken */
	bool makes_object;           /* bpf_obj_new_impl(): of object_size bytes */
	uint32_t object_size;
	uint32_t ctx_field_size;
	uint32_t callback_subprog;   /* loop_inline */
	uint32_t const_key;
	struct bpfu_map *map;        /* helper call with a map argument: the map, if not poisoned */
	uint64_t map_imm;            /* LD_IMM64 of a map or map value: the resolved address */
	uint32_t orig_idx;           /* index of the instruction as loaded */
};

/*
 * Verify prog->insns (orig_insn_cnt of them, prog->type_ops set, BTF and func/line info already
 * copied into @prog and not yet checked against the code). Resolves map descriptors (@fd_array: the
 * user's array for BPF_PSEUDO_MAP_IDX, 0 if none) and takes map references into prog->used_maps.
 * On success fills prog->subprogs and the verifier's facts, and *@aux (insn_cnt rows, free()).
 * Does not change prog->insns.
 *
 * Returns 0, -EINVAL, -EACCES, -EPERM, -E2BIG, -ENOMEM, … as the kernel's verifier does.
 */
int bpfu_verify(struct bpfu_prog *prog, uint64_t fd_array, struct bpfu_log *log,
		struct bpfu_insn_aux **aux);

/*
 * May @prog, of type EXT or TRACING, be attached to the function @btf_id of the BPF program @dst? *@subprog
 * becomes which one that is, *@func (may be NULL) its prototype, for free(). 0, -EINVAL, -EFAULT or
 * -ENOMEM, with the reason in the log (may be NULL).
 */
int bpfu_verify_target(const struct bpfu_prog *prog, const struct bpfu_prog *dst, uint32_t btf_id,
		       struct bpfu_log *log, uint32_t *subprog, struct bpfu_func **func);

#endif
