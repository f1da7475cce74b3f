// SPDX-License-Identifier: BSD-2-Clause
/*
 * Private stacks of compiled programs: where frames are, that no two activations ever have the same
 * one (runs within runs, from signal handlers, in callbacks, in many threads), and that writing
 * outside of them is noticed.
 */
#include "test_jit_env.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "jit/jit.h"
#include "map/map.h"
#include "percpu/percpu_alloc.h"

#define FRAME 256
#define MAX_LEVEL 9 /* more than there are segments */

struct ctx {
	uint64_t value;
	uint64_t level;
};

/* r6 = ctx, r7 = ctx->value; every word of the frame becomes r7 + @extra */
static uint32_t fill(struct bpf_insn *insns, uint32_t n, int32_t extra)
{
	insns[n++] = MOV_R(R6, R1);
	insns[n++] = LDX(BPF_DW, R7, R6, 0);
	insns[n++] = ALU64_I(BPF_ADD, R7, extra);
	for (int16_t off = 8; off <= FRAME; off += 8)
		insns[n++] = STX(BPF_DW, R10, -off, R7);
	return n;
}

/* r0 = number of words that are not r7 any more */
static uint32_t check(struct bpf_insn *insns, uint32_t n)
{
	insns[n++] = MOV_I(R0, 0);
	for (int16_t off = 8; off <= FRAME; off += 8) {
		insns[n++] = LDX(BPF_DW, R1, R10, -off);
		insns[n++] = JMP_R(BPF_JEQ, R1, R7, 1);
		insns[n++] = ALU64_I(BPF_ADD, R0, 1);
	}
	return n;
}

static uint32_t call_hook(struct bpf_insn *insns, uint32_t n)
{
	insns[n++] = MOV_R(R1, R6);
	insns[n++] = MOV_R(R2, R10);
	insns[n++] = ALU64_I(BPF_ADD, R2, -FRAME);
	insns[n++] = CALL(HELPER_HOOK);
	return n;
}

/*
 * main fills its frame, calls the hook and a function, which does the same, and checks its frame.
 * Returns the number of words that somebody else has changed. @how: J_PRIVATE or J_HOST.
 */
static void make_checker(struct jprog *p, enum jvariant how)
{
	struct bpf_insn insns[600];
	uint32_t n, call, start;

	n = call_hook(insns, fill(insns, 0, 0));
	insns[n++] = MOV_R(R1, R6);
	call = n;
	insns[n++] = CALL_REL(0);
	insns[n++] = MOV_R(R8, R0);
	n = check(insns, n);
	insns[n++] = ALU64_R(BPF_ADD, R0, R8);
	insns[n++] = EXIT();
	start = n;
	n = check(insns, call_hook(insns, fill(insns, n, 1)));
	insns[n++] = EXIT();
	insns[call].imm = (int32_t)(start - call - 1);
	jprog_init(p, insns, n, FRAME);
	jprog_sub(p, start, FRAME);
	assert_int_equal(jprog_compile(p, how), 0);
}

/* On the slot of the calling thread, as every run is. */
static uint64_t run_ctx(const struct jprog *p, struct ctx *ctx)
{
	uint64_t ret;

	bpfu_cpu_enter();
	ret = p->jit.func(ctx, &p->jit);
	bpfu_cpu_exit();
	return ret;
}

static uint64_t run(const struct jprog *p, uint64_t value, uint64_t level)
{
	struct ctx ctx = { value, level };

	return run_ctx(p, &ctx);
}

/* ---- where ---- */

static uint64_t seen[2];
static unsigned seen_cnt;

static uint64_t hook_see(uint64_t ctx, uint64_t frame)
{
	seen[seen_cnt++ % 2] = frame;
	return 0;
}

static bool is_private(const struct jprog *p, uint64_t frame)
{
	const struct bpfu_private_stack *stack = &p->jit.jit->private_stack;
	uint64_t start = bpfu_u64(bpfu_percpu_this(stack->mem));

	return stack->mem && frame > start &&
	       frame + FRAME < start + 128 + stack->segments * stack->stride;
}

static bool is_on_thread_stack(uint64_t frame)
{
	uint64_t here = bpfu_u64(__builtin_frame_address(0));

	return frame < here + 65536 && frame > here - 65536;
}

static void test_where(void **state)
{
	for (int private = 0; private < 2; private++) {
		struct jprog p;

		make_checker(&p, private ? J_PRIVATE : J_HOST);
		jprog_hook = hook_see;
		seen_cnt = 0;
		bpfu_cpu_enter();
		assert_int_equal(run(&p, 1, 0), 0);
		assert_int_equal(seen_cnt, 2);
		assert_true(seen[1] - seen[0] >= FRAME || seen[0] - seen[1] >= FRAME);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(is_private(&p, seen[i]), private);
			assert_int_equal(is_on_thread_stack(seen[i]), !private);
		}
		bpfu_cpu_exit();
		jprog_release(&p);
	}
}

/* ---- runs within runs ---- */

static const struct jprog *checker;
static uint64_t frames[2 * MAX_LEVEL]; /* of the activations under way */
static unsigned frame_cnt, private_cnt, thread_cnt;
static uint64_t damage;

static uint64_t hook_nest(uint64_t r1, uint64_t frame)
{
	const struct ctx *ctx = bpfu_ptr(r1);

	for (unsigned i = 0; i < frame_cnt; i++)
		assert_true(frame >= frames[i] + FRAME || frame + FRAME <= frames[i]);
	if (is_private(checker, frame))
		private_cnt++;
	else
		thread_cnt++;
	assert_true(is_private(checker, frame) || is_on_thread_stack(frame));
	if (ctx->level < MAX_LEVEL) {
		frames[frame_cnt++] = frame;
		damage += run(checker, ctx->value * 3 + 100, ctx->level + 1);
		frame_cnt--;
	}
	return 0;
}

static void test_nested_runs(void **state)
{
	struct jprog p;

	make_checker(&p, J_PRIVATE);
	checker = &p;
	/* Twice: what a nested run had is free again. */
	for (int again = 0; again < 2; again++) {
		private_cnt = thread_cnt = 0;
		jprog_hook = hook_nest;
		bpfu_cpu_enter();
		/* Two calls of the hook per run: a tree, so keep it low. */
		assert_int_equal(run(&p, 7, MAX_LEVEL - 5), 0);
		bpfu_cpu_exit();
		assert_int_equal(damage, 0);
		assert_int_equal(private_cnt, 2); /* one segment: the outermost run has it */
		assert_int_equal(private_cnt + thread_cnt, 2 * (1 + 2 + 4 + 8 + 16 + 32));
	}
	jprog_release(&p);
}

/* ---- callbacks ---- */

static unsigned reruns;

/* Runs the whole program again, main, callbacks and all, from within its callbacks. */
static uint64_t hook_rerun(uint64_t r1, uint64_t frame)
{
	struct ctx ctx = { 0x7000 + reruns, 4 };

	if (reruns < 30) {
		reruns++;
		damage += run_ctx(checker, &ctx) != 1;
	}
	return 0;
}

/*
 * callback(level, ctx) fills its frame, calls itself through the helper while ctx->level < 6, and
 * checks its frame: more activations of one function at a time than there are segments.
 */
static void test_callback_in_callback(void **state)
{
	struct bpf_insn insns[600];
	struct ctx ctx = { 5, 0 };
	uint32_t n = 0, start, ref[2];
	struct jprog p;

	ref[0] = n;
	insns[n++] = MOV_R(R2, R1);
	insns[n++] = LD64_LO(R1, BPF_PSEUDO_FUNC, 0);
	insns[n++] = LD64_HI(0);
	insns[n++] = ST(BPF_DW, R10, -FRAME, 1);
	insns[n++] = CALL(HELPER_CALLBACK);
	insns[n++] = LDX(BPF_DW, R1, R10, -FRAME);
	insns[n++] = ALU64_R(BPF_ADD, R0, R1);
	insns[n++] = EXIT();
	start = n;
	n = fill(insns, n, 1);
	insns[n++] = STX(BPF_DW, R6, 0, R7); /* the next one has another value */
	n = call_hook(insns, n);
	insns[n++] = LDX(BPF_DW, R1, R6, 8);
	insns[n++] = MOV_I(R8, 0);
	insns[n++] = JMP_I(BPF_JGE, R1, 6, 7);
	insns[n++] = ALU64_I(BPF_ADD, R1, 1);
	insns[n++] = STX(BPF_DW, R6, 8, R1);
	insns[n++] = MOV_R(R2, R6);
	ref[1] = n;
	insns[n++] = LD64_LO(R1, BPF_PSEUDO_FUNC, 0);
	insns[n++] = LD64_HI(0);
	insns[n++] = CALL(HELPER_CALLBACK);
	insns[n++] = MOV_R(R8, R0);
	n = check(insns, n);
	insns[n++] = ALU64_R(BPF_ADD, R0, R8);
	insns[n++] = EXIT();
	insns[ref[0] + 1].imm = (int32_t)(start - (ref[0] + 1) - 1);
	insns[ref[1]].imm = (int32_t)(start - ref[1] - 1);

	jprog_init(&p, insns, n, FRAME);
	jprog_sub(&p, start, FRAME);
	assert_int_equal(jprog_compile(&p, J_PRIVATE), 0);
	assert_int_equal(p.jit.jit->private_stack.segments, 2);
	jprog_hook = hook_see;
	seen_cnt = 0;
	assert_int_equal(run_ctx(&p, &ctx), 1);
	assert_int_equal(seen_cnt, 7);
	ctx = (struct ctx){ 5, 0 };
	assert_int_equal(jprog_run_interp(&p, &ctx), 1);
	jprog_hook = hook_rerun;
	checker = &p;
	ctx = (struct ctx){ 5, 0 };
	assert_int_equal(run_ctx(&p, &ctx), 1);
	assert_int_equal(reruns, 30);
	assert_int_equal(damage, 0);
	jprog_release(&p);
}

/* Only the callback has a frame: main needs no segment, and its caller's register must survive. */
static void test_callback_only(void **state)
{
	struct bpf_insn insns[600];
	struct ctx ctx = { 5, 0 };
	uint32_t n = 0, start;
	struct jprog p;

	insns[n++] = MOV_R(R2, R1);
	insns[n++] = LD64_LO(R1, BPF_PSEUDO_FUNC, 3);
	insns[n++] = LD64_HI(0);
	insns[n++] = CALL(HELPER_CALLBACK);
	insns[n++] = EXIT();
	start = n;
	n = check(insns, call_hook(insns, fill(insns, n, 1)));
	insns[n++] = EXIT();
	jprog_init(&p, insns, n, 0);
	jprog_sub(&p, start, FRAME);
	assert_int_equal(jprog_compile(&p, J_PRIVATE), 0);
	jprog_hook = hook_see;
	seen_cnt = 0;
	bpfu_cpu_enter();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(run_ctx(&p, &ctx), 0);
		assert_true(is_private(&p, seen[i % 2]));
	}
	bpfu_cpu_exit();
	assert_int_equal(seen[0], seen[1]); /* given back each time */
	jprog_release(&p);
}

/* ---- signals ---- */

#ifdef BPFU_TSAN
#define SIGNALS 10 /* it takes its time */
#else
#define SIGNALS 200
#endif

static volatile sig_atomic_t interrupts, in_program, hits_in_program, signal_damage;

static uint64_t hook_spin(uint64_t ctx, uint64_t frame)
{
#ifdef BPFU_TSAN
	usleep(20); /* the sanitizer hands signals on at calls that may block */
#endif
	for (volatile int i = 0; i < 200; i++)
		;
	return 0;
}

/* One signal per arming: a handler slower than a period would leave the program no time at all. */
static void arm(void)
{
	const struct itimerval once = { .it_value.tv_usec = 150 };

	setitimer(ITIMER_REAL, &once, NULL);
}

static void on_alarm(int sig)
{
	interrupts++;
	hits_in_program += in_program;
	signal_damage += run(checker, 0x5eed000 + (uint64_t)interrupts, 0) != 0;
}

static void test_signals(void **state)
{
	const struct itimerval off = { 0 };
	struct sigaction act = { .sa_handler = on_alarm }, old;
	struct jprog p;
	uint64_t bad = 0;

	make_checker(&p, J_PRIVATE);
	checker = &p;
	jprog_hook = hook_spin;
	sigaction(SIGALRM, &act, &old);
	arm();
	for (uint64_t i = 0, armed = 0; hits_in_program < SIGNALS && i < 3000000; i++) {
		if (armed < (uint64_t)interrupts) {
			armed = (uint64_t)interrupts;
			arm();
		}
		bpfu_cpu_enter();
		in_program = 1;
		bad += run(&p, i, 0);
		in_program = 0;
		bpfu_cpu_exit();
	}
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(signal_damage, 0);
	assert_true(hits_in_program > 0);
	jprog_release(&p);
}

/* ---- threads ---- */

#define THREADS 8

static _Atomic uint32_t elsewhere;

/* Nothing is nested, so each run has the segment of its slot, before and after others ran. */
static uint64_t hook_yield(uint64_t ctx, uint64_t frame)
{
	elsewhere += !is_private(checker, frame);
	sched_yield();
	elsewhere += !is_private(checker, frame);
	return 0;
}

static void *thread_main(void *arg)
{
	uint64_t *bad = arg;

	for (uint64_t i = 0; i < 400; i++)
		*bad += run(checker, bpfu_u64(bad) + i, 0);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	uint64_t bad[THREADS] = { 0 };
	struct jprog p;

	make_checker(&p, J_PRIVATE);
	checker = &p;
	jprog_hook = hook_yield;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &bad[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(bad[i], 0);
	}
	assert_int_equal(elsewhere, 0);
	jprog_release(&p);
}

/* ---- tail calls ---- */

/* A program that is entered by a tail call has its private stack; one that makes them has none. */
static void test_tail_call(void **state)
{
	struct bpfu_prog_array *array = calloc(1, sizeof(*array) + sizeof(array->ptrs[0]));
	struct ctx ctx = { 1, 0 };
	struct jprog p, target;

	assert_non_null(array);
	array->map.max_entries = 1;
	make_checker(&target, J_PRIVATE);
	atomic_store(&array->ptrs[0], &target.jit);
	{
		struct bpf_insn insns[] = {
			ST(BPF_DW, R10, -FRAME, 0),
			LD64_LO(R2, BPF_PSEUDO_MAP_FD, bpfu_u64(array)), LD64_HI(bpfu_u64(array)),
			MOV_I(R3, 0),
			TAIL_CALL(),
			MOV_I(R0, 99),
			EXIT(),
		};

		jprog_make(&p, J_PRIVATE, insns, BPFU_ARRAY_SIZE(insns), FRAME);
	}
	assert_null(p.jit.jit->private_stack.mem);
	jprog_hook = hook_see;
	seen_cnt = 0;
	bpfu_cpu_enter();
	assert_int_equal(run_ctx(&p, &ctx), 0);
	assert_true(is_private(&target, seen[0]) && is_private(&target, seen[1]));
	bpfu_cpu_exit();
	assert_int_equal(seen_cnt, 2);
	jprog_release(&p);
	jprog_release(&target);
	free(array);
}

/* ---- guards ---- */

static char last_line[200];
static int lines;

static void keep_line(enum bpfu_log_level level, const char *line, void *arg)
{
	snprintf(last_line, sizeof(last_line), "%s", line);
	lines++;
}

/* Write @off from r10, where a frame has FRAME bytes below, on the slot that we run on. */
static void overflow(int16_t off, const char *message)
{
	struct bpf_insn insns[] = {
		ST(BPF_DW, R10, off, 1), ST(BPF_DW, R10, -FRAME, 1), MOV_I(R0, 0), EXIT(),
	};
	struct jprog p;

	lines = 0;
	last_line[0] = '\0';
	jprog_make(&p, J_PRIVATE, insns, BPFU_ARRAY_SIZE(insns), FRAME);
	snprintf(p.jit.name, sizeof(p.jit.name), "naughty");
	bpfu_set_log_cb(keep_line, NULL);
	assert_int_equal(run_ctx(&p, NULL), 0);
	jprog_release(&p);
	bpfu_set_log_cb(NULL, NULL);
	assert_int_equal(lines, message ? 1 : 0);
	if (message && (!strstr(last_line, message) || !strstr(last_line, "prog 'naughty'")))
		fail_msg("%s", last_line);
}

static void test_overflow_is_noticed(void **state)
{
	overflow(-8, NULL);
	overflow(-FRAME, NULL);
	overflow(-FRAME - 8, "below its beginning");
	overflow(-FRAME - 32, "below its beginning");
	overflow(0, "above its end");
	overflow(24, "above its end");
}

/* ---- who gets none ---- */

static void test_not_private(void **state)
{
	struct bpf_insn operand[] = {
		ST(BPF_DW, R10, -8, 3), STX(BPF_DW, R10, -16, R10),
		LDX(BPF_DW, R1, R10, -16), LDX(BPF_DW, R0, R1, -8), EXIT(),
	};
	struct bpf_insn recursive[] = {
		ST(BPF_DW, R10, -8, 3), CALL_REL(1), EXIT(),
		ST(BPF_DW, R10, -8, 3), CALL_REL(-2), EXIT(),
	};
	struct bpf_insn unused[] = { MOV_I(R0, 3), EXIT() };
	struct jprog p;

	jprog_make(&p, J_PRIVATE, operand, BPFU_ARRAY_SIZE(operand), 16);
	assert_null(p.jit.jit->private_stack.mem);
	assert_int_equal(jprog_run_jit(&p, NULL), 3);
	jprog_release(&p);

	jprog_init(&p, recursive, BPFU_ARRAY_SIZE(recursive), 8);
	jprog_sub(&p, 3, 8);
	assert_int_equal(jprog_compile(&p, J_PRIVATE), 0);
	assert_null(p.jit.jit->private_stack.mem);
	jprog_release(&p);

	jprog_make(&p, J_PRIVATE, unused, BPFU_ARRAY_SIZE(unused), 64);
	assert_null(p.jit.jit->private_stack.mem);
	jprog_release(&p);
}

/* Without per-CPU memory the program has the thread's stack, and somebody is told. */
static __attribute__((unused)) void test_no_memory(void **state)
{
	static void *pages[512], *blocks[512];
	struct rlimit old, none = { .rlim_cur = 4096 }; /* 0 is taken for no limit */
	unsigned page_cnt = 0, block_cnt = 0;
	struct jprog p;
	size_t size;

	make_checker(&p, J_PRIVATE);
	size = 128 + p.jit.jit->private_stack.stride; /* what it has per slot */
	jprog_release(&p);
	getrlimit(RLIMIT_DATA, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_DATA, &none);
	while (page_cnt < BPFU_ARRAY_SIZE(pages) && (pages[page_cnt] = bpfu_percpu_alloc(4096)))
		page_cnt++;
	while (block_cnt < BPFU_ARRAY_SIZE(blocks) && (blocks[block_cnt] = bpfu_percpu_alloc(size)))
		block_cnt++;
	if (block_cnt < BPFU_ARRAY_SIZE(blocks)) { /* an emulator may not obey the limit */
		lines = 0;
		bpfu_set_log_cb(keep_line, NULL);
		make_checker(&p, J_PRIVATE);
		bpfu_set_log_cb(NULL, NULL);
		assert_null(p.jit.jit->private_stack.mem);
		assert_int_equal(lines, 1);
		assert_non_null(strstr(last_line, "no per-CPU memory"));
		jprog_hook = hook_see;
		assert_int_equal(run(&p, 1, 0), 0);
		assert_true(is_on_thread_stack(seen[0]) && is_on_thread_stack(seen[1]));
		jprog_release(&p);
	}
	setrlimit(RLIMIT_DATA, &old);
	while (page_cnt)
		bpfu_percpu_free(pages[--page_cnt], 4096);
	while (block_cnt)
		bpfu_percpu_free(blocks[--block_cnt], size);
}

/* Frames of functions that never run at the same time share their place; chains do not. */
static void test_places(void **state)
{
	struct bpf_insn insns[] = {
		ST(BPF_DW, R10, -64, 0), CALL_REL(4), CALL_REL(6), MOV_I(R0, 0), EXIT(), EXIT(),
		/* 6: first */
		ST(BPF_DW, R10, -512, 0), MOV_I(R0, 0), EXIT(),
		/* 9: second */
		ST(BPF_DW, R10, -32, 0), CALL_REL(2), MOV_I(R0, 0), EXIT(),
		/* 13: of the second */
		ST(BPF_DW, R10, -200, 0), MOV_I(R0, 0), EXIT(),
	};
	struct jprog p;

	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 64);
	jprog_sub(&p, 6, 512);
	jprog_sub(&p, 9, 32);
	jprog_sub(&p, 13, 200);
	assert_int_equal(jprog_compile(&p, J_PRIVATE), 0);
	assert_int_equal(p.jit.jit->private_stack.size, 64 + 512);
	assert_int_equal(p.jit.jit->private_stack.segments, 1);
	assert_int_equal(run_ctx(&p, NULL), 0);
	jprog_release(&p);
}

/* An address that nobody reads makes no callback. */
static void test_dead_callback(void **state)
{
	struct bpf_insn insns[] = {
		LD64_LO(R2, BPF_PSEUDO_FUNC, 5), LD64_HI(0), /* -> 6 */
		MOV_I(R1, 0), MOV_I(R2, 0),
		CALL_REL(1), EXIT(),
		ST(BPF_DW, R10, -64, 5), LDX(BPF_DW, R0, R10, -64), EXIT(),
	};

	for (int live = 0; live < 2; live++) {
		struct jprog p;

		if (live)
			insns[2] = STX(BPF_DW, R10, -8, R2);
		jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 8);
		jprog_sub(&p, 6, 64);
		assert_int_equal(jprog_compile(&p, J_PRIVATE), 0);
		assert_int_equal(p.jit.jit->private_stack.segments, 1 + live);
		assert_int_equal(run_ctx(&p, NULL), 5);
		jprog_release(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_nested_runs),
		cmocka_unit_test(test_callback_in_callback),
		cmocka_unit_test(test_callback_only),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_overflow_is_noticed),
		cmocka_unit_test(test_not_private),
#if !defined(__SANITIZE_ADDRESS__) && !defined(BPFU_TSAN) /* they need memory themselves */
		cmocka_unit_test(test_no_memory),
#endif
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_dead_callback),
	};

	if (!bpfu_jit_available()) {
		printf("1..0 # SKIP no JIT here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
