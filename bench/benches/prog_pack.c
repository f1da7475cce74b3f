// SPDX-License-Identifier: BSD-2-Clause
/*
 * prog-pack: what it costs that programs lie far apart. --programs N programs run in random order, one
 * after the other; with prog_pack=on their code shares pages (a huge page, if the system gives one),
 * with off each has a page of its own.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "benches/prog_pack.h"
#include "driver.h"
#include "machine/code_memory.h"
#include "progs/prog_pack.h"
#include "prog_pack.skel.h"
#include "stats/rng.h"
#include "target.h"

struct pack {
	struct prog_pack *skel;
	bool user, packed;
	uint64_t code_len;           /* of all programs, as bpf(2) tells */
	struct code_memory before, after;
};

/* The immediate that holds the program's number; NULL if the compiler made something else of it. */
static struct bpf_insn *find_number(struct bpf_insn *insns, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (insns[i].imm == PACK_NUMBER)
			return &insns[i];
	return NULL;
}

static void add_code_len(struct pack *p, int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		p->code_len += info.jited_prog_len;
}

/* The map keeps the program; its descriptor is not needed any more. */
static int load_member(struct pack *p, const struct bpf_insn *insns, size_t cnt, uint32_t number)
{
	int members = bpf_map__fd(p->skel->maps.members);
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "pack_member", "GPL", insns, cnt, NULL);
	int err;

	if (fd < 0)
		return fd;
	add_code_len(p, fd);
	err = bpf_map_update_elem(members, &number, &fd, BPF_ANY);
	close(fd);
	return err;
}

static int load_members(struct pack *p, uint32_t nr)
{
	const struct bpf_program *prog = p->skel->progs.pack_member;
	size_t cnt = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns)), *number;
	int err = -ENOMEM;

	if (!insns)
		return err;
	memcpy(insns, bpf_program__insns(prog), cnt * sizeof(*insns));
	number = find_number(insns, cnt);
	err = number ? 0 : -ENOTSUP;
	for (uint32_t i = 0; i < nr && !err; i++) {
		number->imm = (int32_t)i;
		err = load_member(p, insns, cnt, i);
	}
	free(insns);
	return err;
}

/* Random orders of all programs, one behind the other. */
static void shuffle_order(struct prog_pack *skel, uint32_t nr)
{
	struct rng rng = { .state = nr };

	for (uint32_t start = 0; start < PACK_ORDER_LEN; start += nr) {
		uint16_t *part = &skel->bss->order[start];
		uint32_t len = PACK_ORDER_LEN - start < nr ? PACK_ORDER_LEN - start : nr;
		uint16_t all[PACK_MAX_PROGRAMS];

		for (uint32_t i = 0; i < nr; i++)
			all[i] = (uint16_t)i;
		for (uint32_t i = nr - 1; i > 0; i--) {
			uint32_t j = (uint32_t)rng_below(&rng, i + 1);
			uint16_t swap = all[i];

			all[i] = all[j];
			all[j] = swap;
		}
		memcpy(part, all, len * sizeof(*part));
	}
}

void prog_pack_only(struct bench_inst *inst, uint32_t nr)
{
	shuffle_order(((struct pack *)inst->priv)->skel, nr);
}

static bool is_packed(const struct target *t)
{
	for (size_t i = 0; i < t->nr_variants; i++)
		if (!strcmp(t->variants[i].name, "prog_pack"))
			return !strcmp(t->variants[i].value, "on");
	return true;
}

static void pack_close(struct bench_inst *inst)
{
	struct pack *p = inst->priv;

	if (p)
		prog_pack__destroy(p->skel);
	free(p);
	inst->priv = NULL;
}

static int pack_open(struct bench_inst *inst, struct errline *e)
{
	struct pack *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return errline_set(e, err, "out of memory");
	inst->priv = p;
	p->user = !strcmp(inst->target->kind->name, "user");
	p->packed = is_packed(inst->target);
	code_memory_read(p->user, p->packed, &p->before);
	p->skel = prog_pack__open_and_load();
	err = p->skel ? load_members(p, inst->params.programs) : -errno;
	if (err) {
		driver_load_error(e, err, inst->bench->name, inst->target->spec);
		pack_close(inst);
		return err;
	}
	shuffle_order(p->skel, inst->params.programs);
	code_memory_read(p->user, p->packed, &p->after);
	return 0;
}

static int pack_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	const struct pack *p = inst->priv;
	bool full = arm_is_measured(arm);
	int fd = bpf_program__fd(full ? p->skel->progs.pack_driver : p->skel->progs.pack_null);
	int err = 0;

	*events = 0;
	do {
		uint64_t chain = ops < PACK_CHAIN ? ops : PACK_CHAIN, ran;

		err = driver_run(fd, chain, 0, &ran);
		*events += ran;
		ops -= chain;
	} while (ops && !err);
	return err;
}

/* hash -> hash * factor + number, for one program or for several after each other. */
struct step {
	uint64_t factor, number;
};

static struct step step_after(struct step first, struct step next)
{
	return (struct step){ first.factor * next.factor, first.number * next.factor + next.number };
}

/* What the programs must have noted after @runs of them. */
static uint64_t expected_hash(const struct prog_pack *skel, uint64_t runs)
{
	struct step all = { 1, 0 }, rest = { 1, 0 }, cycle = { 1, 0 };

	for (uint32_t i = 0; i < PACK_ORDER_LEN; i++) {
		if (i == runs % PACK_ORDER_LEN)
			rest = cycle;
		cycle = step_after(cycle, (struct step){ PACK_FACTOR, skel->bss->order[i] });
	}
	for (uint64_t n = runs / PACK_ORDER_LEN; n; n >>= 1) {
		if (n & 1)
			all = step_after(all, cycle);
		cycle = step_after(cycle, cycle);
	}
	return step_after(all, rest).number;
}

/* The runs that the programs counted, if they were those and in that order; else none. */
static int pack_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	const struct prog_pack *skel = ((struct pack *)inst->priv)->skel;

	*counted = skel->bss->state.pos;
	if (skel->bss->state.hash != expected_hash(skel, *counted))
		*counted = 0;
	return 0;
}

static int pack_fd(const struct bench_inst *inst)
{
	return bpf_program__fd(((struct pack *)inst->priv)->skel->progs.pack_member);
}

static void pack_note(const struct bench_inst *inst, char *buf, size_t size)
{
	const struct pack *p = inst->priv;
	const uint32_t nr = inst->params.programs;
	int len;

	if (!p->code_len) {
		snprintf(buf, size, "%u programs, interpreted", nr);
		return;
	}
	len = snprintf(buf, size, "%u programs of %llu bytes; ", nr,
		       (unsigned long long)(p->code_len / nr));
	buf += len;
	size -= (size_t)len;
	if (!p->after.known)
		snprintf(buf, size, "memory not visible (root only)");
	else
		len = snprintf(buf, size, "code memory %llu KiB (+%llu)",
			       (unsigned long long)p->after.bytes >> 10,
			       (unsigned long long)(p->after.bytes - p->before.bytes) >> 10);
	if (p->after.known && p->user)
		snprintf(buf + len, size - (size_t)len, ", %llu KiB of it in huge pages",
			 (unsigned long long)p->after.huge >> 10);
}

const struct bench bench_prog_pack = {
	.name = "prog-pack",
	.event = "a run of one of --programs programs, in random order",
	.null_is = "the trigger, without programs",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_PROGRAMS,
	.classic_ops = PACK_CHAIN,
	.open = pack_open,
	.close = pack_close,
	.trigger = pack_trigger,
	.prog_fd = pack_fd,
	.left_behind = pack_left_behind,
	.note = pack_note,
};
