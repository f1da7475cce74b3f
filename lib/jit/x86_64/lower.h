/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files that lower BPF to x86-64: the state of the function being lowered, and access
 * to the operands. jit.c drives; lower_*.c have one file per group of instructions.
 */
#ifndef BPFU_JIT_X86_64_LOWER_H
#define BPFU_JIT_X86_64_LOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/backend.h"
#include "jit/x86_64/encode.h"

enum x86_cpu { X86_CPU_BMI2 = 1u << 0, X86_CPU_MOVBE = 1u << 1 };

enum x86_reloc { X86_RELOC_REL32 }; /* 4 bytes at the end of an instruction */

/* Code that is seldom run, put after the function; see bpfu_x86_cold(). */
enum x86_cold_kind {
	X86_COLD_ZERO,      /* dst = 0 */
	X86_COLD_TRUNC,     /* dst = (u32)dst */
	X86_COLD_SDIV,      /* src is 0 or -1: dst = 0 or -dst */
	X86_COLD_SMOD,      /* src is 0 or -1: dst unchanged or 0 */
};

/* A value not yet in its register: base + (index << scale) + disp; see value.c. */
struct x86_val {
	uint8_t base;   /* x86 register or X86_NONE */
	uint8_t index;
	uint8_t scale;
	bool zx;        /* only the low half, zero-extended */
	int32_t disp;
};

/* A constant that a register holds throughout the function. */
#define X86_PINS 4
struct x86_pin {
	uint64_t value;
	uint8_t reg;
};

struct x86_cold {
	uint32_t entry; /* label */
	uint32_t back;  /* label */
	uint8_t kind;
	uint8_t dst;    /* x86 registers */
	uint8_t src;
	bool w;
};

struct x86_jit {
	struct bpfu_jit_ctx *ctx;
	struct bpfu_layout *l;
	struct bpfu_codebuf *cb;
	const struct bpf_insn *insns;

	/* The function. */
	const struct bpfu_func_facts *func;
	uint8_t map[BPFU_JIT_REGS]; /* BPF register to x86 register */
	int8_t bpf_of[16];         /* and back, -1 if none */
	uint8_t save[8];           /* registers to restore, in order of pushing */
	uint8_t save_cnt;
	struct x86_pin pins[X86_PINS];
	unsigned pin_cnt;
	bool frame;                /* rbp is set up */
	int32_t fp_disp;           /* r10 is its register (map[]) plus this */
	uint32_t locals;           /* bytes below rbp before the pushed registers */
	int32_t counter_off;       /* tail_reach: where the pointer to the counter is kept */
	int32_t may_goto_off;      /* has_may_goto: iterations left */
	bool main_segment;         /* takes the first segment of private stack: */
	int32_t segment_off;       /* where the caller's r12 is kept */
	uint32_t segment_busy;     /* label of what happens if it is in use, */
	uint32_t segment_taken;    /* … and where that goes on */
	uint32_t exit_label;       /* of the epilogue, valid if exit_done */
	bool exit_done;

	/* The instruction, and what is known before it. */
	uint32_t idx;
	uint32_t skip;             /* instructions after it that it takes care of as well */
	uint16_t wanted;           /* registers that are read later */
	uint16_t live;             /* those of them that this instruction does not write */
	uint16_t zext;             /* registers whose upper half is zero, bit per BPF register */
	uint16_t deferred;         /* registers whose value is in val[] */
	struct x86_val val[BPFU_JIT_REGS];
	uint8_t flags_reg;         /* the flags are those of this register against 0, or X86_NONE */
	bool flags_w;              /* as a 64-bit number */
	bool flags_logic;          /* and carry and overflow are clear */

	struct x86_cold *cold;
	uint32_t cold_cnt, cold_cap;
};

/* ---- operands; see value.c. Fetch what is read before asking for what is written. ---- */

/* A register that holds r, or at least its low half if !@w. Only to be read. */
uint8_t bpfu_x86_src(struct x86_jit *j, unsigned r, bool w);

/* True if r is known to be the number *@imm; sign-extended to 64 bits if @w. */
bool bpfu_x86_const(const struct x86_jit *j, unsigned r, bool w, int32_t *imm);

/* Memory at r + off. */
struct x86_mem bpfu_x86_addr(struct x86_jit *j, unsigned r, int32_t off);

/* Bring r into its own register, and return that. */
uint8_t bpfu_x86_settle(struct x86_jit *j, unsigned r);

/* x86 register @reg is going to be written: settle what depends on it. */
void bpfu_x86_clobber(struct x86_jit *j, uint8_t reg);

/* Settle those of @regs (bit per BPF register) that are deferred. */
void bpfu_x86_flush(struct x86_jit *j, uint16_t regs);

/* r's value as an expression, and making such an expression r's value. */
struct x86_val bpfu_x86_value(struct x86_jit *j, unsigned r);
void bpfu_x86_defer(struct x86_jit *j, unsigned r, struct x86_val v);

/* d = (u32)d */
void bpfu_x86_defer_trunc(struct x86_jit *j, unsigned d);

/* d += imm, d += s, d <<= count [+ d] without emitting anything; false if the form has no room. */
bool bpfu_x86_defer_add_imm(struct x86_jit *j, unsigned d, bool w, int32_t imm);
bool bpfu_x86_defer_add(struct x86_jit *j, unsigned d, unsigned s, bool w);
bool bpfu_x86_defer_scale(struct x86_jit *j, unsigned d, bool w, unsigned count, bool self);

/* The register of r, which is going to be written without having been read. */
static inline uint8_t x86_dst(struct x86_jit *j, unsigned r)
{
	j->deferred &= (uint16_t)~(1u << r);
	bpfu_x86_clobber(j, j->map[r]);
	return j->map[r];
}

/* The register of r, which is going to be read and written. */
static inline uint8_t x86_dst_rw(struct x86_jit *j, unsigned r)
{
	bpfu_x86_settle(j, r);
	bpfu_x86_clobber(j, j->map[r]);
	return j->map[r];
}

static inline bool x86_is_zext(const struct x86_jit *j, unsigned r)
{
	return j->zext >> r & 1;
}

static inline void x86_flags_set(struct x86_jit *j, uint8_t reg, bool w, bool logic)
{
	j->flags_reg = reg;
	j->flags_w = w;
	j->flags_logic = logic;
}

static inline void x86_flags_lost(struct x86_jit *j)
{
	j->flags_reg = X86_NONE;
}

/* Is what r holds now read after this instruction? */
static inline bool x86_is_live(const struct x86_jit *j, unsigned r)
{
	return j->live >> r & 1;
}

/* Is what this instruction puts into r read later? */
static inline bool x86_is_wanted(const struct x86_jit *j, unsigned r)
{
	return j->wanted >> r & 1;
}

/* Does x86 register @reg hold something that is read after this instruction? */
static inline bool x86_reg_busy(const struct x86_jit *j, uint8_t reg)
{
	int r = j->bpf_of[reg];

	if (r < 0 || !x86_is_live(j, (unsigned)r))
		return false;
	/* A deferred value is not there, unless it is to be computed in place. */
	return !(j->deferred >> r & 1) || j->val[r].base == reg || j->val[r].index == reg;
}

static inline bool x86_has(const struct x86_jit *j, enum x86_cpu feature)
{
	return j->ctx->target.cpu & feature;
}

/* Bytes that a load or store accesses. */
static inline unsigned x86_access_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

/* ---- emission beyond one instruction ---- */

static inline void x86_branch(struct x86_jit *j, unsigned cc, uint32_t label)
{
	bpfu_layout_branch(j->l, label, (uint8_t)cc, X86_BRANCH_SHORT,
			   (uint8_t)x86_branch_long_len(cc), 8);
}

/* dst = imm, in the shortest way. May clobber the flags. */
void bpfu_x86_mov_imm(struct x86_jit *j, uint8_t dst, uint64_t imm);

/* dst += imm, imm from -2^31 to 2^31. */
void bpfu_x86_add_imm(struct x86_jit *j, bool w, uint8_t dst, int64_t imm);

/* Register a piece of cold code; it goes on at ->back. Returns the label of its entry. */
uint32_t bpfu_x86_cold(struct x86_jit *j, const struct x86_cold *cold);
void bpfu_x86_flush_cold(struct x86_jit *j);

/* Constants kept in registers; see pins.c. plan after the registers have been assigned. */
void bpfu_x86_plan_pins(struct x86_jit *j);
void bpfu_x86_load_pins(struct x86_jit *j);
bool bpfu_x86_pinned(const struct x86_jit *j, uint64_t imm, struct x86_val *v);

/* What is attached to function @f, in front of its own code (patch.c). */
void bpfu_x86_patch(struct x86_jit *j, uint32_t f);

void bpfu_x86_prologue(struct x86_jit *j, uint32_t f);
/* Undo the prologue, and return, or jump to where @target says (X86_NONE: return). */
void bpfu_x86_epilogue(struct x86_jit *j, uint8_t target);

/* ---- comparisons and branches ---- */

/* x86's condition for a BPF comparison; -1 for none. */
int bpfu_x86_cc(unsigned op);

/* Set the flags for the comparison of @insn. Returns the condition under which it branches. */
enum x86_cc bpfu_x86_compare(struct x86_jit *j, const struct bpf_insn *insn);

/* Settle what the targets of the branch at @at expect; then, with the flags set, branch. */
void bpfu_x86_before_branch(struct x86_jit *j, uint32_t at);
void bpfu_x86_branch(struct x86_jit *j, uint32_t at, enum x86_cc cc);

/* ---- groups of instructions: 0 or -EINVAL if the instruction is unknown ---- */

int bpfu_x86_lower_alu(struct x86_jit *j, const struct bpf_insn *insn);
void bpfu_x86_lower_divmod(struct x86_jit *j, const struct bpf_insn *insn);
int bpfu_x86_lower_mem(struct x86_jit *j, const struct bpf_insn *insn);
int bpfu_x86_lower_atomic(struct x86_jit *j, const struct bpf_insn *insn);
int bpfu_x86_lower_jmp(struct x86_jit *j, const struct bpf_insn *insn);

/* A wide loop in front of the one at @head, if that is of a kind that has one; see wide.c. */
bool bpfu_x86_wide_loop(struct x86_jit *j, uint32_t head);

/* Several instructions as one, if there is a better way for what begins here; see fuse.c. */
bool bpfu_x86_fuse(struct x86_jit *j, const struct bpf_insn *insn);
bool bpfu_x86_fuse_load(struct x86_jit *j, const struct bpf_insn *insn);
bool bpfu_x86_fuse_swap_store(struct x86_jit *j, const struct bpf_insn *insn);

/* Of fuse.c: the @n instructions after this one are reached from this one only. */
bool bpfu_x86_straight(const struct x86_jit *j, uint32_t n);

/* r is not read after the @n-th instruction from here. */
bool bpfu_x86_dead_after(const struct x86_jit *j, unsigned r, uint32_t n);

/* Lower this instruction and the next @n as one. */
void bpfu_x86_group(struct x86_jit *j, uint32_t n);

#endif
