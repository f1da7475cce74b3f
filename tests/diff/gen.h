/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generator's inside: it emits instructions while it tracks what each register and stack byte
 * holds, in the manner of a verifier, so that what comes out is accepted (docs/testing.md).
 *
 * Rules that keep results the same on every side:
 *   - pointers never become data: no arithmetic on them but offsets, no stores except spills;
 *   - nothing is read that was not written (stack, uninitialised map memory);
 *   - a pointer into a hash element is forgotten as soon as that map may have changed, as which
 *     memory is reused first is the implementation's business;
 *   - values that differ by nature (time, CPU, random) are masked to zero after the call.
 */
#ifndef BPFU_TESTS_DIFF_GEN_H
#define BPFU_TESTS_DIFF_GEN_H

#include "diff.h"

enum reg_kind {
	K_NONE, /* not readable */
	K_SCALAR,
	K_CTX,	 /* the context, unmodified */
	K_STACK, /* own frame: r10 + off */
	K_MEM,	 /* off bytes into a region of size readable bytes */
	K_MAP,	 /* a map (callback argument) */
};

enum mem_class {
	MEM_ARRAY,  /* value of an array: stays valid */
	MEM_ELEM,   /* value of map @map: valid until that map may change */
	MEM_CALLER, /* the caller's stack, all of it initialised scalars */
	MEM_PACKET,
	MEM_CTX, /* context of a SYSCALL program: plain memory, aligned accesses */
	MEM_KEY, /* read-only (callback's key) */
};

struct reg {
	uint8_t kind;
	uint8_t class;
	uint8_t map;
	int16_t off;
	uint16_t size;
};

struct state {
	struct reg r[10];
	bool init[BPFU_STACK_SIZE];	       /* byte [512 + off] holds a scalar's byte */
	struct reg spill[BPFU_STACK_SIZE / 8]; /* slot holds a pointer: kind != K_NONE */
};

/* A subprogram to generate: its arguments, and what the callee may do. */
struct sub {
	struct reg arg[5];
	uint32_t args;
	uint32_t depth; /* frames above it */
	bool callback;	/* returns 0 or 1 */
	bool done;
};

struct fixup {
	uint32_t insn;
	uint32_t sub;
	bool func; /* LD_IMM64 BPF_PSEUDO_FUNC rather than a call */
};

#define MAX_FIXUPS	64
#define MAX_FRAME_DEPTH 3

struct gen {
	struct rng rng;
	struct diff_case *c;
	struct case_prog *p;
	struct map_spec maps[SLOT_ALL];
	struct state st;
	uint16_t locked; /* registers that must keep their value (loop counters, pointers) */
	uint32_t prog_idx;
	int budget;	/* instructions this function may still take */
	int nesting;	/* blocks */
	int loops;	/* loops around us */
	uint32_t depth; /* frames above us */
	bool callback;
	uint32_t objects; /* made so far; a kernel has a few at hand, and then maybe none */
	uint32_t frame; /* bytes of stack this frame may use; see frame_size() */
	bool overflow;

	struct sub subs[CASE_SUBPROGS];
	struct fixup fixups[MAX_FIXUPS];
	uint32_t fixup_cnt;
};

/*
 * @usual, or what a private stack has room for: the verifier and the kernel's inlining of helpers may
 * add a few words of their own.
 */
static inline uint32_t frame_size(const struct gen *g, uint32_t usual)
{
	return g->c->deep_stacks ? 464 : usual;
}

/* ---- gen.c ---- */
uint32_t emit(struct gen *g, struct bpf_insn insn); /* returns its index */
int32_t rand_imm(struct gen *g);
void jump_here(struct gen *g, uint32_t from); /* forward jump at @from lands here */

int pick_dst(struct gen *g);			  /* a register that may be overwritten */
int scalar_src(struct gen *g);			  /* a scalar to read */
int scalar_dst(struct gen *g);			  /* a scalar to change in place */
int pick_kind(struct gen *g, enum reg_kind kind); /* random register of a kind or -1 */
void set_scalar(struct gen *g, int reg);
void clobber_call(struct gen *g); /* r0 scalar, r1-r5 gone */
void forget(struct gen *g, int map,
	    int class); /* drop pointers: of elements of @map (-1: any), of class */
void merge(struct state *into, const struct state *other);
void gen_block(struct gen *g, int stmts);
void gen_exit(struct gen *g);

/* ---- gen_alu.c ---- */
void gen_alu(struct gen *g);
void gen_imm64(struct gen *g);
void gen_cond(struct gen *g, struct bpf_insn *jump); /* a comparison; off is the caller's */

/* ---- gen_mem.c ---- */
int stack_area(struct gen *g, uint32_t size); /* r10 offset of an aligned area, or 0: none */
void stack_fill(struct gen *g, int off, uint32_t size); /* initialise it */
void stack_mark(struct gen *g, int off, uint32_t size); /* a helper initialised it */
void gen_stack_store(struct gen *g);
void gen_stack_load(struct gen *g);
void gen_spill(struct gen *g);
void gen_fill(struct gen *g);
void gen_mem(struct gen *g);
void gen_mem_var(struct gen *g);
void gen_atomic(struct gen *g);
void gen_ptr_copy(struct gen *g);
void gen_map_value(struct gen *g);

/* ---- gen_wide.c ---- */
void gen_wide(struct gen *g);

/* ---- gen_bytes.c ---- */
void gen_bytes(struct gen *g);

/* ---- gen_call.c ---- */
void load_map(struct gen *g, int reg, enum map_slot slot);
void gen_lookup(struct gen *g);
void gen_map_in_map(struct gen *g);
void gen_update(struct gen *g);
void gen_delete(struct gen *g);
void gen_queue(struct gen *g);
void gen_masked_helper(struct gen *g);
void gen_mem_helper(struct gen *g);

/* ---- gen_kptr.c ---- */
void gen_kptr(struct gen *g);

/* ---- gen_sub.c ---- */
void gen_subprog_call(struct gen *g);
void gen_bpf_loop(struct gen *g);
void gen_for_each(struct gen *g);
void gen_tail_call(struct gen *g);
void gen_subprogs(struct gen *g); /* bodies of all that were called */

/* ---- gen_ctx.c ---- */
void gen_ctx(struct gen *g);
void gen_packet(struct gen *g);
void gen_packet_helper(struct gen *g);
void gen_input(struct gen *g);

#endif
