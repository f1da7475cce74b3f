// SPDX-License-Identifier: BSD-2-Clause
/* Both ends of a parcel. */
#include "parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "helper/helper.h"
#include "jit/jit.h"
#include "map/map.h"
#include "percpu/percpu_alloc.h"
#include "prog_type/prog_type.h"

enum place_kind {
	PLACE_MAP,	  /* the map itself */
	PLACE_VALUES,	  /* byte .off of an array's values */
	PLACE_PPTRS,	  /* the table of per-CPU pointers of a per-CPU array */
	PLACE_PPTR,	  /* its entry .off */
	PLACE_CPU_NUMBER, /* the number of the slot, per CPU */
};

struct address {
	uint32_t insn; /* a LD_IMM64 */
	uint16_t kind, slot;
	uint64_t off;
};

uint64_t parcel_layout(void)
{
	return sizeof(struct bpfu_prog) | sizeof(struct bpfu_subprog) << 16 |
	       offsetof(struct bpfu_prog_array, ptrs) << 32 |
	       (uint64_t)bpfu_possible_cpus() << 48;
}

/* ---- addresses ---- */

static bool is_in_map(struct bpfu_map *map, uint64_t addr, struct address *a)
{
	a->off = 0;
	a->kind = PLACE_MAP;
	if (addr == bpfu_u64(map))
		return true;
	if (map->type == BPF_MAP_TYPE_ARRAY) {
		const struct bpfu_array *array = bpfu_container_of(map, struct bpfu_array, map);

		a->kind = PLACE_VALUES;
		a->off = addr - bpfu_u64(array->values);
		return a->off < (uint64_t)array->elem_size * map->max_entries;
	}
	if (map->type == BPF_MAP_TYPE_PERCPU_ARRAY) {
		const struct bpfu_percpu_array *array =
			bpfu_container_of(map, struct bpfu_percpu_array, map);

		a->kind = PLACE_PPTRS;
		if (addr == bpfu_u64(array->pptrs))
			return true;
		a->kind = PLACE_PPTR;
		while (a->off < map->max_entries && addr != bpfu_u64(array->pptrs[a->off]))
			a->off++;
		return a->off < map->max_entries;
	}
	return false;
}

static bool place_of(struct bpfu_map *const *maps, uint64_t addr, struct address *a)
{
	for (a->slot = 0; a->slot < SLOTS; a->slot++)
		if (maps[a->slot] && is_in_map(maps[a->slot], addr, a))
			return true;
	a->kind = PLACE_CPU_NUMBER;
	return addr == bpfu_u64(bpfu_percpu_cpu_number());
}

static uint64_t address_of(struct bpfu_map *const *maps, const struct address *a)
{
	struct bpfu_map *map = maps[a->slot % SLOTS];

	switch (a->kind) {
	case PLACE_MAP:
		return bpfu_u64(map);
	case PLACE_VALUES:
		return bpfu_u64(bpfu_container_of(map, struct bpfu_array, map)->values) + a->off;
	case PLACE_PPTRS:
		return bpfu_u64(bpfu_container_of(map, struct bpfu_percpu_array, map)->pptrs);
	case PLACE_PPTR:
		return bpfu_u64(bpfu_container_of(map, struct bpfu_percpu_array, map)->pptrs[a->off]);
	default:
		return bpfu_u64(bpfu_percpu_cpu_number());
	}
}

/* ---- packing ---- */

static void *room(struct parcel *p, size_t size)
{
	void *at = p->bytes + p->size;

	if (size > PARCEL_MAX - p->size)
		return NULL;
	p->size += BPFU_ROUND_UP((uint32_t)size, 8);
	return at;
}

static bool pack_prog(struct parcel *p, const struct side *side, const struct diff_case *c, uint32_t n,
		      const struct bpfu_prog *prog)
{
	struct bpf_insn *insns = room(p, prog->insn_cnt * sizeof(*insns));
	struct bpfu_subprog *subs = room(p, prog->subprog_cnt * sizeof(*subs));
	struct address *a;

	if (!insns || !subs)
		return false;
	memcpy(insns, prog->insns, prog->insn_cnt * sizeof(*insns));
	memcpy(subs, prog->subprogs, prog->subprog_cnt * sizeof(*subs));
	memcpy(&p->head.prog[n], prog, sizeof(*prog));
	p->head.addr_cnt[n] = 0;
	for (uint32_t i = 0; i < prog->insn_cnt; i++) {
		/* Kernel functions are numbered by the linker, on each machine its own way. */
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm >= BPFU_CALL_KFUNC)
			return false;
		if (!bpfu_insn_is_ld_imm64(&insns[i]))
			continue;
		if (insns[i].src_reg != BPF_PSEUDO_FUNC) {
			a = room(p, sizeof(*a));
			if (!a)
				return false;
			a->insn = i;
			if (place_of(side->maps[c->shape], bpfu_insn_imm64(&insns[i]), a))
				p->head.addr_cnt[n]++;
			else
				p->size -= sizeof(*a);
		}
		i++;
	}
	return true;
}

bool parcel_pack(struct parcel *p, const struct side *side, const struct diff_case *c, const int *fds)
{
	bool ok = true;

	p->size = sizeof(p->head);
	p->head.shape = c->shape;
	p->head.type = c->type;
	p->head.prog_cnt = c->prog_cnt;
	p->head.maps_used = c->maps_used;
	p->head.input_size = c->input_size;
	memcpy(p->head.input, c->input, sizeof(p->head.input));
	for (uint32_t i = 0; ok && i < c->prog_cnt; i++) {
		struct bpfu_obj *obj;

		if (bpfu_fd_get_kind(fds[i], BPFU_OBJ_PROG, -EINVAL, &obj))
			return false;
		ok = pack_prog(p, side, c, i, bpfu_prog_of(obj));
		bpfu_obj_put(obj);
	}
	return ok;
}

/* ---- unpacking ---- */

static void *take(struct parcel *p, uint32_t *at, size_t size)
{
	void *part = p->bytes + *at;

	if (size > p->size - *at)
		return NULL;
	*at += BPFU_ROUND_UP((uint32_t)size, 8);
	return part;
}

/* A program like the sender's, with pointers of ours. */
static bool unpack_prog(struct parcel *p, uint32_t *at, struct bpfu_map *const *maps, uint32_t n)
{
	struct bpfu_prog *prog = &p->head.prog[n];
	const struct address *a;

	prog->insns = take(p, at, prog->insn_cnt * sizeof(*prog->insns));
	prog->subprogs = take(p, at, prog->subprog_cnt * sizeof(*prog->subprogs));
	a = take(p, at, p->head.addr_cnt[n] * sizeof(*a));
	if (!prog->insns || !prog->subprogs || !a)
		return false;
	for (uint32_t i = 0; i < p->head.addr_cnt[n]; i++)
		bpfu_insn_set_imm64(&prog->insns[a[i].insn], address_of(maps, &a[i]));
	prog->type_ops = bpfu_prog_type_of(prog->type);
	prog->func = NULL;
	prog->tail_entry = NULL;
	prog->jit = NULL;
	prog->callbacks = NULL;
	prog->active = NULL;
	prog->target = NULL;
	prog->used_maps = NULL;
	prog->used_map_cnt = 0;
	return prog->type_ops != NULL;
}

static int run(void *arg, union bpf_attr *attr)
{
	struct bpfu_prog *prog = arg;

	return prog->type_ops->test_run(prog, attr);
}

static void set_tail_calls(struct parcel *p, struct bpfu_map *map, bool set)
{
	struct bpfu_prog_array *array = bpfu_container_of(map, struct bpfu_prog_array, map);

	for (uint32_t i = 0; i < p->head.prog_cnt; i++)
		atomic_store(&array->ptrs[i], set ? &p->head.prog[i] : NULL);
}

bool parcel_run(struct parcel *p, struct side *side, struct result *res)
{
	static struct diff_case c; /* as far as it is looked at */
	struct bpfu_map *progs;
	uint32_t at = sizeof(p->head);
	bool ok;

	if (p->size < at || p->head.shape >= SHAPES || p->head.prog_cnt > CASE_PROGS)
		return false;
	c.shape = p->head.shape;
	c.type = p->head.type;
	c.maps_used = p->head.maps_used;
	c.prog_cnt = p->head.prog_cnt;
	c.input_size = p->head.input_size;
	memcpy(c.input, p->head.input, sizeof(c.input));
	if (!side_maps_build(side, c.shape))
		return false;
	result_init(res);
	for (uint32_t i = 0; i < c.prog_cnt; i++)
		if (!unpack_prog(p, &at, side->maps[c.shape], i))
			return false;
	for (uint32_t i = 0; i < c.prog_cnt && !res->load_err; i++)
		res->load_err = bpfu_jit_compile(&p->head.prog[i]);
	progs = c.prog_cnt > 1 ? side->maps[c.shape][SLOT_PROGS] : NULL;
	if (progs)
		set_tail_calls(p, progs, true);
	ok = res->load_err || side_run_with(side, &c, run, &p->head.prog[0], res);
	if (progs)
		set_tail_calls(p, progs, false);
	for (uint32_t i = 0; i < c.prog_cnt; i++)
		bpfu_jit_release(&p->head.prog[i]);
	return ok;
}
