// SPDX-License-Identifier: BSD-2-Clause
/*
 * A single program, called by the thunk itself (thunk.h, struct bpfu_thunk_single). What the
 * handlers would do in some sixty instructions is done here in about fifteen: own a slot, see that
 * nothing unusual is going on, mark the program as running, call it.
 *
 *      in the way of the thunk                 behind its end
 *      if (self.state & NEST == 0) ---------->  outer: self.state += 1
 *      if (self.attention) goto slow                   if (self.attention) goto undo
 *      run the program, or goto slow                   run the program, or goto undo
 *      done: <--------------------------------         self.state += SEQ - 1
 *                                  |                   if (self.attention) bpfu_cpu_exit_slow()
 *                                  |            undo:  self.state += SEQ - 1
 *                                  +----------  slow:  handler(arg, ctx)
 *
 * That is bpfu_run_enter() … bpfu_run_leave() of run.h, whose order of stores and loads it keeps.
 * The code is the same for all programs; which one runs is read from the list of the attachments
 * inside of the section. Undoing an entry ends the section without looking whether somebody waits
 * for that: the handler begins another one at once, and looks.
 */
#include <stddef.h>

#include "jit/x86_64/encode.h"
#include "obj/prog.h"
#include "obj/run.h"
#include "probe/x86_64/thunk.h"

#define LEAVE_OUTERMOST ((int32_t)(BPFU_STATE_SEQ - 1))

static struct x86_mem self(size_t offset)
{
	return x86_mem_fs((int32_t)(bpfu_cpu_self_tpoff() + (int64_t)offset));
}

static struct x86_mem self_state(void)
{
	return self(offsetof(struct bpfu_cpu_self, state));
}

static void test_attention(struct bpfu_codebuf *cb)
{
	x86_alu_mi(cb, X86_CMP, 4, self(offsetof(struct bpfu_cpu_self, attention)), 0);
}

void bpfu_x86_jump(struct bpfu_codebuf *cb, unsigned cc, struct bpfu_x86_label *to)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	bpfu_codebuf_commit(cb, p + x86_put_branch(p, cc, true, 0));
	if (to->cnt < BPFU_X86_LABEL_JUMPS)
		to->at[to->cnt++] = (struct bpfu_x86_branch){ cb->len, (uint8_t)cc };
	else
		cb->err = -E2BIG;
}

void bpfu_x86_land(struct bpfu_codebuf *cb, struct bpfu_x86_label *label)
{
	for (uint32_t i = 0; i < label->cnt && !cb->err; i++) {
		const struct bpfu_x86_branch *b = &label->at[i];

		x86_put_branch(cb->data + b->end - x86_branch_long_len(b->cc), b->cc, true,
			       (int32_t)(cb->len - b->end));
	}
	label->cnt = 0;
}

static void jump_back(struct bpfu_codebuf *cb, unsigned cc, uint32_t to)
{
	uint8_t *p = bpfu_codebuf_room(cb);
	int32_t rel = (int32_t)(to - cb->len - x86_branch_long_len(cc));

	bpfu_codebuf_commit(cb, p + x86_put_branch(p, cc, true, rel));
}

/* Runs are counted and timed: not here. The counter lies in libbpfu, as near as its code. */
static void test_stats(struct bpfu_codebuf *cb, uint64_t base)
{
	struct x86_mem users = { .base = X86_RIP, .index = X86_NONE };
	const unsigned len = 7;

	users.disp = (int32_t)(bpfu_u64(&bpfu_stats_users) - (base + cb->len + len));
	x86_alu_mi(cb, X86_CMP, 4, users, 0);
}

static void run(struct bpfu_codebuf *cb, const struct bpfu_x86_single *s,
		struct bpfu_x86_label *unusual)
{
	const struct bpfu_thunk_single *single = &s->thunk->single;
	int32_t at = (int32_t)single->run[s->is_leave];
	struct x86_mem running = x86_mem_fs((int32_t)single->running_tpoff);

	x86_movabs(cb, X86_RAX, bpfu_u64(single->list));
	x86_load(cb, 8, X86_RAX, x86_mem_bd(X86_RAX, 0));
	test_stats(cb, s->base);
	bpfu_x86_jump(cb, X86_CC_NE, unusual);
	x86_load(cb, 8, X86_RDX, x86_mem_bd(X86_RAX, at + (int32_t)offsetof(struct bpfu_run, func)));
	x86_test_rr(cb, true, X86_RDX, X86_RDX);
	bpfu_x86_jump(cb, X86_CC_E, unusual);
	if (s->thunk->has_regs) {
		if (s->is_leave) {
			x86_load(cb, 8, X86_RCX, x86_mem_bd(X86_RAX, (int32_t)single->since));
			x86_alu_rm(cb, X86_CMP, 8, X86_RCX, s->slot);
			bpfu_x86_jump(cb, X86_CC_A, unusual);
		}
		x86_alu_mi(cb, X86_CMP, 1, running, 0);
		bpfu_x86_jump(cb, X86_CC_NE, unusual);
		x86_store_i(cb, 1, running, 1);
	} else {
		x86_load(cb, 8, X86_RCX,
			 x86_mem_bd(X86_RAX, at + (int32_t)offsetof(struct bpfu_run, active)));
		x86_alu_rm(cb, X86_ADD, 8, X86_RCX,
			   self(offsetof(struct bpfu_cpu_self, percpu_off)));
		x86_alu_mi(cb, X86_CMP, 4, x86_mem_bd(X86_RCX, 0), 0);
		bpfu_x86_jump(cb, X86_CC_NE, unusual);
		x86_store_i(cb, 4, x86_mem_bd(X86_RCX, 0), 1);
		x86_store(cb, 8, s->slot, X86_RCX);
	}
	x86_load(cb, 8, X86_RSI, x86_mem_bd(X86_RAX, at + (int32_t)offsetof(struct bpfu_run, prog)));
	x86_lea(cb, true, X86_RDI, s->ctx);
	x86_call_r(cb, X86_RDX);
	if (s->thunk->has_regs) {
		x86_store_i(cb, 1, running, 0);
	} else {
		x86_load(cb, 8, X86_RCX, s->slot);
		x86_store_i(cb, 4, x86_mem_bd(X86_RCX, 0), 0);
	}
}

static void call_handler(struct bpfu_codebuf *cb, const struct bpfu_x86_single *s)
{
	const struct bpfu_thunk *t = s->thunk;

	x86_movabs(cb, X86_RDI, bpfu_u64(t->arg));
	x86_lea(cb, true, X86_RSI, s->ctx);
	/* Through rax: the length must not depend on the distance. */
	x86_movabs(cb, X86_RAX, bpfu_u64(s->is_leave ? t->leave : t->enter));
	x86_call_r(cb, X86_RAX);
}

void bpfu_x86_single(struct bpfu_codebuf *cb, struct bpfu_x86_single *s)
{
	if (!s->thunk->single.list) {
		call_handler(cb, s);
		return;
	}
	x86_load(cb, 2, X86_RAX, self_state()); /* BPFU_STATE_NEST */
	x86_test_rr(cb, false, X86_RAX, X86_RAX);
	bpfu_x86_jump(cb, X86_CC_E, &s->outer);
	test_attention(cb);
	bpfu_x86_jump(cb, X86_CC_NE, &s->slow);
	run(cb, s, &s->slow);
	s->done = cb->len;
}

void bpfu_x86_single_rest(struct bpfu_codebuf *cb, struct bpfu_x86_single *s)
{
	struct bpfu_x86_label undo = { .cnt = 0 }, exit_slow = { .cnt = 0 };

	if (!s->thunk->single.list)
		return;
	bpfu_x86_land(cb, &s->outer);
	x86_alu_mi(cb, X86_ADD, 8, self_state(), 1);
	test_attention(cb);
	bpfu_x86_jump(cb, X86_CC_NE, &undo);
	run(cb, s, &undo);
	x86_alu_mi(cb, X86_ADD, 8, self_state(), LEAVE_OUTERMOST);
	test_attention(cb);
	bpfu_x86_jump(cb, X86_CC_NE, &exit_slow);
	jump_back(cb, X86_JMP, s->done);

	bpfu_x86_land(cb, &exit_slow);
	x86_movabs(cb, X86_RAX, bpfu_u64(bpfu_cpu_exit_slow));
	x86_call_r(cb, X86_RAX);
	jump_back(cb, X86_JMP, s->done);

	bpfu_x86_land(cb, &undo);
	x86_alu_mi(cb, X86_ADD, 8, self_state(), LEAVE_OUTERMOST);
	bpfu_x86_land(cb, &s->slow);
	call_handler(cb, s);
	if (s->skip) {
		x86_test_rr(cb, true, X86_RAX, X86_RAX);
		jump_back(cb, X86_CC_NE, s->skip);
	}
	jump_back(cb, X86_JMP, s->done);
}
