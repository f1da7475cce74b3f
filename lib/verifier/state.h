/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verifier knows at one point of one path: registers, stack slots, call frames.
 *
 *   struct bpfu_state
 *     frame[0]   main program (or a global function)     r0…r10   slots: fp-8, fp-16, …
 *     frame[1]   function called by frame 0              r0…r10   slots
 *     frame[depth] the running one
 *
 * A stack slot is eight bytes; slot i covers fp-8*(i+1) … fp-8*i-1. Bytes are tracked one by one; a
 * spilled register occupies the low bytes of its slot.
 */
#ifndef BPFU_VERIFIER_STATE_H
#define BPFU_VERIFIER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn/insn.h"
#include "verifier/range.h"

struct bpfu_btf;
struct bpfu_map;

#define BPFU_SLOT_BYTES 8
#define BPFU_MAX_SLOTS (BPFU_STACK_SIZE / BPFU_SLOT_BYTES)

enum bpfu_reg_type {
	BPFU_REG_NOT_INIT,
	BPFU_REG_SCALAR,
	BPFU_REG_CTX,
	BPFU_REG_MAP_PTR,    /* the map itself, as an argument of helpers */
	BPFU_REG_MAP_VALUE,
	BPFU_REG_MAP_KEY,    /* what bpf_for_each_map_elem shows its callback */
	BPFU_REG_STACK,
	BPFU_REG_PACKET,
	BPFU_REG_PACKET_META,
	BPFU_REG_PACKET_END,
	BPFU_REG_MEM,        /* size bytes of some memory */
	BPFU_REG_FUNC,       /* a callback */
	BPFU_REG_PERCPU,     /* a per-CPU variable, of which only helpers give a copy */
	BPFU_REG_BTF,        /* a structure of the program's BTF */
};

enum bpfu_reg_flags {
	BPFU_REG_MAYBE_NULL = 1u << 0,
	BPFU_REG_RINGBUF = 1u << 1,   /* MEM: a reserved record */
	/* SCALAR: differs from the plain ones with its id, by off; 32: of the low half, upper half 0 */
	BPFU_REG_ADD_CONST = 1u << 2,
	BPFU_REG_ADD_CONST32 = 1u << 3,
	BPFU_REG_SINGLE = 1u << 4,    /* SCALAR in a stored state: there are no others */
	BPFU_REG_RDONLY = 1u << 5,    /* MEM */
	/*
	 * BTF: ALLOC an object that bpf_obj_new() made, of its owner unless RCU: of somebody else,
	 * but there while the program runs. UNTRUSTED: it may be gone, and can only be read.
	 */
	BPFU_REG_ALLOC = 1u << 6,
	BPFU_REG_RCU = 1u << 7,
	BPFU_REG_UNTRUSTED = 1u << 1, /* the bit of RINGBUF, which is MEM's */
};

struct bpfu_reg {
	uint8_t type;
	uint8_t flags;
	uint16_t frame;       /* STACK: whose; FUNC: the subprogram; PERCPU: the variable */
	int32_t off;          /* known part of a pointer's offset */
	/*
	 * SCALAR: equal to (or, with ADD_CONST, a constant away from) the others with the same id.
	 * MAYBE_NULL: null together with the others. PACKET: same unknown part of the offset.
	 * 0: none.
	 */
	uint32_t id;
	uint32_t ref_id;      /* must be released (a record, an object), 0: nothing to release */
	union {
		uint32_t size;    /* MEM: bytes; PACKET, PACKET_META: bytes from off 0 that exist */
		uint32_t type_id; /* BTF: the structure in .btf */
	};
	union {
		struct bpfu_map *map;       /* MAP_PTR, MAP_VALUE, MAP_KEY */
		const struct bpfu_btf *btf; /* BTF */
	};
	struct bpfu_range range; /* SCALAR: the value; pointers: unknown part of the offset */
	uint32_t node;        /* SCALAR: where the value comes from (lineage.h) */
};

enum bpfu_byte {
	BPFU_BYTE_INVALID, /* never written */
	BPFU_BYTE_SPILL,   /* part of slot.reg */
	BPFU_BYTE_MISC,    /* something */
	BPFU_BYTE_ZERO,
};

struct bpfu_slot {
	struct bpfu_reg reg;
	uint8_t byte[BPFU_SLOT_BYTES]; /* enum bpfu_byte, by address */
	uint32_t node;                 /* lineage of the contents: marked once they are read */
	uint32_t written;              /* when, as bpfu_env.write_gen */
};

struct bpfu_frame {
	struct bpfu_reg reg[BPFU_MAX_REG];
	struct bpfu_slot *slot;
	uint32_t slot_cnt;
	uint32_t subprog;
	int32_t callsite;     /* instruction of the caller, -1 in frame 0 */
	int32_t callback;     /* entry of the callback table (callback.c) if one, else -1 */
};

struct bpfu_ref {
	uint32_t id;
	uint32_t insn_idx;    /* who acquired it */
};

#define BPFU_MAX_REFS 64

struct bpfu_state {
	struct bpfu_frame *frame[BPFU_MAX_CALL_FRAMES];
	uint32_t depth;
	uint32_t ref_cnt;
	struct bpfu_ref *ref; /* BPFU_MAX_REFS, or NULL while none was acquired */

	/* Exploration (prune.c). */
	struct bpfu_state *parent; /* the checkpoint this path comes from */
	uint32_t branches;         /* paths from here that are not explored to their end */
	uint32_t root;             /* states of different roots are not ancestors of each other */
	uint32_t hits, misses;
	bool speculative;          /* behind a branch that goes the other way (speculate.c) */
	uint32_t spec_len;         /* instructions since then */
	bool unlinked;             /* no longer compared with, waits for branches to become 0 */
	struct bpfu_state *next;   /* others at the same instruction, or others that are unlinked */
	struct bpfu_state *prev;   /* unlinked ones only */
};

static inline struct bpfu_frame *bpfu_state_top(const struct bpfu_state *state)
{
	return state->frame[state->depth];
}

/* All bytes, NULL on -ENOMEM. Copies have no parent, no list and one branch. */
struct bpfu_state *bpfu_state_new(void);
struct bpfu_state *bpfu_state_copy(const struct bpfu_state *state);
void bpfu_state_free(struct bpfu_state *state);
size_t bpfu_state_bytes(const struct bpfu_state *state);

/* Push an empty frame / drop the top one. 0 or -ENOMEM. */
int bpfu_state_push_frame(struct bpfu_state *state, uint32_t subprog, int32_t callsite);
void bpfu_state_pop_frame(struct bpfu_state *state);

/* Make slots exist down to fp - @bytes (new ones INVALID). 0 or -ENOMEM. */
int bpfu_frame_grow(struct bpfu_frame *frame, uint32_t bytes);

/* -ENOSPC, -ENOMEM or 0; 0 or -ENOENT. */
int bpfu_state_acquire(struct bpfu_state *state, uint32_t id, uint32_t insn_idx);
int bpfu_state_release(struct bpfu_state *state, uint32_t id);

/* ---- registers ---- */

static inline bool bpfu_reg_is_scalar(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_SCALAR;
}

/* Forget which other scalars this one is tied to. */
static inline void bpfu_reg_unlink(struct bpfu_reg *reg)
{
	reg->id = 0;
	reg->flags = 0;
	reg->off = 0;
}

static inline bool bpfu_reg_is_pointer(const struct bpfu_reg *reg)
{
	return reg->type > BPFU_REG_SCALAR;
}

static inline bool bpfu_reg_maybe_null(const struct bpfu_reg *reg)
{
	return reg->type > BPFU_REG_SCALAR && reg->flags & BPFU_REG_MAYBE_NULL;
}

static inline bool bpfu_reg_is_const(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_SCALAR && bpfu_range_is_const(&reg->range);
}

static inline bool bpfu_reg_is_null(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_SCALAR && bpfu_range_is_zero(&reg->range);
}

/* A pointer of @type at offset 0, or (NOT_INIT) nothing. */
void bpfu_reg_init(struct bpfu_reg *reg, enum bpfu_reg_type type);

static inline bool bpfu_reg_has_map(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_MAP_PTR || reg->type == BPFU_REG_MAP_VALUE ||
	       reg->type == BPFU_REG_MAP_KEY;
}

/* An object whose fields the program may rely on: nobody else can free it. */
static inline bool bpfu_reg_is_trusted(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_BTF && reg->flags & BPFU_REG_ALLOC &&
	       !(reg->flags & (BPFU_REG_RCU | BPFU_REG_UNTRUSTED));
}

/* The kernel's name of the register's type: "scalar", "map_value_or_null", … */
const char *bpfu_reg_type_name(const struct bpfu_reg *reg);

/* ---- slots ---- */

/* A register was spilled here and its low byte is still there. */
static inline bool bpfu_slot_is_spill(const struct bpfu_slot *slot)
{
	return slot->byte[0] == BPFU_BYTE_SPILL;
}

static inline bool bpfu_slot_is_full_spill(const struct bpfu_slot *slot)
{
	return slot->byte[0] == BPFU_BYTE_SPILL && slot->byte[BPFU_SLOT_BYTES - 1] == BPFU_BYTE_SPILL;
}

/* Bytes of the spilled register, 0 if none. */
unsigned int bpfu_slot_spill_size(const struct bpfu_slot *slot);

/* What is left of a spilled register becomes something. */
void bpfu_slot_scrub(struct bpfu_slot *slot);

/* Call @fn for every register of all frames, spilled ones included. */
void bpfu_state_each_reg(struct bpfu_state *state, void (*fn)(struct bpfu_reg *reg, void *arg),
			 void *arg);

#endif
