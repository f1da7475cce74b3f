// SPDX-License-Identifier: BSD-2-Clause
/* kptr-xchg: an object of the program's own making goes out of a map and back into it. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "bench.h"
#include "driver.h"
#include "kptr_xchg.skel.h"
#include "target.h"

/* Member "object" of "struct slot", NULL if there is none. */
static struct btf_member *find_field(const struct btf *btf)
{
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)btf__find_by_name_kind(btf, "slot",
											 BTF_KIND_STRUCT));
	struct btf_member *m = t ? btf_members(t) : NULL;

	for (uint16_t i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), "object"))
			return &m[i];
	return NULL;
}

/* The tag of the pointer: clang before 15 reads it in the source, but does not write it. */
static int write_tag(struct btf *btf)
{
	struct btf_member *m = find_field(btf);
	const struct btf_type *t = m ? btf__type_by_id(btf, m->type) : NULL;
	int id;

	if (!t || !btf_is_ptr(t))
		return -EINVAL;
	if (btf_is_type_tag(btf__type_by_id(btf, t->type)))
		return 0;
	id = btf__add_type_tag(btf, "kptr", (int)t->type);
	if (id > 0)
		id = btf__add_ptr(btf, id);
	if (id < 0)
		return id;
	find_field(btf)->type = (uint32_t)id; /* it may have moved */
	return 0;
}

static int kptr_xchg_open(struct bench_inst *inst, struct errline *e)
{
	struct kptr_xchg *skel = kptr_xchg__open();
	int err = skel ? write_tag(bpf_object__btf(skel->obj)) : -errno;

	if (!err)
		err = kptr_xchg__load(skel);
	if (err) {
		kptr_xchg__destroy(skel);
		return driver_load_error(e, err, inst->bench->name, inst->target->spec);
	}
	inst->priv = skel;
	return 0;
}

static void kptr_xchg_close(struct bench_inst *inst)
{
	kptr_xchg__destroy(inst->priv);
	inst->priv = NULL;
}

static int kptr_xchg_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			     uint64_t ops, uint64_t *events)
{
	struct kptr_xchg *skel = inst->priv;
	const struct bpf_program *prog = arm == ARM_NULL || arm == ARM_TRIGGER ?
						 skel->progs.kptr_xchg_null :
						 skel->progs.kptr_xchg_driver;

	return driver_run(bpf_program__fd(prog), ops, 0, events);
}

static int kptr_xchg_fd(const struct bench_inst *inst)
{
	struct kptr_xchg *skel = inst->priv;

	return bpf_program__fd(skel->progs.kptr_xchg_driver);
}

static int kptr_xchg_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct kptr_xchg *skel = inst->priv;

	return driver_percpu_sum_first(bpf_map__fd(skel->maps.slots),
				       bpf_map__value_size(skel->maps.slots), counted);
}

const struct bench bench_kptr_xchg = {
	.name = "kptr-xchg",
	.event = "an object taken out of a map's value and put back, both with bpf_kptr_xchg()",
	.null_is = "the same loop with the lookup alone",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS,
	.classic_ops = 100,
	.open = kptr_xchg_open,
	.close = kptr_xchg_close,
	.trigger = kptr_xchg_trigger,
	.prog_fd = kptr_xchg_fd,
	.left_behind = kptr_xchg_left_behind,
};
