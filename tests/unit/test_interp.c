// SPDX-License-Identifier: BSD-2-Clause
/*
 * What conformance cases cannot say, because it takes several programs, internal instructions or
 * threads: tail calls and their limit, callbacks from C, the per-CPU move, probing loads, atomics
 * under contention. Every test runs on the interpreter and, where there is one, on the JIT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <pthread.h>

#include "insn/insn.h"
#include "insn/opcode.h"
#include "jit/jit.h"
#include "map/map.h"
#include "percpu/percpu_alloc.h"
#include "util/uaccess.h"
#include "../insn/asm.h"
#include "../insn/prog.h"

#define MAX_INSNS 128

static enum backend backend;

static struct bpfu_prog *new_prog(const struct bpf_insn *insns, uint32_t cnt)
{
	struct bpfu_prog *prog;

	assert_int_equal(test_prog_new(insns, cnt, backend, &prog), 0);
	return prog;
}

/* A program from text. @addr replaces the immediate of every load that is written "ADDR ll". */
static struct bpfu_prog *prog_of(const char *text, const void *addr)
{
	struct bpf_insn insns[MAX_INSNS];
	char err[200];
	int cnt = asm_parse(text, insns, MAX_INSNS, err, sizeof(err));

	if (cnt < 0)
		fail_msg("%s", err);
	for (int i = 0; i < cnt; i++)
		if (bpfu_insn_is_ld_imm64(&insns[i]) &&
		    bpfu_insn_imm64(&insns[i]) == 0xadd7add7add7add7)
			bpfu_insn_set_imm64(&insns[i], (uintptr_t)addr);
	return new_prog(insns, cnt);
}

#define ADDR "0xadd7add7add7add7 ll\n"
#define TAIL_CALL ".insn 0xf5 0 0 0 0\n"

/* ---- tail calls ---- */

static struct bpfu_prog_array *new_array(uint32_t entries)
{
	struct bpfu_prog_array *array = calloc(1, sizeof(*array) + entries * sizeof(void *));

	assert_non_null(array);
	array->map.max_entries = entries;
	return array;
}

static void test_tail_call(void **state)
{
	struct bpfu_prog_array *array = new_array(2);
	struct bpfu_prog *target = prog_of("r0 = *(u64 *)(r1 +0)\n"
					   "r0 += 100\n"
					   "exit\n", NULL);
	struct bpfu_prog *caller = prog_of("r6 = r1\n"
					   "r3 = *(u64 *)(r6 +8)\n"
					   "r2 = " ADDR
					   TAIL_CALL
					   "r0 = 1\n"
					   "exit\n", array);
	uint64_t ctx[2] = { 7, 1 };

	array->ptrs[1] = target;
	assert_int_equal(bpfu_prog_run(caller, ctx), 107);
	ctx[1] = 0; /* an empty slot */
	assert_int_equal(bpfu_prog_run(caller, ctx), 1);
	ctx[1] = 2; /* the first index that is not there */
	assert_int_equal(bpfu_prog_run(caller, ctx), 1);
	ctx[1] = UINT32_MAX;
	assert_int_equal(bpfu_prog_run(caller, ctx), 1);
	ctx[1] = 0xffffffff00000001; /* the index is 32 bits wide */
	assert_int_equal(bpfu_prog_run(caller, ctx), 107);
	array->ptrs[1] = NULL;
	ctx[1] = 1;
	assert_int_equal(bpfu_prog_run(caller, ctx), 1);
	test_prog_free(caller);
	test_prog_free(target);
	free(array);
}

/* A program that counts its runs in the context and tail-calls itself: 1 + 33 runs. */
static void test_tail_call_limit(void **state)
{
	struct bpfu_prog_array *array = new_array(1);
	struct bpfu_prog *prog = prog_of("r0 = *(u64 *)(r1 +0)\n"
					 "r0 += 1\n"
					 "*(u64 *)(r1 +0) = r0\n"
					 "r2 = " ADDR
					 "r3 = 0\n"
					 TAIL_CALL
					 "r0 = 77\n"
					 "exit\n", array);
	uint64_t count = 0;

	array->ptrs[0] = prog;
	assert_int_equal(bpfu_prog_run(prog, &count), 77);
	assert_int_equal(count, 1 + BPFU_MAX_TAIL_CALLS);
	/* The count is of one run. */
	assert_int_equal(bpfu_prog_run(prog, &count), 77);
	assert_int_equal(count, 2 * (1 + BPFU_MAX_TAIL_CALLS));
	test_prog_free(prog);
	free(array);
}

/* Calls that find no program do not count. */
static void test_tail_call_misses_are_free(void **state)
{
	struct bpfu_prog_array *array = new_array(2);
	struct bpfu_prog *target = prog_of("r0 = 5\nexit\n", NULL);
	struct bpfu_prog *prog = prog_of("r6 = r1\n"
					 "r7 = 40\n"
					 "again: r1 = r6\n"
					 "r2 = " ADDR
					 "r3 = 0\n"
					 TAIL_CALL
					 "r7 += -1\n"
					 "if r7 != 0 goto again\n"
					 "r1 = r6\n"
					 "r2 = " ADDR
					 "r3 = 1\n"
					 TAIL_CALL
					 "r0 = 1\n"
					 "exit\n", array);

	array->ptrs[1] = target;
	assert_int_equal(bpfu_prog_run(prog, NULL), 5);
	test_prog_free(prog);
	test_prog_free(target);
	free(array);
}

/* A tail call in a subprogram replaces that subprogram only. */
static void test_tail_call_in_subprogram(void **state)
{
	struct bpfu_prog_array *array = new_array(1);
	struct bpfu_prog *target = prog_of("r6 = 9\n"
					   "*(u64 *)(r10 -8) = 9\n"
					   "r0 = 5\n"
					   "exit\n", NULL);
	struct bpfu_prog *prog = prog_of("r6 = 1000\n"
					 "*(u64 *)(r10 -8) = 200\n"
					 "call sub\n"
					 "r1 = *(u64 *)(r10 -8)\n"
					 "r0 += r1\n"
					 "r0 += r6\n"
					 "exit\n"
					 "sub: r6 = 3\n"
					 "*(u64 *)(r10 -8) = 4\n"
					 "r2 = " ADDR
					 "r3 = 0\n"
					 TAIL_CALL
					 "r0 = 1\n"
					 "exit\n", array);

	array->ptrs[0] = target;
	assert_int_equal(bpfu_prog_run(prog, NULL), 1205);
	array->ptrs[0] = NULL;
	assert_int_equal(bpfu_prog_run(prog, NULL), 1201);
	test_prog_free(prog);
	test_prog_free(target);
	free(array);
}

/*
 * The count is of the run, not of the frame: a program that calls two subprograms which both tail-call
 * it again would otherwise run 2^34 times.
 */
static void test_tail_call_count_is_shared(void **state)
{
	struct bpfu_prog_array *array = new_array(1);
	struct bpfu_prog *prog = prog_of("r0 = *(u64 *)(r1 +0)\n"
					 "r0 += 1\n"
					 "*(u64 *)(r1 +0) = r0\n"
					 "r6 = r1\n"
					 "call sub\n"
					 "r1 = r6\n"
					 "call sub\n"
					 "r0 = 3\n"
					 "exit\n"
					 "sub: r2 = " ADDR
					 "r3 = 0\n"
					 TAIL_CALL
					 "r0 = 4\n"
					 "exit\n", array);
	uint64_t count = 0;

	array->ptrs[0] = prog;
	assert_int_equal(bpfu_prog_run(prog, &count), 3);
	assert_int_equal(count, 1 + BPFU_MAX_TAIL_CALLS);
	test_prog_free(prog);
	free(array);
}

/* ---- callbacks ---- */

static uint64_t callback_value;

static uint64_t call_it_later(uint64_t value)
{
	return bpfu_callback_call(value, 1, 20, 300, 4000, 50000);
}

/* The program leaves the callback's value in memory; C calls it, during and after the run. */
static void test_callback_from_c(void **state)
{
	struct bpfu_prog *prog = prog_of("r2 = &sum\n"
					 "r1 = " ADDR
					 "*(u64 *)(r1 +0) = r2\n"
					 "r2 = &first\n"
					 "r0 = r2\n"
					 "exit\n"
					 "first: r0 = r1\n"
					 "exit\n"
					 "sum: r0 = r1\n"
					 "r0 += r2\n"
					 "r0 += r3\n"
					 "r0 += r4\n"
					 "r0 += r5\n"
					 "*(u64 *)(r10 -8) = r0\n"
					 "r1 = 3\n"
					 "call double\n"
					 "r1 = *(u64 *)(r10 -8)\n"
					 "r0 += r1\n"
					 "exit\n"
					 "double: r0 = r1\n"
					 "r0 += r1\n"
					 "exit\n", &callback_value);
	uint64_t first = bpfu_prog_run(prog, NULL);

	assert_int_equal(callback_value & 1, backend == BACKEND_INTERP);
	assert_int_equal(first & 1, backend == BACKEND_INTERP);
	assert_int_not_equal(first, callback_value);
	assert_int_equal(call_it_later(first), 1);
	assert_int_equal(call_it_later(callback_value), 54327);
	test_prog_free(prog);
}

/* ---- internal instructions ---- */

static void test_percpu_move(void **state)
{
	struct bpfu_prog *prog = prog_of("r1 = " ADDR
					 "r0 = &(void __percpu *)(r1)\n"
					 "r0 = *(u32 *)(r0 +0)\n"
					 "exit\n", bpfu_percpu_cpu_number());
	uint32_t cpus = 0;

	for (uint32_t cpu = 0; !bpfu_cpu_enter_on(cpu); cpu++) {
		assert_int_equal(prog->func(NULL, prog), cpu);
		bpfu_cpu_exit();
		cpus++;
	}
	assert_true(cpus > 0);
	test_prog_free(prog);
}

static uint64_t run_probe(uint8_t code, const void *addr, int16_t off)
{
	struct bpf_insn insns[] = {
		BPFU_INSN(BPFU_OP_LD_IMM64, 1, 0, 0, 0),
		BPFU_INSN(0, 0, 0, 0, 0),
		BPFU_INSN(BPFU_OP_MOV64_K, 0, 0, 0, -1),
		BPFU_INSN(code, 0, 1, off, 0),
		BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0),
	};
	struct bpfu_prog *prog;
	uint64_t ret;

	bpfu_insn_set_imm64(insns, (uintptr_t)addr);
	prog = new_prog(insns, 5);
	ret = bpfu_prog_run(prog, NULL);
	test_prog_free(prog);
	return ret;
}

static void test_probe(void **state)
{
	static const uint64_t memory[9] = { 0xf1e2d3c4b5a69788 };
	const uint64_t *good = memory;
	static const uint8_t codes[] = { BPFU_OP_PROBE_B,   BPFU_OP_PROBE_H,   BPFU_OP_PROBE_W,
					 BPFU_OP_PROBE_DW,  BPFU_OP_PROBESX_B, BPFU_OP_PROBESX_H,
					 BPFU_OP_PROBESX_W };
	static const uint64_t want[] = { 0x88,
					 0x9788,
					 0xb5a69788,
					 0xf1e2d3c4b5a69788,
					 0xffffffffffffff88,
					 0xffffffffffff9788,
					 0xffffffffb5a69788 };
	size_t page = 4096;
	char *hole = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* cmocka puts its own handler of SIGSEGV in front before each test. */
	bpfu_uaccess_init();
	assert_true(hole != MAP_FAILED);
	memset(hole, 0x11, page);
	assert_int_equal(mprotect(hole + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof(codes); i++) {
		assert_true(run_probe(codes[i], good, 0) == want[i]);
		assert_true(run_probe(codes[i], good + 8, -64) == want[i]);
		assert_int_equal(run_probe(codes[i], NULL, 0), 0);
		assert_int_equal(run_probe(codes[i], NULL, 16), 0);
		assert_int_equal(run_probe(codes[i], hole + page, 0), 0);
		/* not an address at all on this machine */
		assert_int_equal(run_probe(codes[i], (void *)0xdead000000000000, 8), 0);
	}
	/* half of it readable */
	assert_int_equal(run_probe(BPFU_OP_PROBE_DW, hole + page - 4, 0), 0);
	assert_true(run_probe(BPFU_OP_PROBE_W, hole + page - 4, 0) == 0x11111111);
	munmap(hole, 2 * page);
}

/* may_goto leaves the loop after 8 Mi rounds, counted per call of a function. */
static void test_may_goto_limit(void **state)
{
	struct bpfu_prog *prog = prog_of("r0 = 0\n"
					 "again: may_goto out\n"
					 "r0 += 1\n"
					 "goto again\n"
					 "out: exit\n", NULL);

	assert_int_equal(bpfu_prog_run(prog, NULL), 8 << 20);
	assert_int_equal(bpfu_prog_run(prog, NULL), 8 << 20);
	test_prog_free(prog);
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS 2000

static void *run_many(void *prog)
{
	for (int i = 0; i < ROUNDS; i++)
		bpfu_prog_run(prog, NULL);
	return NULL;
}

static void run_in_threads(struct bpfu_prog *prog)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_many, prog), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void test_atomics_are_atomic(void **state)
{
	static uint64_t shared[4];
	struct bpfu_prog *prog = prog_of("r6 = " ADDR
					 "r1 = 1\n"
					 "lock *(u64 *)(r6 +0) += r1\n"
					 "r1 = 1\n"
					 "r1 = atomic_fetch_add((u32 *)(r6 +8), r1)\n"
					 /* an increment by compare and exchange */
					 "again: r0 = *(u64 *)(r6 +16)\n"
					 "r2 = r0\n"
					 "r3 = r0\n"
					 "r3 += 1\n"
					 "r0 = atomic64_cmpxchg((u64 *)(r6 +16), r0, r3)\n"
					 "if r0 != r2 goto again\n"
					 /* twice flipped is not flipped */
					 "r1 = 0x5555\n"
					 "lock *(u64 *)(r6 +24) ^= r1\n"
					 "r1 = atomic64_fetch_xor((u64 *)(r6 +24), r1)\n"
					 "exit\n", shared);

	memset(shared, 0, sizeof(shared));
	run_in_threads(prog);
	assert_int_equal(shared[0], THREADS * ROUNDS);
	assert_int_equal(shared[1], THREADS * ROUNDS);
	assert_int_equal(shared[2], THREADS * ROUNDS);
	test_prog_free(prog);
}

/* Values shared without locks are not an error of the machine: plain accesses, watched by TSan. */
static void test_racing_stores(void **state)
{
	static uint64_t shared[2];
	struct bpfu_prog *prog = prog_of("r6 = " ADDR
					 "r1 = *(u64 *)(r6 +0)\n"
					 "r1 += 1\n"
					 "*(u64 *)(r6 +0) = r1\n"
					 "*(u32 *)(r6 +8) = 7\n"
					 "r0 = *(u8 *)(r6 +8)\n"
					 "exit\n", shared);

	memset(shared, 0, sizeof(shared));
	run_in_threads(prog);
	assert_true(shared[0] > 0 && shared[0] <= THREADS * ROUNDS);
	assert_int_equal(shared[1], 7);
	test_prog_free(prog);
}

static int need_jit(void **state)
{
	backend = BACKEND_JIT;
	return 0;
}

static int need_interp(void **state)
{
	backend = BACKEND_INTERP;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_tail_call_limit),
		cmocka_unit_test(test_tail_call_misses_are_free),
		cmocka_unit_test(test_tail_call_in_subprogram),
		cmocka_unit_test(test_tail_call_count_is_shared),
		cmocka_unit_test(test_callback_from_c),
		cmocka_unit_test(test_percpu_move),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_may_goto_limit),
		cmocka_unit_test(test_atomics_are_atomic),
		cmocka_unit_test(test_racing_stores),
	};
	int failed = cmocka_run_group_tests_name("interpreter", tests, need_interp, NULL);

	if (bpfu_jit_available())
		failed += cmocka_run_group_tests_name("jit", tests, need_jit, NULL);
	else
		print_message("skipped: no JIT for this machine\n");
	return failed;
}
