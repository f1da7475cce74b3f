// SPDX-License-Identifier: BSD-2-Clause
/*
 * Helper calls as instructions. What a helper may clobber (r1 … r5) the instructions may clobber
 * too; they leave the helper's result in r0 and all else alone. One row of the table per inlining,
 * with the options that it needs; docs/inlining.md has the same rows for users.
 */
#include "map/map.h"
#include "obj/prog.h"
#include "helper/bodies.h"
#include "helper/helper.h"
#include "percpu/percpu_alloc.h"
#include "rewrite/passes.h"
#include "util/bits.h"
#include "util/log.h"

#include <errno.h>

#define ALU64_K(op, dst, imm) BPFU_INSN(BPF_ALU64 | (op) | BPF_K, dst, 0, 0, imm)
#define ALU64_X(op, dst, src) BPFU_INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define ALU32_K(op, dst, imm) BPFU_INSN(BPF_ALU | (op) | BPF_K, dst, 0, 0, imm)
#define ALU32_X(op, dst, src) BPFU_INSN(BPF_ALU | (op) | BPF_X, dst, src, 0, 0)
#define LOAD(size, dst, src, off) BPFU_INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE(size, dst, src, off) BPFU_INSN(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define JUMP(off) BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define MOV_PERCPU(dst, src) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, BPFU_OFF_PERCPU, 0)

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

static int load_imm64(struct bpf_insn *buf, uint8_t reg, uint64_t value)
{
	buf[0] = BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, 0);
	buf[1] = BPFU_INSN(0, 0, 0, 0, 0);
	bpfu_insn_set_imm64(buf, value);
	return 2;
}

/* ---- bpf_get_smp_processor_id() ---- */

static int inline_processor_id(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	int cnt = load_imm64(buf, R0, bpfu_u64(bpfu_percpu_cpu_number()));

	buf[cnt++] = MOV_PERCPU(R0, R0);
	buf[cnt++] = LOAD(BPF_W, R0, R0, 0);
	return cnt;
}

/* ---- bpf_this_cpu_ptr(), bpf_per_cpu_ptr() ---- */

static int inline_this_cpu_ptr(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	buf[0] = MOV_PERCPU(R0, R1);
	return 1;
}

/* r0 = 0; unless ((u32)r2 >= CPUs) r0 = r1 + (r2 << log2(stride)) */
static int inline_per_cpu_ptr(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	uint64_t stride = bpfu_percpu_stride();
	int cnt = 0;

	if (stride & (stride - 1)) /* it never is, as yet */
		return 0;
	buf[cnt++] = ALU32_X(BPF_MOV, R2, R2);
	buf[cnt++] = ALU64_K(BPF_MOV, R0, 0);
	buf[cnt++] = BPFU_INSN(BPF_JMP32 | BPF_JGE | BPF_K, R2, 0, 3,
			       (int32_t)bpfu_possible_cpus());
	buf[cnt++] = ALU64_K(BPF_LSH, R2, __builtin_ctzll(stride));
	buf[cnt++] = ALU64_X(BPF_MOV, R0, R1);
	buf[cnt++] = ALU64_X(BPF_ADD, R0, R2);
	return cnt;
}

/* ---- bpf_map_lookup_elem() of arrays ---- */

/*
 * r1 = *(u32 *)r2; r0 = 0; unless (r1 >= max_entries) r0 = base + (r1 & mask) * elem_size and @tail_cnt
 * instructions more. The mask bounds what a mispredicted branch could read. As 0 is there before the
 * branch, nothing has to be jumped over, and a JIT can send the branch where the caller sends 0.
 */
static int array_address(struct bpf_insn *buf, const struct bpfu_map *map, uint32_t index_mask,
			 uint64_t base, uint32_t elem_size, const struct bpf_insn *tail,
			 int tail_cnt)
{
	bool shift = !(elem_size & (elem_size - 1));
	int cnt = 0;

	buf[cnt++] = LOAD(BPF_W, R1, R2, 0);
	buf[cnt++] = ALU64_K(BPF_MOV, R0, 0);
	buf[cnt++] = BPFU_INSN(BPF_JMP32 | BPF_JGE | BPF_K, R1, 0, (int16_t)(5 + tail_cnt),
			       (int32_t)map->max_entries);
	buf[cnt++] = ALU32_K(BPF_AND, R1, (int32_t)index_mask);
	buf[cnt++] = shift ? ALU64_K(BPF_LSH, R1, __builtin_ctz(elem_size)) :
			     ALU64_K(BPF_MUL, R1, (int32_t)elem_size);
	cnt += load_imm64(buf + cnt, R0, base);
	buf[cnt++] = ALU64_X(BPF_ADD, R0, R1);
	for (int i = 0; i < tail_cnt; i++)
		buf[cnt++] = tail[i];
	return cnt;
}

static int inline_array_lookup(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	const struct bpfu_array *array = bpfu_container_of(aux->map, struct bpfu_array, map);

	if (aux->is_const_map_key && aux->const_key < aux->map->max_entries)
		return load_imm64(buf, R0, bpfu_u64(array->values) +
					   (uint64_t)aux->const_key * array->elem_size);
	return array_address(buf, aux->map, array->index_mask, bpfu_u64(array->values),
			     array->elem_size, NULL, 0);
}

static int inline_percpu_array_lookup(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	static const struct bpf_insn tail[] = { LOAD(BPF_DW, R0, R0, 0), MOV_PERCPU(R0, R0) };
	const struct bpfu_percpu_array *array =
		bpfu_container_of(aux->map, struct bpfu_percpu_array, map);
	int cnt;

	if (aux->is_const_map_key && aux->const_key < aux->map->max_entries) {
		cnt = load_imm64(buf, R0, bpfu_u64(array->pptrs[aux->const_key]));
		buf[cnt++] = MOV_PERCPU(R0, R0);
		return cnt;
	}
	return array_address(buf, aux->map, array->index_mask, bpfu_u64(array->pptrs),
			     sizeof(void *), tail, BPFU_ARRAY_SIZE(tail));
}

/* ---- bpf_map_lookup_elem() of hashes ---- */

/* r0 = the search for keys of this size: r1, the map, and r2, the key, stay where they are. */
static int inline_hash_lookup(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	int32_t search = aux->map->key_size == 4 ? BPFU_CALL_HASH_SLOT_4 :
			 aux->map->key_size == 8 ? BPFU_CALL_HASH_SLOT_8 :
						   BPFU_CALL_HASH_SLOT;

	buf[0] = BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, search);
	return 1;
}

/* … and if (r0) r0 = the value of this CPU */
static int inline_percpu_hash_lookup(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	int cnt = inline_hash_lookup(aux, buf);

	buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 2, 0);
	buf[cnt++] = LOAD(BPF_DW, R0, R0, 0);
	buf[cnt++] = MOV_PERCPU(R0, R0);
	return cnt;
}

/* ---- bpf_loop() ---- */

/*
 * A loop of direct calls of the one callback. Its variables live in r6 … r8, which are kept in 24
 * more bytes of the function's frame:
 *
 *         w1 = w1                       nr_loops is 32 bits wide
 *         if r1 > MAX goto too_big
 *         spill r6, r7, r8
 *         r6 = r1; r7 = 0; r8 = r3
 *   next: if r7 >= r6 goto done
 *         r1 = r7; r2 = r8; call callback
 *         r7 += 1
 *         if r0 == 0 goto next
 *   done: r0 = r7
 *         fill r6, r7, r8
 *         goto end
 *   too_big: r0 = -E2BIG
 *   end:
 */
static int inline_loop(struct bpfu_prog *prog, struct bpfu_subprog *subprog,
		       const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	const uint32_t callback = prog->subprogs[aux->callback_subprog].start;
	int16_t r6_off, r7_off, r8_off;
	int cnt = 0;

	if (subprog->stack_depth + 24 > BPFU_STACK_SIZE)
		return 0;
	r6_off = (int16_t)-(int32_t)(subprog->stack_depth + 8);
	r7_off = (int16_t)(r6_off - 8);
	r8_off = (int16_t)(r7_off - 8);

	buf[cnt++] = ALU32_X(BPF_MOV, R1, R1);
	buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JGT | BPF_K, R1, 0, 17, BPFU_MAX_LOOPS);
	buf[cnt++] = STORE(BPF_DW, FP, R6, r6_off);
	buf[cnt++] = STORE(BPF_DW, FP, R7, r7_off);
	buf[cnt++] = STORE(BPF_DW, FP, R8, r8_off);
	buf[cnt++] = ALU64_X(BPF_MOV, R6, R1);
	buf[cnt++] = ALU64_K(BPF_MOV, R7, 0);
	buf[cnt++] = ALU64_X(BPF_MOV, R8, R3);
	buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JGE | BPF_X, R7, R6, 5, 0);
	buf[cnt++] = ALU64_X(BPF_MOV, R1, R7);
	buf[cnt++] = ALU64_X(BPF_MOV, R2, R8);
	buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, (int32_t)callback);
	buf[cnt++] = ALU64_K(BPF_ADD, R7, 1);
	buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, -6, 0);
	buf[cnt++] = ALU64_X(BPF_MOV, R0, R7);
	buf[cnt++] = LOAD(BPF_DW, R6, FP, r6_off);
	buf[cnt++] = LOAD(BPF_DW, R7, FP, r7_off);
	buf[cnt++] = LOAD(BPF_DW, R8, FP, r8_off);
	buf[cnt++] = JUMP(1);
	buf[cnt++] = ALU64_K(BPF_MOV, R0, -E2BIG);
	return cnt;
}

/* ---- bpf_kptr_xchg() ---- */

static int inline_kptr_xchg(const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	buf[0] = ALU64_X(BPF_MOV, R0, R2);
	buf[1] = BPFU_INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R1, R0, 0, BPF_XCHG);
	return 2;
}

/* ---- the table ---- */

#define NO_MAP (-1)

static const struct {
	int32_t helper;
	int32_t map_type; /* of the map argument */
	bool percpu;      /* needs the per-CPU MOV */
	int (*make)(const struct bpfu_insn_aux *aux, struct bpf_insn *buf);
} inlinings[] = {
	{ BPF_FUNC_map_lookup_elem, BPF_MAP_TYPE_ARRAY, false, inline_array_lookup },
	{ BPF_FUNC_map_lookup_elem, BPF_MAP_TYPE_PERCPU_ARRAY, true, inline_percpu_array_lookup },
	{ BPF_FUNC_map_lookup_elem, BPF_MAP_TYPE_HASH, false, inline_hash_lookup },
	{ BPF_FUNC_map_lookup_elem, BPF_MAP_TYPE_PERCPU_HASH, true, inline_percpu_hash_lookup },
	{ BPF_FUNC_get_smp_processor_id, NO_MAP, true, inline_processor_id },
	{ BPF_FUNC_this_cpu_ptr, NO_MAP, true, inline_this_cpu_ptr },
	{ BPF_FUNC_per_cpu_ptr, NO_MAP, false, inline_per_cpu_ptr },
	{ BPF_FUNC_kptr_xchg, NO_MAP, false, inline_kptr_xchg },
};

/* The map itself, not one that stands for the inner maps of another. */
static bool is_known_map(const struct bpfu_prog *prog, const struct bpfu_insn_aux *aux)
{
	if (!aux->map || aux->map_ptr_poison)
		return false;
	for (uint32_t i = 0; i < prog->used_map_cnt; i++)
		if (prog->used_maps[i] == aux->map)
			return true;
	return false;
}

int bpfu_inline_call(struct bpfu_prog *prog, struct bpfu_subprog *subprog,
		     const struct bpf_insn *insn, const struct bpfu_insn_aux *aux,
		     struct bpf_insn *buf)
{
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return 0;
	if (insn->imm == BPF_FUNC_loop && aux->loop_inline && prog->options.inline_loop)
		return inline_loop(prog, subprog, aux, buf);
	if (!prog->options.inline_helpers)
		return 0;
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(inlinings); i++) {
		if (inlinings[i].helper != insn->imm ||
		    (inlinings[i].percpu && !prog->options.inline_percpu))
			continue;
		if (inlinings[i].map_type == NO_MAP ||
		    (is_known_map(prog, aux) &&
		     (int32_t)aux->map->type == inlinings[i].map_type))
			return inlinings[i].make(aux, buf);
	}
	return 0;
}
