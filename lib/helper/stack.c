// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf_get_stackid() and bpf_get_stack(). There is one stack, that of the thread; the functions of the
 * process are the kernel of the programs on them. The stack of a kernel begins where the kernel's would, with
 * the programs in front of the function for some types (stack.h); that of a user begins with the first
 * function that belongs neither to libbpfu nor to a program, or with the traced one.
 */
#include "helper/stack.h"

#include <errno.h>
#include <string.h>

#include "helper/bodies.h"
#include "helper/func_ctx.h"
#include "map/stack_trace.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/build_id.h"
#include "util/frames.h"

enum bpfu_stack_kind bpfu_stack_kind_of(const struct bpfu_prog *prog)
{
	switch (prog->type) {
	case BPF_PROG_TYPE_KPROBE:
		return BPFU_STACK_REGS;
	case BPF_PROG_TYPE_TRACEPOINT:
		return BPFU_STACK_RECORD;
	case BPF_PROG_TYPE_TRACING:
		return prog->expected_attach_type == BPF_TRACE_RAW_TP ? BPFU_STACK_LIVE :
									BPFU_STACK_FUNC;
	default:
		return BPFU_STACK_LIVE;
	}
}

/* ---- addresses ---- */

struct stack {
	uint32_t skip, max; /* of max frames the first ones are not wanted */
	uint32_t cnt;       /* frames so far, those that were skipped included */
	uint64_t ips[BPFU_STACK_FRAMES_MAX];
};

static void push(struct stack *s, uint64_t ip)
{
	if (s->cnt == s->max)
		return;
	if (s->cnt >= s->skip)
		s->ips[s->cnt - s->skip] = ip;
	s->cnt++;
}

/* @f and all that have called it. */
static void push_all(struct stack *s, struct bpfu_frame *f)
{
	if (s->cnt < s->max)
		s->cnt = bpfu_frames_put(f, s->ips, s->cnt, s->skip, s->max);
}

static void push_outside(struct stack *s, struct bpfu_frame *f)
{
	while (bpfu_frame_code(f) != BPFU_CODE_OTHER)
		if (!bpfu_frame_next(f))
			return;
	push_all(s, f);
}

/* Go to the frame above the one that the context @ctx lies in. False: there is none. */
static bool leave_frame_of(struct bpfu_frame *f, uint64_t ctx)
{
	while (f->sp <= ctx)
		if (!bpfu_frame_next(f))
			return false;
	return true;
}

/* The context is in the frame of a thunk, which has been jumped to from the function's entry. */
static void push_func(struct stack *s, struct bpfu_frame *f, uint64_t ctx, bool user)
{
	uint64_t func = ((const uint64_t *)bpfu_ptr(ctx))[BPFU_FUNC_CTX_IP];
	struct bpfu_frame at;

	do {
		at = *f;
		if (!bpfu_frame_next(f))
			return;
		if (!user && f->sp <= ctx && bpfu_frame_code(&at) == BPFU_CODE_GENERATED)
			push(s, at.pc);
	} while (f->sp <= ctx);
	/* A thunk calls programs from several places; a stack must not differ by them. */
	if (!user)
		push(s, bpfu_frame_thunk_start(&at));
	push(s, func);
	push_all(s, f);
}

static void push_regs(struct stack *s, const uint64_t *word)
{
	struct bpfu_frame f = {
		.pc = word[BPFU_STACK_PC],
		.sp = word[BPFU_STACK_SP],
		.fp = word[BPFU_STACK_FP],
		.lr = word[BPFU_STACK_LR],
		.exact = true,
	};

	push_all(s, &f);
}

/* @f called the helper. */
static void collect(struct stack *s, struct bpfu_frame *f, uint64_t ctx, enum bpfu_stack_kind kind,
		    bool user)
{
	switch (kind) {
	case BPFU_STACK_REGS:
		push_regs(s, bpfu_ptr(ctx));
		return;
	case BPFU_STACK_FUNC:
		push_func(s, f, ctx, user);
		return;
	case BPFU_STACK_RECORD:
		if (!leave_frame_of(f, ctx))
			return;
		break;
	case BPFU_STACK_LIVE:
		break;
	}
	if (user)
		push_outside(s, f);
	else
		push_all(s, f);
}

static void stack_init(struct stack *s, uint32_t depth, uint64_t flags)
{
	s->skip = flags & BPF_F_SKIP_FIELD_MASK;
	s->max = BPFU_MIN(depth + s->skip, (uint32_t)BPFU_STACK_FRAMES_MAX);
	s->cnt = 0;
}

/* ---- files ---- */

static void to_file(struct bpf_stack_build_id *out, uint64_t ip, bool user)
{
	uint8_t id[BPFU_BUILD_ID_SIZE];
	uint64_t off;

	*out = (struct bpf_stack_build_id){ .status = BPF_STACK_BUILD_ID_IP, .ip = ip };
	if (!user || !bpfu_build_id_of(ip, id, &off))
		return;
	out->status = BPF_STACK_BUILD_ID_VALID;
	memcpy(out->build_id, id, sizeof(id));
	out->offset = off;
}

/* ---- the helpers ---- */

/* r4 is an enum bpfu_stack_kind. */
uint64_t bpfu_helper_get_stackid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const uint64_t known = BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP |
			       BPF_F_REUSE_STACKID;
	struct bpfu_frame frame = BPFU_FRAME_OF_CALLER();
	struct bpfu_map *map = bpfu_ptr(r2);
	uint32_t depth = bpfu_stack_map_depth(map);
	struct stack s;

	if (r3 & ~known)
		return (uint64_t)-EINVAL;
	stack_init(&s, depth, r3);
	collect(&s, &frame, r1, (enum bpfu_stack_kind)r4, r3 & BPF_F_USER_STACK);
	if (s.cnt <= s.skip)
		return (uint64_t)-EFAULT;
	return (uint64_t)bpfu_stack_map_put(map, s.ips, s.cnt - s.skip, r3, to_file);
}

/* The length, or an error; then nothing has been written. */
static int64_t get_stack(struct bpfu_frame *frame, uint64_t ctx, void *buf, uint32_t size,
			 uint64_t flags, enum bpfu_stack_kind kind)
{
	const uint64_t known = BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK | BPF_F_USER_BUILD_ID;
	bool user = flags & BPF_F_USER_STACK, files = flags & BPF_F_USER_BUILD_ID;
	uint32_t frame_size = files ? sizeof(struct bpf_stack_build_id) : sizeof(uint64_t), cnt;
	struct stack s;

	if (flags & ~known || (files && !user) || size % frame_size)
		return -EINVAL;
	stack_init(&s, size / frame_size, flags);
	collect(&s, frame, ctx, kind, user);
	if (s.cnt < s.skip)
		return -EFAULT;
	cnt = s.cnt - s.skip;
	if (!files)
		memcpy(buf, s.ips, cnt * sizeof(s.ips[0]));
	for (uint32_t i = 0; files && i < cnt; i++)
		to_file((struct bpf_stack_build_id *)buf + i, s.ips[i], user);
	return cnt * frame_size;
}

/* r5 is an enum bpfu_stack_kind. */
uint64_t bpfu_helper_get_stack(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct bpfu_frame frame = BPFU_FRAME_OF_CALLER();
	uint32_t size = (uint32_t)r3, used;
	int64_t len = get_stack(&frame, r1, bpfu_ptr(r2), size, r4, (enum bpfu_stack_kind)r5);

	used = len < 0 ? 0 : (uint32_t)len;
	memset((char *)bpfu_ptr(r2) + used, 0, size - used);
	return (uint64_t)len;
}
