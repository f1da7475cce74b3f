/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replacing instructions by several (or none), all at once and in linear time. A pass notes what is
 * to become of single instructions; bpfu_patch_apply() then lays the program out anew and corrects
 * everything that counts in instructions:
 *
 *     0: r0 = 0                      0: r0 = 0
 *     1: call X        -> 3 insns    1: …            2: …    3: …
 *     2: if r0 > 1 goto +1           4: if r0 > 1 goto +0
 *     3: r0 = 1        -> removed
 *     4: exit                        5: exit
 *
 * jumps (16 and 32 bits; those that no longer fit are lengthened), BPF-to-BPF calls, references to
 * subprograms, the table of subprograms (those left empty are dropped), func_info and line_info.
 * A jump to a removed instruction goes to what follows it.
 *
 * In replacements jumps stay inside and may go to their end, and the imm of a BPF-to-BPF call
 * or of a reference to a subprogram is the index of its target in the old program.
 */
#ifndef BPFU_REWRITE_PATCH_H
#define BPFU_REWRITE_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "insn/insn.h"

struct bpfu_prog;

struct bpfu_patch_row {
	uint32_t first;  /* in the pool */
	uint16_t cnt;    /* of the replacement */
	bool replaced;
	bool jumps;      /* the replacement ends in the old instruction's jump */
	bool long_jump;  /* conditional jump whose target is too far away: three instructions */
};

struct bpfu_patch {
	struct bpfu_prog *prog;
	struct bpfu_patch_row *rows; /* one per instruction of the old program */
	struct bpf_insn *pool;
	uint32_t pool_cnt, pool_cap;
};

/* Start with nothing to replace. 0 or -ENOMEM. */
int bpfu_patch_init(struct bpfu_patch *patch, struct bpfu_prog *prog);
void bpfu_patch_release(struct bpfu_patch *patch);

/* Both slots of an LD_IMM64 have to be removed. */
void bpfu_patch_remove(struct bpfu_patch *patch, uint32_t insn_idx);
/* 0 or -ENOMEM. */
int bpfu_patch_replace(struct bpfu_patch *patch, uint32_t insn_idx, const struct bpf_insn *insns,
		       uint32_t cnt);

/* The same for a conditional jump: the last of @insns is one, and goes where the old one went. */
int bpfu_patch_replace_jump(struct bpfu_patch *patch, uint32_t insn_idx,
			    const struct bpf_insn *insns, uint32_t cnt);

static inline bool bpfu_patch_is_removed(const struct bpfu_patch *patch, uint32_t insn_idx)
{
	return patch->rows[insn_idx].replaced && !patch->rows[insn_idx].cnt;
}

/* Make it so; @patch is of no more use. 0, -ENOMEM, or -E2BIG; then the program is as before. */
int bpfu_patch_apply(struct bpfu_patch *patch);

/* The same; *@start (free()) gets the new index of each old instruction, and of the end. */
int bpfu_patch_apply_map(struct bpfu_patch *patch, uint32_t **start);

/* Distance that the jump @insn goes from the instruction behind it. */
int32_t bpfu_insn_jump_off(const struct bpf_insn *insn);
/* True for ja, gotol and all conditional jumps; not for calls, exit and tail calls. */
bool bpfu_insn_is_jump(const struct bpf_insn *insn);
bool bpfu_insn_is_cond_jump(const struct bpf_insn *insn);

#endif
