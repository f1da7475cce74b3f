/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a stream of instructions with labels to placed code.
 *
 * A backend lowers a program once, front to back, into the raw stream. A branch takes its short
 * form's bytes there, left blank; other fields that depend on addresses are relocations. Then
 * bpfu_layout_run() decides which branches need the long form and where everything lies, and
 * bpfu_layout_write() produces the bytes for a given base address:
 *
 *    raw      | mov | jcc..| add | jmp..| ret |     labels and branches in raw offsets
 *    final    | mov | jcc..... | add | jmp..| ret | grow[n] bytes inserted before branch n+1
 *
 * All branches start short and only ever grow, so the iteration ends, and with the smallest code.
 * Branches stay within a function; functions start at multiples of 16. Padding in front of a loop is a
 * row like a branch: the longest it can be until the branches have settled, then what it takes.
 */
#ifndef BPFU_JIT_LAYOUT_H
#define BPFU_JIT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/cfi.h"
#include "jit/codebuf.h"

#define BPFU_FUNC_ALIGN 16
#define BPFU_LOOP_ALIGN 16
#define BPFU_LOOP_LINE 64
#define BPFU_LOOP_PAD 31 /* at most */

/* A place in the raw stream: offset, and number of branches before it. */
struct bpfu_pos {
	uint32_t raw;
	uint32_t br;
};

struct bpfu_branch {
	uint32_t raw;        /* where the short form lies */
	uint32_t label;      /* where it goes */
	uint8_t kind;        /* the backend's: condition … */
	uint8_t short_len;
	uint8_t long_len;
	uint8_t reach;       /* short form: displacement fits in so many bits, sign included */
	bool is_long;
	bool pads;           /* not a branch, but no-ops in front of a loop that ends at label */
};

enum bpfu_reloc_to { BPFU_RELOC_LABEL, BPFU_RELOC_ADDRESS };

struct bpfu_reloc {
	struct bpfu_pos pos; /* of the field, or the instruction word */
	uint8_t kind;        /* the backend's */
	uint8_t to;
	uint64_t target;     /* label or absolute address */
};

struct bpfu_layout_ext {     /* an access that may fault, and where to go on then */
	struct bpfu_pos pos;
	uint32_t fixup;      /* label */
};

/* Where a caller's registers are, from @pos on; row.off follows from it. */
struct bpfu_layout_cfi {
	struct bpfu_pos pos;
	struct bpfu_cfi row;
};

struct bpfu_layout_func {
	struct bpfu_pos start;
	uint32_t off;        /* final */
	uint32_t len;
};

struct bpfu_layout {
	struct bpfu_codebuf code;
	/* The first insn_cnt + 1 are the BPF instructions', then two per function. */
	struct bpfu_pos *labels;
	uint32_t label_cnt, label_cap;
	struct bpfu_branch *branches;
	uint32_t branch_cnt, branch_cap;
	struct bpfu_reloc *relocs;
	uint32_t reloc_cnt, reloc_cap;
	struct bpfu_layout_ext *exts;
	uint32_t ext_cnt, ext_cap;
	struct bpfu_layout_func *funcs;
	uint32_t func_cnt, func_cap;
	bool wants_cfis;         /* else none are kept */
	struct bpfu_layout_cfi *cfis;
	uint32_t cfi_cnt, cfi_cap;
	uint32_t *grow;          /* branch_cnt + 1 rows, after bpfu_layout_run() */
	uint32_t size;           /* of the placed code */
	bool disp_from_end;      /* displacements count from the end of the branch (x86) */
	int err;                 /* sticky, besides code.err */
};

void bpfu_layout_init(struct bpfu_layout *l, uint32_t insn_cnt, uint32_t func_cnt,
		      size_t code_hint, bool disp_from_end);
void bpfu_layout_release(struct bpfu_layout *l);

static inline struct bpfu_pos bpfu_layout_here(const struct bpfu_layout *l)
{
	return (struct bpfu_pos){ .raw = l->code.len, .br = l->branch_cnt };
}

/* Start the next function here. */
void bpfu_layout_func(struct bpfu_layout *l);

uint32_t bpfu_layout_new_label(struct bpfu_layout *l);

static inline void bpfu_layout_set_label(struct bpfu_layout *l, uint32_t label)
{
	l->labels[label] = bpfu_layout_here(l);
}

/* A branch to @label goes here; see struct bpfu_branch. */
void bpfu_layout_branch(struct bpfu_layout *l, uint32_t label, uint8_t kind, uint8_t short_len,
			uint8_t long_len, uint8_t reach);

/*
 * The next instruction starts a loop, and gets a multiple of 16. If the loop ends at label @end, and is no longer
 * than a cache line of 64 bytes, it lies within one where up to 31 bytes of padding achieve that. (Images start
 * at a line.) BPFU_LOOP_ANYWHERE: whether it does makes no difference.
 */
#define BPFU_LOOP_ANYWHERE UINT32_MAX
void bpfu_layout_align_loop(struct bpfu_layout *l, uint32_t end);

/* The @back bytes before here are the start of a field that refers to @target. */
void bpfu_layout_reloc(struct bpfu_layout *l, uint32_t back, uint8_t kind, enum bpfu_reloc_to to,
		       uint64_t target);

/* The instruction at @pos may fault; go on at @fixup. In increasing order of pos. */
void bpfu_layout_ext(struct bpfu_layout *l, struct bpfu_pos pos, uint32_t fixup);

/* What changes here, behind the instruction that did it. */
void bpfu_layout_cfi_add(struct bpfu_layout *l, enum bpfu_cfi_op op, uint8_t reg, int32_t value);

static inline void bpfu_layout_cfi(struct bpfu_layout *l, enum bpfu_cfi_op op, uint8_t reg,
				   int32_t value)
{
	if (bpfu_unlikely(l->wants_cfis))
		bpfu_layout_cfi_add(l, op, reg, value);
}

/* Place everything. 0 or the first error. */
int bpfu_layout_run(struct bpfu_layout *l);

/* After bpfu_layout_run(): offset in the placed code. */
static inline uint32_t bpfu_layout_off(const struct bpfu_layout *l, struct bpfu_pos pos)
{
	return pos.raw + l->grow[pos.br];
}

static inline uint32_t bpfu_layout_label_off(const struct bpfu_layout *l, uint32_t label)
{
	return bpfu_layout_off(l, l->labels[label]);
}

/*
 * Turn the first @cnt labels into offsets in the placed code, in place; returns the array, with room for
 * one more, which is the caller's to free. The layout's last use.
 */
uint32_t *bpfu_layout_take_labels(struct bpfu_layout *l, uint32_t cnt);

struct bpfu_layout_writer {
	/* Write the branch; @disp counts from its start, or its end with disp_from_end. */
	void (*branch)(uint8_t *p, const struct bpfu_branch *branch, int32_t disp);
	/* No-ops that are run, for bpfu_layout_align_loop(); NULL if the backend does not use that. */
	void (*nops)(uint8_t *p, size_t n);
	/* Patch a field at @p, which will run at @pc. False if @target is out of reach. */
	bool (*reloc)(uint8_t *p, uint8_t kind, uint64_t pc, uint64_t target);
	/* Fill the space between functions with instructions that trap. */
	void (*fill)(uint8_t *p, size_t n);
};

/* Write size bytes to @out, to be run at @base. 0 or -ERANGE. */
int bpfu_layout_write(const struct bpfu_layout *l, uint8_t *out, uint64_t base,
		      const struct bpfu_layout_writer *w);

#endif
