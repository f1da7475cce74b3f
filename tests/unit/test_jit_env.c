// SPDX-License-Identifier: BSD-2-Clause
/* See test_jit_env.h. */
#include "test_jit_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper/helper.h"
#include "interp/interp.h"
#include "jit/backend.h"
#include "jit/jit.h"

const uint64_t edge_values[] = {
	0, 1, 2, 7, 31, 32, 63, 64, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x180000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff80000000, 0xffffffffffffffff,
	0xfffffffffffffffe, 0x123456789abcdef0, 0xfedcba9876543210, 0xffffffff00000000,
};
const unsigned edge_cnt = BPFU_ARRAY_SIZE(edge_values);

uint64_t helper_mix(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return r1 + 3 * r2 + 5 * r3 + 7 * r4 + 11 * r5;
}

/*
 * The alignment that the compiler assumes on entry, in code it cannot see through: a frame with an
 * aligned object is placed by rounding, so look at where the return address lies instead.
 */
static __attribute__((noinline, no_sanitize("address"))) uint64_t
helper_aligned(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	return frame % 16 == 0;
}

static uint64_t helper_smash(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
#if defined(__x86_64__)
	__asm__ volatile("mov $-1, %%rcx; mov $-1, %%rdx; mov $-1, %%rsi; mov $-1, %%rdi;"
			 "mov $-1, %%r8; mov $-1, %%r9; mov $-1, %%r10; mov $-1, %%r11"
			 :
			 :
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x1, #-1; mov x2, #-1; mov x3, #-1; mov x4, #-1; mov x5, #-1;"
			 "mov x9, #-1; mov x10, #-1; mov x11, #-1; mov x12, #-1; mov x16, #-1"
			 :
			 :
			 : "x1", "x2", "x3", "x4", "x5", "x9", "x10", "x11", "x12", "x16", "cc");
#endif
	return r1;
}

static uint64_t helper_loop(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint64_t i;

	for (i = 0; i < r1; i++)
		if (bpfu_callback_call(r2, i, r3, 0, 0, 0))
			return i + 1;
	return i;
}

static uint64_t helper_callback(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return bpfu_callback_call(r1, r2, r3, r4, r5, 0);
}

static uint64_t helper_count(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return ++*(uint64_t *)bpfu_ptr(r1);
}

uint64_t (*jprog_hook)(uint64_t r1, uint64_t r2);

static uint64_t helper_hook(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return jprog_hook(r1, r2);
}

/* Stands in for helper/: the JIT and the interpreter look helpers up here. */
const struct bpfu_helper *bpfu_helper_by_id(int32_t id)
{
	static const struct bpfu_helper helpers[HELPER_CNT] = {
		[HELPER_MIX] = { .name = "mix", .fn = helper_mix },
		[HELPER_ALIGNED] = { .name = "aligned", .fn = helper_aligned },
		[HELPER_SMASH] = { .name = "smash", .fn = helper_smash },
		[HELPER_LOOP] = { .name = "loop", .fn = helper_loop },
		[HELPER_CALLBACK] = { .name = "callback", .fn = helper_callback },
		[HELPER_COUNT] = { .name = "count", .fn = helper_count },
		[HELPER_HOOK] = { .name = "hook", .fn = helper_hook },
	};

	return id > 0 && id < HELPER_CNT ? &helpers[id] : NULL;
}

bpfu_helper_fn bpfu_call_target(int32_t id)
{
	const struct bpfu_helper *helper = bpfu_helper_by_id(id);

	return helper ? helper->fn : NULL;
}

/* No more than the bodies above read, so that what the JIT leaves out is seen to be missed by nobody. */
unsigned bpfu_call_args(int32_t id)
{
	static const uint8_t args[HELPER_CNT] = {
		[HELPER_MIX] = 5, [HELPER_SMASH] = 1, [HELPER_LOOP] = 3, [HELPER_CALLBACK] = 5,
		[HELPER_COUNT] = 1, [HELPER_HOOK] = 2,
	};

	return id > 0 && id < HELPER_CNT ? args[id] : 5;
}

void jprog_init(struct jprog *p, const struct bpf_insn *insns, uint32_t cnt, uint32_t stack)
{
	memset(p, 0, sizeof(*p));
	p->subs = calloc(BPFU_MAX_SUBPROGS, sizeof(p->subs[0]));
	assert_non_null(p->subs);
	p->jit.insns = malloc(cnt * sizeof(*insns));
	assert_non_null(p->jit.insns);
	memcpy(p->jit.insns, insns, cnt * sizeof(*insns));
	p->jit.insn_cnt = cnt;
	p->jit.options.prog_pack = true;
	p->jit.options.loop_idioms = true;
	p->jit.options.harden = getenv("BPFU_TEST_HARDEN");
	p->jit.subprogs = p->subs;
	jprog_sub(p, 0, stack);
}

void jprog_sub(struct jprog *p, uint32_t start, uint32_t stack)
{
	struct bpfu_subprog *sub = &p->subs[p->jit.subprog_cnt++];

	sub->start = start;
	sub->stack_depth = stack;
}

int jprog_prepare(struct jprog *p)
{
	p->interp.insns = p->jit.insns;
	p->interp.insn_cnt = p->jit.insn_cnt;
	p->interp.subprogs = p->subs;
	p->interp.subprog_cnt = p->jit.subprog_cnt;
	return bpfu_interp_prepare(&p->interp);
}

int jprog_compile(struct jprog *p, enum jvariant variant)
{
	struct bpfu_jit_target target;
	int err;

	assert_int_equal(jprog_prepare(p), 0);
	for (uint32_t i = 0; variant == J_PRIVATE && i < p->jit.subprog_cnt; i++)
		p->subs[i].private_stack = p->subs[i].stack_depth > 0;
	if (variant == J_HOST || variant == J_PRIVATE)
		return bpfu_jit_compile(&p->jit);
	bpfu_jit_target_init(&target, bpfu_jit_backend_find(NULL));
	if (variant == J_PLAIN)
		target.cpu = 0;
	target.far_calls = variant == J_FAR;
	err = bpfu_jit_compile_for(&p->jit, &target);
	if (err != -ERANGE)
		return err;
	target.far_calls = true; /* as bpfu_jit_compile() does */
	return bpfu_jit_compile_for(&p->jit, &target);
}

void jprog_release(struct jprog *p)
{
	bpfu_jit_release(&p->jit);
	bpfu_interp_release(&p->interp);
	free(p->jit.insns);
	free(p->subs);
}

void jprog_make(struct jprog *p, enum jvariant variant, const struct bpf_insn *insns, uint32_t cnt,
		uint32_t stack)
{
	int err;

	jprog_init(p, insns, cnt, stack);
	err = jprog_compile(p, variant);
	if (err) {
		jprog_dump(p);
		fail_msg("compile: %d", err);
	}
}

void jprog_dump(const struct jprog *p)
{
	for (uint32_t i = 0; i < p->jit.insn_cnt && i < 300; i++) {
		const struct bpf_insn *insn = &p->jit.insns[i];
		char text[128] = "(second half)";

		if (insn->code)
			bpfu_insn_print(text, sizeof(text), insn, NULL);
		printf("%4u: %02x %d %d %d %d  %s\n", i, insn->code, insn->dst_reg, insn->src_reg,
		       insn->off, insn->imm, text);
	}
}
