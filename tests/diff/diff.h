/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The differential tester's cases: what the generator makes, the sides run, and the minimiser
 * shrinks. A case is one program, or several of one type that tail-call each other, with the maps
 * of its shape and an input. Everything in it follows from the seed.
 *
 *   gen*.c       seed -> case                      (knows nothing of sides)
 *   maps.c       shape -> map definitions, their reset and their dump on a side
 *   side.c       case -> result, on the kernel, the JIT, the interpreter
 *   parcel.c     case, loaded -> what another machine needs to compile and run it
 *   remote.c     case or parcel -> result, on the JIT of another machine in an emulator
 *   compare.c    results -> verdict
 *   minimise.c   failing case -> smaller failing case
 *   main.c       worker processes, reports
 *   summary.c    what they have done
 */
#ifndef BPFU_TESTS_DIFF_DIFF_H
#define BPFU_TESTS_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "insn/insn.h"
#include "rng.h"
#include "util/bits.h"

#define CASE_INSNS    2048 /* of one program */
#define CASE_SUBPROGS 12
#define CASE_PROGS    3
#define CASE_INPUT    256 /* bytes of packet or context */
#define SHAPES	      16  /* sets of maps, built once per side */

/* The maps of a set: a case refers to a map by this index (imm of BPF_PSEUDO_MAP_FD/VALUE). */
enum map_slot {
	SLOT_OUT, /* array, one value: registers at exit */
	SLOT_ARRAY,
	SLOT_HASH,
	SLOT_PERCPU_ARRAY,
	SLOT_PERCPU_HASH,
	SLOT_LRU_HASH,
	SLOT_LPM,
	SLOT_QUEUE,
	SLOT_STACK,
	SLOT_OF_MAPS,
	SLOT_PROGS,
	SLOT_KPTR, /* array of objects' owners (gen_kptr.c) */
	SLOTS,
	SLOT_INNER = SLOTS, /* what SLOT_OF_MAPS holds; no program refers to it */
	SLOT_ALL,
};

#define OUT_VALUE_SIZE 384

/* What stands for the kernel functions in the imm of a call of one; each side fills in its own ids. */
enum case_kfunc { KFUNC_OBJ_NEW = 1, KFUNC_OBJ_DROP };

/* Types of the BTF that programs and maps have on each side (side.c): of objects, and of their owners. */
enum case_type {
	TYPE_FUNCS = 3,
	TYPE_OBJECT = TYPE_FUNCS + CASE_SUBPROGS,
	TYPE_TAG,
	TYPE_KPTR,
	TYPE_OWNER,
	TYPE_INT,
	TYPE_KEY,
};

struct case_object {
	int64_t a;
	int32_t b, c;
};

struct case_owner {
	int64_t n;
	uint64_t object; /* a kptr */
};

struct map_spec {
	uint32_t type; /* enum bpf_map_type, 0: the shape has no such map */
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags;
};

struct case_prog {
	struct bpf_insn insns[CASE_INSNS];
	uint32_t cnt;
	uint32_t subprog_start[CASE_SUBPROGS]; /* [0] is 0 */
	uint32_t subprog_cnt;
	bool needs_btf; /* has callbacks, or makes objects: func_info wanted */
};

struct diff_case {
	uint64_t seed;
	uint32_t shape;
	enum bpf_prog_type type;
	struct case_prog progs[CASE_PROGS];
	uint32_t prog_cnt;
	uint32_t maps_used; /* 1 << enum map_slot */
	bool deep_stacks;   /* each function has frames that only private stacks have room for */
	uint8_t input[CASE_INPUT];
	uint32_t input_size;
};

/* ---- gen.c ---- */
void case_generate(struct diff_case *c, uint64_t seed);

/* Change one random field of one instruction: most results are to be refused. */
void case_mutate(struct diff_case *c, struct rng *rng);

/* ---- maps.c: what is the same on every side ---- */
void shape_maps(uint32_t shape, struct map_spec specs[SLOT_ALL]);

/* Leave SLOT_KPTR out of all shapes: a side has no such objects. */
void shape_forbid_kptr(void);

/* Leave maps of @type out of all shapes from here on: a side does not have them. */
void shape_forbid(uint32_t type);
enum bpf_prog_type shape_prog_type(uint32_t shape);

/* ---- print.c ---- */
void case_print(FILE *out, const struct diff_case *c);

#endif
