// SPDX-License-Identifier: BSD-2-Clause
/*
 * A single program, called by the thunk itself, for arm64: the same as x86_64/single.c, which has the
 * picture. Stores and loads are ordered as in cpu_inline.h: membarrier(2) makes up for what the entry
 * leaves out, and the end of a section is a store-release. What is read from the list depends on the
 * address of the list, which orders it.
 */
#include <stddef.h>

#include "obj/prog.h"
#include "obj/run.h"
#include "probe/arm64/thunk.h"

/* What the code works with: nothing of it lives across a call. */
enum { SELF = 9, LIST = 10, FUNC = 11, ACTIVE = 12, TMP = 13, TMP2 = 14 };

#define LEAVE_OUTERMOST (BPFU_STATE_SEQ - 1)

static void jump(struct bpfu_codebuf *cb, uint32_t insn, struct bpfu_a64_label *to)
{
	if (to->cnt < BPFU_A64_LABEL_JUMPS)
		to->at[to->cnt++] = cb->len;
	else
		cb->err = -E2BIG;
	bpfu_a64_put(cb, insn);
}

/* All of them have their distance in the same 19 bits. */
static void land(struct bpfu_codebuf *cb, struct bpfu_a64_label *label)
{
	for (uint32_t i = 0; i < label->cnt && !cb->err; i++) {
		uint32_t insn, distance = (cb->len - label->at[i]) / 4;

		memcpy(&insn, cb->data + label->at[i], sizeof(insn));
		insn |= distance << 5;
		memcpy(cb->data + label->at[i], &insn, sizeof(insn));
	}
	label->cnt = 0;
}

static int32_t back(const struct bpfu_codebuf *cb, uint32_t to)
{
	return (int32_t)(to - cb->len);
}

static void load(struct bpfu_codebuf *cb, enum a64_size size, uint8_t rt, uint8_t rn, size_t off)
{
	bpfu_a64_put(cb, a64_ls_uimm(A64_LDR, size, rt, rn, (uint32_t)off));
}

static void store(struct bpfu_codebuf *cb, enum a64_size size, uint8_t rt, uint8_t rn, size_t off)
{
	bpfu_a64_put(cb, a64_ls_uimm(A64_STR, size, rt, rn, (uint32_t)off));
}

static void thread_address(struct bpfu_codebuf *cb, uint8_t rd, int64_t tpoff)
{
	bpfu_a64_put(cb, a64_mrs_tpidr_el0(rd));
	bpfu_a64_const(cb, A64_X16, (uint64_t)tpoff);
	bpfu_a64_put(cb, a64_add(true, rd, rd, A64_X16));
}

static void self(struct bpfu_codebuf *cb)
{
	thread_address(cb, SELF, bpfu_cpu_self_tpoff());
}

static void test_attention(struct bpfu_codebuf *cb, struct bpfu_a64_label *wanted)
{
	load(cb, A64_W, TMP, SELF, offsetof(struct bpfu_cpu_self, attention));
	jump(cb, a64_cbnz(false, TMP, 0), wanted);
}

static void add_to_state(struct bpfu_codebuf *cb, uint64_t n, bool release)
{
	const uint32_t at = offsetof(struct bpfu_cpu_self, state);

	load(cb, A64_D, TMP, SELF, at);
	bpfu_a64_const(cb, A64_X16, n);
	bpfu_a64_put(cb, a64_add(true, TMP, TMP, A64_X16));
	if (!release) {
		store(cb, A64_D, TMP, SELF, at);
		return;
	}
	bpfu_a64_put(cb, a64_add_i(true, TMP2, SELF, at));
	bpfu_a64_put(cb, a64_stlr(A64_D, TMP, TMP2));
}

/* Only if it is not running already, and marked as long as it does. */
static void mark(struct bpfu_codebuf *cb, const struct bpfu_a64_single *s, struct bpfu_a64_label *unusual)
{
	const struct bpfu_thunk_single *single = &s->thunk->single;
	size_t at = single->run[s->is_leave];

	if (s->thunk->has_regs) {
		if (s->is_leave) {
			load(cb, A64_D, TMP, LIST, single->since);
			bpfu_a64_load(cb, TMP2, s->slot);
			bpfu_a64_put(cb, a64_cmp(true, TMP, TMP2));
			jump(cb, a64_b_cond(A64_HI, 0), unusual);
		}
		thread_address(cb, ACTIVE, single->running_tpoff);
		load(cb, A64_B, TMP, ACTIVE, 0);
		jump(cb, a64_cbnz(false, TMP, 0), unusual);
		bpfu_a64_put(cb, a64_movz(false, TMP, 1, 0));
		store(cb, A64_B, TMP, ACTIVE, 0);
		return;
	}
	load(cb, A64_D, ACTIVE, LIST, at + offsetof(struct bpfu_run, active));
	load(cb, A64_D, TMP, SELF, offsetof(struct bpfu_cpu_self, percpu_off));
	bpfu_a64_put(cb, a64_add(true, ACTIVE, ACTIVE, TMP));
	load(cb, A64_W, TMP, ACTIVE, 0);
	jump(cb, a64_cbnz(false, TMP, 0), unusual);
	bpfu_a64_put(cb, a64_movz(false, TMP, 1, 0));
	store(cb, A64_W, TMP, ACTIVE, 0);
	bpfu_a64_store(cb, ACTIVE, s->slot);
}

static void unmark(struct bpfu_codebuf *cb, const struct bpfu_a64_single *s)
{
	if (s->thunk->has_regs) {
		thread_address(cb, ACTIVE, s->thunk->single.running_tpoff);
		store(cb, A64_B, A64_ZR, ACTIVE, 0);
	} else {
		bpfu_a64_load(cb, ACTIVE, s->slot);
		store(cb, A64_W, A64_ZR, ACTIVE, 0);
	}
}

static void run(struct bpfu_codebuf *cb, const struct bpfu_a64_single *s, struct bpfu_a64_label *unusual)
{
	const struct bpfu_thunk_single *single = &s->thunk->single;
	size_t at = single->run[s->is_leave];

	bpfu_a64_const(cb, LIST, bpfu_u64(single->list));
	load(cb, A64_D, LIST, LIST, 0);
	bpfu_a64_const(cb, TMP, bpfu_u64(&bpfu_stats_users));
	load(cb, A64_W, TMP, TMP, 0);
	jump(cb, a64_cbnz(false, TMP, 0), unusual);
	load(cb, A64_D, FUNC, LIST, at + offsetof(struct bpfu_run, func));
	jump(cb, a64_cbz(true, FUNC, 0), unusual);
	mark(cb, s, unusual);
	load(cb, A64_D, 1, LIST, at + offsetof(struct bpfu_run, prog));
	bpfu_a64_put(cb, a64_add_i(true, 0, A64_FP, s->ctx));
	bpfu_a64_put(cb, a64_blr(FUNC));
	unmark(cb, s);
}

static void call_handler(struct bpfu_codebuf *cb, const struct bpfu_a64_single *s)
{
	const struct bpfu_thunk *t = s->thunk;

	bpfu_a64_const(cb, 0, bpfu_u64(t->arg));
	bpfu_a64_put(cb, a64_add_i(true, 1, A64_FP, s->ctx));
	bpfu_a64_const(cb, A64_X16, bpfu_u64(s->is_leave ? t->leave : t->enter));
	bpfu_a64_put(cb, a64_blr(A64_X16));
}

void bpfu_a64_single(struct bpfu_codebuf *cb, struct bpfu_a64_single *s)
{
	if (!s->thunk->single.list) {
		call_handler(cb, s);
		return;
	}
	self(cb);
	load(cb, A64_H, TMP, SELF, offsetof(struct bpfu_cpu_self, state)); /* BPFU_STATE_NEST */
	jump(cb, a64_cbz(false, TMP, 0), &s->outer);
	test_attention(cb, &s->slow);
	run(cb, s, &s->slow);
	s->done = cb->len;
}

void bpfu_a64_single_rest(struct bpfu_codebuf *cb, struct bpfu_a64_single *s)
{
	struct bpfu_a64_label undo = { .cnt = 0 }, exit_slow = { .cnt = 0 };

	if (!s->thunk->single.list)
		return;
	land(cb, &s->outer);
	add_to_state(cb, 1, false);
	test_attention(cb, &undo);
	run(cb, s, &undo);
	self(cb);
	add_to_state(cb, LEAVE_OUTERMOST, true);
	test_attention(cb, &exit_slow);
	bpfu_a64_put(cb, a64_b(back(cb, s->done)));

	land(cb, &exit_slow);
	bpfu_a64_const(cb, A64_X16, bpfu_u64(bpfu_cpu_exit_slow));
	bpfu_a64_put(cb, a64_blr(A64_X16));
	bpfu_a64_put(cb, a64_b(back(cb, s->done)));

	land(cb, &undo);
	add_to_state(cb, LEAVE_OUTERMOST, true);
	land(cb, &s->slow);
	call_handler(cb, s);
	if (s->skip)
		bpfu_a64_put(cb, a64_cbnz(true, 0, back(cb, s->skip)));
	bpfu_a64_put(cb, a64_b(back(cb, s->done)));
}
