/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files that lower BPF to A64: the state of the function being lowered, and access to
 * the operands. jit.c drives; lower_*.c have one file per group of instructions.
 */
#ifndef BPFU_JIT_ARM64_LOWER_H
#define BPFU_JIT_ARM64_LOWER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jit/arm64/encode.h"
#include "jit/backend.h"

enum a64_cpu { A64_CPU_LSE = 1u << 0 };

enum a64_reloc {
	A64_RELOC_CALL,    /* BL */
	A64_RELOC_PAGE,    /* ADRP */
	A64_RELOC_PAGEOFF, /* ADD of the low 12 bits */
};

/*
 * Kind of a branch (one byte). Conditions take their own number; CBZ and CBNZ pack the register.
 *
 *    0 … 13   B.cond     14 (AL)   B     1 n s rrrrr   CBZ (n: CBNZ), s: 64-bit, r: register
 */
#define A64_BRANCH_CB 0x80u
#define A64_BRANCH_CB_NZ 0x40u
#define A64_BRANCH_CB_SF 0x20u

/* A constant that a register holds throughout the function. */
#define A64_PINS 4
struct a64_pin {
	uint64_t value;
	uint8_t reg;
};

struct a64_jit {
	struct bpfu_jit_ctx *ctx;
	struct bpfu_layout *l;
	struct bpfu_codebuf *cb;
	const struct bpf_insn *insns;

	/* The function. */
	const struct bpfu_func_facts *func;
	uint8_t save[4 + A64_PINS]; /* callee-saved registers it uses, in pairs from the lowest address */
	uint8_t save_cnt;    /* even */
	bool frame;          /* x29 and x30 are saved */
	uint32_t stack;      /* bytes of the BPF frame, a multiple of 16 */
	uint8_t fp_base;     /* r10 is this register … */
	int32_t fp_disp;     /* … plus this */
	bool main_segment;      /* takes the first segment of private stack: */
	uint32_t segment_busy;  /* label of what happens if it is in use, */
	uint32_t segment_taken; /* … and where that goes on */
	struct a64_pin pins[A64_PINS];
	unsigned pin_cnt;
	uint32_t idx;        /* the instruction */
	uint32_t skip;       /* slots after it that it takes care of as well */
};

static inline void a64_emit(struct a64_jit *j, uint32_t word)
{
	uint8_t *p = bpfu_codebuf_room(j->cb);

	/* A64 instructions are little-endian on every host. */
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(word >> (8 * i));
	bpfu_codebuf_commit(j->cb, p + 4);
}

static inline bool a64_has(const struct a64_jit *j, enum a64_cpu feature)
{
	return j->ctx->target.cpu & feature;
}

/* rd = r10 */
static inline void a64_mov_fp(struct a64_jit *j, uint8_t rd)
{
	a64_emit(j, j->fp_disp < 0 ? a64_sub_i(true, rd, j->fp_base, (uint32_t)-j->fp_disp) :
				     a64_add_i(true, rd, j->fp_base, (uint32_t)j->fp_disp));
}

/*
 * The register that holds r. r10 has none: the frame pointer is sp, or the segment of private stack,
 * plus a constant, computed into @tmp where it is wanted as a value.
 */
static inline uint8_t a64_src(struct a64_jit *j, unsigned r, uint8_t tmp)
{
	if (r != BPF_REG_10)
		return a64_regmap[r];
	a64_mov_fp(j, tmp);
	return tmp;
}

/* The register of r (not r10), which is going to be written. */
static inline uint8_t a64_dst(unsigned r)
{
	return a64_regmap[r];
}

/* Branch to @label if @cond. */
static inline void a64_branch(struct a64_jit *j, enum a64_cond cond, uint32_t label)
{
	bool always = cond == A64_AL;

	bpfu_layout_branch(j->l, label, (uint8_t)cond, 4, always ? 4 : 8, always ? 28 : 21);
}

/* Branch to @label if @rt is zero, or not zero with @nz. */
static inline void a64_branch_cb(struct a64_jit *j, bool nz, bool sf, uint8_t rt, uint32_t label)
{
	uint8_t kind = (uint8_t)(A64_BRANCH_CB | (nz ? A64_BRANCH_CB_NZ : 0) |
				 (sf ? A64_BRANCH_CB_SF : 0) | rt);

	bpfu_layout_branch(j->l, label, kind, 4, 8, 21);
}

/* dst = imm, in as few instructions as there are. */
void bpfu_a64_mov_imm(struct a64_jit *j, uint8_t dst, uint64_t imm);

/* dst = imm of a BPF instruction, as ALU64 (sign-extended) or ALU32 takes it. */
static inline void bpfu_a64_mov_insn_imm(struct a64_jit *j, uint8_t dst, bool sf, int32_t imm)
{
	bpfu_a64_mov_imm(j, dst, sf ? (uint64_t)(int64_t)imm : (uint32_t)imm);
}

/* The fields of a logical immediate, if imm is one at this width. */
static inline bool a64_logic_fields(bool sf, int32_t imm, uint32_t *fields)
{
	uint64_t wide = sf ? (uint64_t)(int64_t)imm :
			     (uint32_t)imm | (uint64_t)(uint32_t)imm << 32;

	return a64_logical_imm(wide, fields);
}

/* rd = bpfu_cpu_self.percpu_off */
void bpfu_a64_percpu_off(struct a64_jit *j, uint8_t rd, uint8_t tmp);

/* Speculation barrier: SB is not in every processor, this is. */
static inline void bpfu_a64_barrier(struct a64_jit *j)
{
	a64_emit(j, a64_dsb_nsh());
	a64_emit(j, a64_isb());
}

/* Constants kept in registers; see pins.c. plan once the saved registers are known. */
void bpfu_a64_plan_pins(struct a64_jit *j);
void bpfu_a64_load_pins(struct a64_jit *j);
bool bpfu_a64_pinned(const struct a64_jit *j, uint64_t imm, uint8_t *reg);

/* What is attached to function @f, in front of its own code (patch.c). */
void bpfu_a64_patch(struct a64_jit *j, uint32_t f);

void bpfu_a64_prologue(struct a64_jit *j, uint32_t f);
/* Undo the prologue, and return, or jump to where @target says (A64_ZR: return). */
void bpfu_a64_epilogue(struct a64_jit *j, uint8_t target);
void bpfu_a64_finish(struct a64_jit *j); /* after the function's last instruction */

/* The same with the first operand in register @lhs instead of dst's; dst must not be the second. */
int bpfu_a64_lower_alu_of(struct a64_jit *j, const struct bpf_insn *insn, uint8_t lhs);

/* Several instructions as one, if there is a better way for what begins here; see fuse.c. */
bool bpfu_a64_fuse(struct a64_jit *j, const struct bpf_insn *insn);

/* A wide loop in front of the one at @head, if that is of a kind that has one; see wide.c. */
void bpfu_a64_wide_loop(struct a64_jit *j, uint32_t head);

/* ---- groups of instructions: 0 or -EINVAL if the instruction is unknown ---- */

int bpfu_a64_lower_alu(struct a64_jit *j, const struct bpf_insn *insn);
int bpfu_a64_lower_mem(struct a64_jit *j, const struct bpf_insn *insn);
int bpfu_a64_lower_atomic(struct a64_jit *j, const struct bpf_insn *insn);
int bpfu_a64_lower_jmp(struct a64_jit *j, const struct bpf_insn *insn);

#endif
