// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where functions begin, what calls what, and whether the stack suffices. A function starts at
 * instruction 0, at the target of a BPF_PSEUDO_CALL and at the target of a BPF_PSEUDO_FUNC (callback).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/helper.h"
#include "verifier/env.h"

#define FRAME_ALIGN 16           /* what a frame is rounded up to when depths are added */
#define PRIVATE_STACK_MIN 64     /* smaller frames get no private stack, unless it is asked for */
#define TAIL_CALL_STACK 256      /* bytes that may lie below a function that makes tail calls */

int bpfu_vrf_subprog_at(const struct bpfu_env *env, int64_t insn_idx)
{
	uint32_t lo = 0, hi = env->prog->subprog_cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2, start = env->prog->subprogs[mid].start;

		if (start == insn_idx)
			return (int)mid;
		if (start < insn_idx)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Target of the function reference at @i (call or callback), or -1 if it is none. */
static int64_t reference_target(const struct bpf_insn *insn, uint32_t i)
{
	if (bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn))
		return (int64_t)i + insn->imm + 1;
	return -1;
}

static bool is_reference(const struct bpf_insn *insn)
{
	return bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn);
}

static int add_start(struct bpfu_env *env, uint32_t *starts, uint32_t *cnt, int64_t target)
{
	if (target < 0 || target >= env->insn_cnt) {
		bpfu_vrf_log(env, "call to invalid destination\n");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < *cnt; i++)
		if (starts[i] == target)
			return 0;
	if (*cnt == BPFU_MAX_SUBPROGS) {
		bpfu_vrf_log(env, "too many subprograms\n");
		return -E2BIG;
	}
	starts[(*cnt)++] = (uint32_t)target;
	return 0;
}

static int collect_starts(struct bpfu_env *env, uint32_t *starts, uint32_t *cnt)
{
	starts[0] = 0;
	*cnt = 1;
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		const struct bpf_insn *insn = &env->insns[i];
		int err = bpfu_vrf_kfunc_known(env, i);

		if (err)
			return err;
		if (!is_reference(insn))
			continue;
		err = add_start(env, starts, cnt, reference_target(insn, i));
		if (err)
			return err;
	}
	return 0;
}

int bpfu_vrf_find_subprogs(struct bpfu_env *env)
{
	uint32_t starts[BPFU_MAX_SUBPROGS], cnt = 0;
	struct bpfu_prog *prog = env->prog;
	int err = collect_starts(env, starts, &cnt);

	if (err)
		return err;
	qsort(starts, cnt, sizeof(starts[0]), cmp_u32);
	prog->subprogs = calloc(cnt, sizeof(*prog->subprogs));
	env->sub = calloc(cnt, sizeof(*env->sub));
	env->subprog_of = calloc(env->insn_cnt, sizeof(*env->subprog_of));
	if (!prog->subprogs || !env->sub || !env->subprog_of)
		return -ENOMEM;
	prog->subprog_cnt = cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t end = i + 1 < cnt ? starts[i + 1] : env->insn_cnt;

		prog->subprogs[i].start = starts[i];
		for (uint32_t k = starts[i]; k < end; k++)
			env->subprog_of[k] = i;
		if (bpfu_vrf_logs(env) && env->log->level & BPFU_LOG_LEVEL2)
			bpfu_vrf_log(env, "func#%u @%u\n", i, starts[i]);
	}
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		const struct bpf_insn *insn = &env->insns[i];

		if (bpfu_insn_is_pseudo_func(insn))
			prog->subprogs[bpfu_vrf_subprog_at(env, reference_target(insn, i))].is_cb =
				true;
		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		    insn->imm == BPF_FUNC_tail_call)
			prog->subprogs[env->subprog_of[i]].has_tail_call = true;
	}
	return 0;
}

/* ---- the call graph ---- */

/* A bit per caller and callee; a callback counts as called where it is passed. */
struct graph {
	uint64_t calls[BPFU_MAX_SUBPROGS][BPFU_MAX_SUBPROGS / 64];
};

static void graph_build(const struct bpfu_env *env, struct graph *g, bool only_seen)
{
	memset(g, 0, sizeof(*g));
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		const struct bpf_insn *insn = &env->insns[i];
		uint32_t callee;

		if (!is_reference(insn) || (only_seen && !env->aux[i].seen))
			continue;
		callee = (uint32_t)bpfu_vrf_subprog_at(env, reference_target(insn, i));
		g->calls[env->subprog_of[i]][callee / 64] |= 1ULL << (callee % 64);
	}
}

static bool graph_calls(const struct graph *g, uint32_t caller, uint32_t callee)
{
	return g->calls[caller][callee / 64] >> (callee % 64) & 1;
}

/* Spread a property from callees to callers. */
static void graph_spread(const struct bpfu_env *env, const struct graph *g, bool *property)
{
	uint32_t cnt = env->prog->subprog_cnt;
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t a = 0; a < cnt; a++)
			for (uint32_t b = 0; b < cnt && !property[a]; b++)
				if (property[b] && graph_calls(g, a, b))
					again = property[a] = true;
	}
}

static bool insn_changes_packet(const struct bpf_insn *insn)
{
	const struct bpfu_helper *helper;

	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return false;
	helper = bpfu_helper_by_id(insn->imm);
	/* The program that a tail call leads to may do anything with it. */
	return helper && (helper->flags & BPFU_HELPER_CHANGES_PKT || insn->imm == BPF_FUNC_tail_call);
}

/*
 * Which functions may, directly or through what they call, move the packet. The call of a global
 * function is not looked into, so this decides what happens to packet pointers there.
 */
void bpfu_vrf_find_pkt_changes(struct bpfu_env *env)
{
	bool changes[BPFU_MAX_SUBPROGS] = { false };
	struct graph g;

	for (uint32_t i = 0; i < env->insn_cnt; i++)
		if (insn_changes_packet(&env->insns[i]))
			changes[env->subprog_of[i]] = true;
	graph_build(env, &g, false);
	graph_spread(env, &g, changes);
	for (uint32_t i = 0; i < env->prog->subprog_cnt; i++)
		env->prog->subprogs[i].changes_pkt = env->sub[i].changes_pkt = changes[i];
}

static void find_tail_calls(struct bpfu_env *env, const struct graph *g)
{
	bool reaches[BPFU_MAX_SUBPROGS] = { false };
	struct bpfu_subprog *subprogs = env->prog->subprogs;

	for (uint32_t i = 0; i < env->prog->subprog_cnt; i++)
		reaches[i] = subprogs[i].has_tail_call;
	graph_spread(env, g, reaches);
	for (uint32_t i = 0; i < env->prog->subprog_cnt; i++)
		subprogs[i].tail_call_reachable = reaches[i];
}

/* ---- stack depth ---- */

struct chain {
	const struct graph *g;
	uint32_t sub[BPFU_MAX_CALL_FRAMES];
	uint32_t next[BPFU_MAX_CALL_FRAMES]; /* callee to try */
	uint32_t depth, bytes;
	/* Bytes with which a function was entered at a depth: entering with fewer tells nothing. */
	uint16_t entered[BPFU_MAX_SUBPROGS][BPFU_MAX_CALL_FRAMES];
};

/* What the function adds to the stack of its chain: nothing, if it has a private one. */
static uint32_t frame_bytes(const struct bpfu_env *env, uint32_t sub)
{
	uint32_t depth = env->prog->subprogs[sub].stack_depth;

	if (env->prog->subprogs[sub].private_stack)
		return 0;
	return BPFU_ROUND_UP(BPFU_MAX(depth, 1u), FRAME_ALIGN);
}

/*
 * The kernel gives private stacks to programs that it does not start again while they run on the
 * same CPU: those of the tracing kind. Here a frame is never shared in any program, so auto decides
 * only to decide alike.
 */
static bool private_stack_type(const struct bpfu_prog *prog)
{
	switch (bpfu_prog_acts_as(prog)) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_PERF_EVENT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
		return true;
	case BPF_PROG_TYPE_TRACING:
		return prog->expected_attach_type != BPF_TRACE_ITER;
	default:
		return false;
	}
}

/*
 * A tail call leaves the program without coming back, so that nobody would know when its frames are
 * free again: one anywhere, and the program has no private stack at all.
 */
static void choose_private_stacks(struct bpfu_env *env)
{
	struct bpfu_prog *prog = env->prog;
	uint32_t min = PRIVATE_STACK_MIN;

	if (prog->options.private_stack == BPFU_SWITCH_ON)
		min = 1;
	else if (prog->options.private_stack == BPFU_SWITCH_OFF || !private_stack_type(prog))
		return;
	for (uint32_t i = 0; i < prog->subprog_cnt; i++)
		if (prog->subprogs[i].has_tail_call)
			return;
	for (uint32_t i = 0; i < prog->subprog_cnt; i++) {
		struct bpfu_subprog *sub = &prog->subprogs[i];

		sub->private_stack = BPFU_ROUND_UP(sub->stack_depth, FRAME_ALIGN) >= min;
	}
}

static int chain_enter(struct bpfu_env *env, struct chain *c, uint32_t sub)
{
	if (c->depth == BPFU_MAX_CALL_FRAMES) {
		bpfu_vrf_log(env, "the call stack of %u frames is too deep !\n", c->depth + 1);
		return -E2BIG;
	}
	if (c->depth && env->prog->subprogs[sub].has_tail_call && c->bytes >= TAIL_CALL_STACK) {
		bpfu_vrf_log(env,
			     "tail_calls are not allowed when call stack of previous frames is %u "
			     "bytes. Too large\n",
			     c->bytes);
		return -EACCES;
	}
	if (c->entered[sub][c->depth] > c->bytes)
		return 0;
	c->entered[sub][c->depth] = (uint16_t)(c->bytes + 1);
	c->bytes += frame_bytes(env, sub);
	if (c->bytes > BPFU_STACK_SIZE) {
		bpfu_vrf_log(env, "combined stack size of %u calls is %u. Too large\n",
			     c->depth + 1, c->bytes);
		return -EACCES;
	}
	c->sub[c->depth] = sub;
	c->next[c->depth++] = 0;
	return 0;
}

/* All chains of calls that start at @root. */
static int check_chains(struct bpfu_env *env, const struct graph *g, uint32_t root)
{
	struct chain c = { .g = g };
	int err = chain_enter(env, &c, root);

	while (!err && c.depth) {
		uint32_t sub = c.sub[c.depth - 1], callee = c.next[c.depth - 1]++;

		if (callee >= env->prog->subprog_cnt) {
			c.bytes -= frame_bytes(env, sub);
			c.depth--;
		} else if (graph_calls(g, sub, callee)) {
			err = chain_enter(env, &c, callee);
		}
	}
	return err;
}

int bpfu_vrf_check_stack_depth(struct bpfu_env *env)
{
	struct graph g;

	graph_build(env, &g, true);
	find_tail_calls(env, &g);
	choose_private_stacks(env);
	for (uint32_t i = 0; i < env->prog->subprog_cnt; i++) {
		int err;

		/* Others are reached through these. */
		if (i && !(env->prog->subprogs[i].is_global && env->sub[i].called))
			continue;
		err = check_chains(env, &g, i);
		if (err)
			return err;
	}
	return 0;
}
