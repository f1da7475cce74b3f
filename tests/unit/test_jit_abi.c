// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compiled programs as their surroundings see them: registers that a callee must keep, alignment of
 * the stack where helpers are called, frames, BPF-to-BPF calls, callbacks, tail calls.
 */
#include "test_jit_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "jit/backend.h"
#include "jit/jit.h"
#include "map/map.h"
#include "percpu/cpu.h"
#include "percpu/percpu_alloc.h"

/*
 * uint64_t abi_call(fn, ctx, fill, after): set the registers that a callee keeps to fill[], call
 * fn(ctx), and store what they hold then, and the stack pointer's movement, to after[].
 */
uint64_t abi_call(uint64_t (*fn)(void *, const struct bpfu_prog *), void *ctx, const uint64_t *fill,
		  uint64_t *after);

#if defined(__x86_64__)
#define KEPT 6
__asm__(".text\n"
	".globl abi_call\n"
	".type abi_call, @function\n"
	"abi_call:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	push %rcx\n" /* aligned again */
	"	mov %rdi, %rax\n	mov %rsi, %rdi\n"
	"	mov 0(%rdx), %rbx\n	mov 8(%rdx), %rbp\n	mov 16(%rdx), %r12\n"
	"	mov 24(%rdx), %r13\n	mov 32(%rdx), %r14\n	mov 40(%rdx), %r15\n"
	"	call *%rax\n"
	"	mov (%rsp), %rcx\n" /* wrong if rsp moved: the check below fails or this faults */
	"	mov %rbx, 0(%rcx)\n	mov %rbp, 8(%rcx)\n	mov %r12, 16(%rcx)\n"
	"	mov %r13, 24(%rcx)\n	mov %r14, 32(%rcx)\n	mov %r15, 40(%rcx)\n"
	"	pop %rcx\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size abi_call, .-abi_call\n");
#elif defined(__aarch64__)
#define KEPT 10
__asm__(".text\n"
	".globl abi_call\n"
	".type abi_call, %function\n"
	"abi_call:\n"
	"	stp x29, x30, [sp, #-112]!\n	mov x29, sp\n"
	"	stp x19, x20, [sp, #16]\n	stp x21, x22, [sp, #32]\n"
	"	stp x23, x24, [sp, #48]\n	stp x25, x26, [sp, #64]\n"
	"	stp x27, x28, [sp, #80]\n	str x3, [sp, #96]\n"
	"	mov x9, x0\n	mov x0, x1\n"
	"	ldp x19, x20, [x2]\n	ldp x21, x22, [x2, #16]\n	ldp x23, x24, [x2, #32]\n"
	"	ldp x25, x26, [x2, #48]\n	ldp x27, x28, [x2, #64]\n"
	"	blr x9\n"
	"	ldr x3, [sp, #96]\n"
	"	stp x19, x20, [x3]\n	stp x21, x22, [x3, #16]\n	stp x23, x24, [x3, #32]\n"
	"	stp x25, x26, [x3, #48]\n	stp x27, x28, [x3, #64]\n"
	"	ldp x19, x20, [sp, #16]\n	ldp x21, x22, [sp, #32]\n"
	"	ldp x23, x24, [sp, #48]\n	ldp x25, x26, [sp, #64]\n"
	"	ldp x27, x28, [sp, #80]\n	ldp x29, x30, [sp], #112\n"
	"	ret\n"
	".size abi_call, .-abi_call\n");
#else
#define KEPT 1
uint64_t abi_call(uint64_t (*fn)(void *, const struct bpfu_prog *), void *ctx, const uint64_t *fill,
		  uint64_t *after)
{
	after[0] = fill[0];
	return fn(ctx, NULL);
}
#endif

static uint64_t checked_call(const struct jprog *p, void *ctx)
{
	uint64_t fill[KEPT], after[KEPT], ret;

	for (int i = 0; i < KEPT; i++)
		fill[i] = 0xabcd000000000001ull * (unsigned)(i + 3);
	ret = abi_call(p->jit.func, ctx, fill, after);
	for (int i = 0; i < KEPT; i++)
		if (after[i] != fill[i])
			fail_msg("register %d of those a callee keeps was lost", i);
	return ret;
}

/*
 * Programs that use every subset of r6 to r9, with frames of several sizes, with and without a call:
 * registers are kept, and the helper finds the stack aligned.
 */
static void saved_registers(enum jvariant variant)
{
	static const uint32_t stacks[] = { 0, 8, 16, 24, 120, 128, 136, 512 };

	for (unsigned set = 0; set < 16; set++)
		for (unsigned f = 0; f < BPFU_ARRAY_SIZE(stacks); f++)
			for (int call = 0; call < 3; call++) {
				struct bpf_insn insns[40];
				uint32_t n = 0, sum = 0;
				struct jprog p;

				for (int r = 6; r <= 9; r++)
					if (set >> (r - 6) & 1)
						insns[n++] = MOV_I(r, r);
				for (int16_t off = 8; off <= (int16_t)stacks[f]; off += 104) {
					insns[n++] = ST(BPF_DW, R10, -off, 100);
					sum += 100;
				}
				insns[n++] = MOV_I(R0, 0);
				insns[n++] = MOV_I(R1, 1000);
				if (call) {
					insns[n++] = CALL(call == 1 ? HELPER_ALIGNED : HELPER_SMASH);
					sum += call == 1 ? 1 : 1000;
				}
				for (int r = 6; r <= 9; r++)
					if (set >> (r - 6) & 1) {
						insns[n++] = ALU64_R(BPF_ADD, R0, r);
						sum += (uint32_t)r;
					}
				for (int16_t off = 8; off <= (int16_t)stacks[f]; off += 104) {
					insns[n++] = LDX(BPF_DW, R1, R10, -off);
					insns[n++] = ALU64_R(BPF_ADD, R0, R1);
				}
				insns[n++] = EXIT();
				jprog_make(&p, variant, insns, n, stacks[f]);
				assert_int_equal(checked_call(&p, NULL), sum);
				jprog_release(&p);
			}
}

static void test_saved_registers(void **state)
{
	saved_registers(J_HOST);
	saved_registers(J_PRIVATE);
}

static void test_helper_arguments(void **state)
{
	struct bpf_insn insns[] = {
		MOV_I(R1, 1), MOV_I(R2, 20), MOV_I(R3, 300), MOV_I(R4, 4000), MOV_I(R5, 50000),
		CALL(HELPER_MIX), EXIT(),
	};

	for (int v = 0; v < J_VARIANTS; v++) {
		struct jprog p;

		jprog_make(&p, (enum jvariant)v, insns, BPFU_ARRAY_SIZE(insns), 0);
		assert_int_equal(checked_call(&p, NULL), helper_mix(1, 20, 300, 4000, 50000));
		jprog_release(&p);
	}
}

/* ---- BPF-to-BPF calls ---- */

/* Function k calls function k + 1 with r1 + 1, adds its own registers and a stack slot. */
static void nested_calls(enum jvariant variant)
{
	struct bpf_insn insns[BPFU_MAX_CALL_FRAMES * 16];
	uint32_t starts[BPFU_MAX_CALL_FRAMES], calls[BPFU_MAX_CALL_FRAMES], n = 0;
	struct jprog p;

	for (uint32_t k = 0; k < BPFU_MAX_CALL_FRAMES; k++) {
		starts[k] = n;
		insns[n++] = k ? MOV_R(R6, R1) : MOV_I(R6, 1);
		insns[n++] = MOV_I(R9, (int32_t)k * 1000);
		insns[n++] = STX(BPF_DW, R10, -8, R6);
		insns[n++] = ST(BPF_DW, R10, (int16_t)(-16 - 8 * (int)k), 7);
		calls[k] = n;
		if (k + 1 < BPFU_MAX_CALL_FRAMES) {
			insns[n++] = MOV_R(R1, R6);
			insns[n++] = ALU64_I(BPF_ADD, R1, 1);
			calls[k] = n;
			insns[n++] = CALL_REL(0);
		} else {
			insns[n++] = CALL(HELPER_ALIGNED);
		}
		insns[n++] = LDX(BPF_DW, R1, R10, -8);
		insns[n++] = ALU64_R(BPF_ADD, R0, R1);
		insns[n++] = ALU64_R(BPF_ADD, R0, R6);
		insns[n++] = ALU64_R(BPF_ADD, R0, R9);
		insns[n++] = EXIT();
	}
	for (uint32_t k = 0; k + 1 < BPFU_MAX_CALL_FRAMES; k++)
		insns[calls[k]].imm = (int32_t)(starts[k + 1] - calls[k] - 1);
	jprog_init(&p, insns, n, 16);
	for (uint32_t k = 1; k < BPFU_MAX_CALL_FRAMES; k++)
		jprog_sub(&p, starts[k], 16 + 8 * k);
	assert_int_equal(jprog_compile(&p, variant), 0);
	/* 2 * (1 + … + 8) + 1000 * (0 + … + 7) + aligned */
	assert_int_equal(checked_call(&p, NULL), 2 * 36 + 28000 + 1);
	assert_int_equal(jprog_run_interp(&p, NULL), 2 * 36 + 28000 + 1);
	for (uint32_t k = 0; k < BPFU_MAX_CALL_FRAMES; k++) {
		assert_int_equal(p.jit.jit->subprog_off[k] % 16, 0);
		assert_in_range(p.jit.jit->insn_off[starts[k]], p.jit.jit->subprog_off[k],
				p.jit.jit->subprog_off[k] + p.jit.jit->subprog_len[k] - 1);
	}
	jprog_release(&p);
}

static void test_nested_calls(void **state)
{
	nested_calls(J_HOST);
	nested_calls(J_PRIVATE);
}

/* A callee without calls keeps r6 to r9 elsewhere; its caller must not notice. */
static void test_leaf_callee(void **state)
{
	struct bpf_insn insns[] = {
		MOV_I(R6, 6), MOV_I(R7, 7), MOV_I(R8, 8), MOV_I(R9, 9), MOV_I(R1, 5),
		CALL_REL(5),
		ALU64_R(BPF_ADD, R0, R6), ALU64_R(BPF_ADD, R0, R7), ALU64_R(BPF_ADD, R0, R8),
		ALU64_R(BPF_ADD, R0, R9),
		EXIT(),
		/* r1 * 1111, through r6 to r9 */
		MOV_R(R6, R1), MOV_R(R7, R6), ALU64_I(BPF_MUL, R7, 10),
		MOV_R(R8, R7), ALU64_I(BPF_MUL, R8, 10), MOV_R(R9, R8), ALU64_I(BPF_MUL, R9, 10),
		MOV_R(R0, R6), ALU64_R(BPF_ADD, R0, R7), ALU64_R(BPF_ADD, R0, R8),
		ALU64_R(BPF_ADD, R0, R9),
		EXIT(),
	};
	struct jprog p;

	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 0);
	jprog_sub(&p, 11, 0);
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	assert_int_equal(checked_call(&p, NULL), 5555 + 30);
	jprog_release(&p);
}

/* ---- callbacks ---- */

static void callback(enum jvariant variant)
{
	struct bpf_insn insns[] = {
		MOV_I(R6, 1234),
		ST(BPF_DW, R10, -8, 0),
		MOV_I(R1, 10),
		LD64_LO(R2, BPF_PSEUDO_FUNC, 8), LD64_HI(0), /* -> 12 */
		MOV_R(R3, R10),
		ALU64_I(BPF_ADD, R3, -8),
		CALL(HELPER_LOOP),
		LDX(BPF_DW, R1, R10, -8),
		ALU64_R(BPF_ADD, R0, R1),
		ALU64_R(BPF_ADD, R0, R6),
		EXIT(),
		/* 12: callback(i, sum): *sum += i; stop after 7 */
		LDX(BPF_DW, R3, R2, 0),
		ALU64_R(BPF_ADD, R3, R1),
		STX(BPF_DW, R2, 0, R3),
		MOV_I(R0, 0),
		JMP_I(BPF_JNE, R1, 7, 1),
		MOV_I(R0, 1),
		EXIT(),
	};
	struct jprog p;

	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 8);
	jprog_sub(&p, 12, 0);
	assert_int_equal(jprog_compile(&p, variant), 0);
	assert_int_equal(checked_call(&p, NULL), 8 + 28 + 1234);
	assert_int_equal(jprog_run_interp(&p, NULL), 8 + 28 + 1234);
	jprog_release(&p);
}

static void test_callback(void **state)
{
	callback(J_HOST);
	callback(J_PRIVATE);
}

/* ---- tail calls ---- */

static struct bpfu_prog_array *prog_array_new(uint32_t cnt)
{
	struct bpfu_prog_array *array = calloc(1, sizeof(*array) + cnt * sizeof(array->ptrs[0]));

	assert_non_null(array);
	array->map.max_entries = cnt;
	return array;
}

static void set_entry(struct bpfu_prog_array *array, uint32_t i, struct bpfu_prog *prog)
{
	atomic_store(&array->ptrs[i], prog);
}

/* Count in *ctx, tail call to @index, return @ret if that fails. @use: r6 to r9 and stack as well. */
static void make_tail(struct jprog *p, const struct bpfu_prog_array *array, int32_t index,
		      int32_t ret, bool use)
{
	struct bpf_insn insns[32];
	uint32_t n = 0;

	insns[n++] = LDX(BPF_DW, R0, R1, 0);
	insns[n++] = ALU64_I(BPF_ADD, R0, 1);
	insns[n++] = STX(BPF_DW, R1, 0, R0);
	if (use) {
		for (int r = 6; r <= 9; r++)
			insns[n++] = MOV_I(r, -1);
		insns[n++] = ST(BPF_DW, R10, -256, 0);
	}
	insns[n++] = LD64_LO(R2, BPF_PSEUDO_MAP_FD, bpfu_u64(array));
	insns[n++] = LD64_HI(bpfu_u64(array));
	insns[n++] = MOV_I(R3, index);
	insns[n++] = TAIL_CALL();
	insns[n++] = MOV_I(R0, ret);
	insns[n++] = EXIT();
	jprog_make(p, J_HOST, insns, n, use ? 256 : 0);
}

static void test_tail_call_limit(void **state)
{
	struct bpfu_prog_array *array = prog_array_new(2);
	struct jprog a, b;
	uint64_t count = 0;

	/* Two programs of different frames that call each other for ever. */
	make_tail(&a, array, 1, 11, false);
	make_tail(&b, array, 0, 22, true);
	set_entry(array, 0, &a.jit);
	set_entry(array, 1, &b.jit);
	assert_int_equal(checked_call(&a, &count), 22);
	assert_int_equal(count, 1 + BPFU_MAX_TAIL_CALLS);
	count = 0;
	assert_int_equal(checked_call(&b, &count), 11);
	assert_int_equal(count, 1 + BPFU_MAX_TAIL_CALLS);
	jprog_release(&a);
	jprog_release(&b);
	free(array);
}

static void test_tail_call_fails(void **state)
{
	struct bpfu_prog_array *array = prog_array_new(2);
	struct bpfu_prog not_compiled = { .tail_entry = NULL };
	static const int32_t indexes[] = { 0, 1, 2, 1000, -1, INT32_MIN };

	set_entry(array, 1, &not_compiled);
	for (unsigned i = 0; i < BPFU_ARRAY_SIZE(indexes); i++) {
		uint64_t count = 0;
		struct jprog p;

		make_tail(&p, array, indexes[i], 5, i & 1);
		assert_int_equal(checked_call(&p, &count), 5);
		assert_int_equal(count, 1);
		jprog_release(&p);
	}
	free(array);
}

/* The index is 32 bits wide; what is above does not count. */
static void test_tail_call_index(void **state)
{
	struct bpfu_prog_array *array = prog_array_new(1);
	struct bpf_insn insns[] = {
		LD64_LO(R2, BPF_PSEUDO_MAP_FD, bpfu_u64(array)), LD64_HI(bpfu_u64(array)),
		LD64(R3, 7ull << 32),
		TAIL_CALL(),
		MOV_I(R0, 1),
		EXIT(),
	};
	struct bpf_insn target[] = { LDX(BPF_DW, R0, R1, 0), EXIT() };
	uint64_t value = 4711;
	struct jprog p, t;

	jprog_make(&t, J_HOST, target, BPFU_ARRAY_SIZE(target), 0);
	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
	set_entry(array, 0, &t.jit);
	assert_int_equal(checked_call(&p, &value), 4711);
	jprog_release(&p);
	jprog_release(&t);
	free(array);
}

/*
 * The count belongs to the run: main calls a function that makes a tail call to main, and so on.
 * Each run of main counts in *ctx and calls the function twice; with the limit shared, main runs
 * 1 + 33 times in all. The interpreter counts in the same way.
 */
static void test_tail_call_in_function(void **state)
{
	struct bpfu_prog_array *jits = prog_array_new(1), *interps = prog_array_new(1);
	struct jprog p[2];
	uint64_t counts[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		struct bpfu_prog_array *array = i ? interps : jits;
		struct bpf_insn insns[] = {
			MOV_R(R6, R1),
			LDX(BPF_DW, R0, R1, 0),
			ALU64_I(BPF_ADD, R0, 1),
			STX(BPF_DW, R1, 0, R0),
			CALL_REL(4),       /* -> 9 */
			MOV_R(R1, R6),
			CALL_REL(2),       /* -> 9 */
			MOV_I(R0, 3),
			EXIT(),
			/* 9 */
			LD64_LO(R2, BPF_PSEUDO_MAP_FD, bpfu_u64(array)), LD64_HI(bpfu_u64(array)),
			MOV_I(R3, 0),
			TAIL_CALL(),
			MOV_I(R0, 4),
			EXIT(),
		};

		jprog_init(&p[i], insns, BPFU_ARRAY_SIZE(insns), 0);
		jprog_sub(&p[i], 9, 0);
		assert_int_equal(jprog_compile(&p[i], J_HOST), 0);
	}
	set_entry(jits, 0, &p[0].jit);
	set_entry(interps, 0, &p[1].interp);
	assert_int_equal(checked_call(&p[0], &counts[0]), 3);
	assert_int_equal(jprog_run_interp(&p[1], &counts[1]), 3);
	assert_int_equal(counts[0], 1 + BPFU_MAX_TAIL_CALLS);
	assert_int_equal(counts[1], counts[0]);
	jprog_release(&p[0]);
	jprog_release(&p[1]);
	free(jits);
	free(interps);
}

/* A callback that makes tail calls has no counter of its caller's to look at. */
static void test_tail_call_in_callback(void **state)
{
	struct bpfu_prog_array *array = prog_array_new(1);
	struct bpf_insn target[] = { MOV_I(R0, 50), EXIT() };
	struct bpf_insn insns[] = {
		LD64_LO(R1, BPF_PSEUDO_FUNC, 4), LD64_HI(0), /* -> 5 */
		MOV_I(R2, 0),
		CALL(HELPER_CALLBACK),
		EXIT(),
		/* 5 */
		LD64_LO(R2, BPF_PSEUDO_MAP_FD, bpfu_u64(array)), LD64_HI(bpfu_u64(array)),
		MOV_I(R3, 0),
		TAIL_CALL(),
		MOV_I(R0, 4),
		EXIT(),
	};
	struct jprog p, t;

	jprog_make(&t, J_HOST, target, BPFU_ARRAY_SIZE(target), 0);
	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 0);
	jprog_sub(&p, 5, 0);
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	assert_int_equal(checked_call(&p, NULL), 4);
	set_entry(array, 0, &t.jit);
	assert_int_equal(checked_call(&p, NULL), 50);
	jprog_release(&p);
	jprog_release(&t);
	free(array);
}

/* ---- thread pointer, faults ---- */

static void test_percpu_mov(void **state)
{
	for (unsigned d = 0; d < 10; d++)
		for (unsigned s = 0; s < 10; s++) {
			struct bpf_insn insns[] = {
				MOV_R(s, R1),
				BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, BPFU_OFF_PERCPU, 0),
				MOV_R(R0, d),
				EXIT(),
			};
			struct jprog p;
			void *ptr = bpfu_percpu_alloc(8);

			assert_non_null(ptr);
			jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
			assert_int_equal(bpfu_cpu_enter_on(bpfu_possible_cpus() - 1), 0);
			assert_ptr_equal(bpfu_ptr(p.jit.func(ptr, NULL)), bpfu_percpu_this(ptr));
			bpfu_cpu_exit();
			jprog_release(&p);
			bpfu_percpu_free(ptr, 8);
		}
}

static void test_probe_fault(void **state)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	static const uint64_t bad[] = { 0, 8, 0xdead000000000000, UINT64_MAX, 1ull << 47 };

	for (unsigned z = 0; z < 4; z++)
		for (int sx = 0; sx < 2; sx++)
			for (unsigned d = 0; d < 10; d++) {
				uint8_t mode = sx ? BPFU_PROBE_MEMSX : BPFU_PROBE_MEM;
				struct bpf_insn insns[] = {
					MOV_R(R9, R1),
					MOV_I(d, -1),
					BPFU_INSN(BPF_LDX | mode | sizes[z], d, R9, 0, 0),
					MOV_R(R0, d),
					BPFU_INSN(BPF_LDX | mode | sizes[z], d, d, 4, 0),
					ALU64_I(BPF_ADD, R0, 1),
					EXIT(),
				};
				struct jprog p;

				if ((sx && sizes[z] == BPF_DW) || d == 0 || d == 9)
					continue;
				jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
				assert_int_equal(p.jit.jit->extable_cnt, 2);
				for (unsigned i = 0; i < BPFU_ARRAY_SIZE(bad); i++)
					assert_int_equal(checked_call(&p, bpfu_ptr(bad[i])), 1);
				jprog_release(&p);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_registers),
		cmocka_unit_test(test_helper_arguments),
		cmocka_unit_test(test_nested_calls),
		cmocka_unit_test(test_leaf_callee),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_tail_call_limit),
		cmocka_unit_test(test_tail_call_fails),
		cmocka_unit_test(test_tail_call_index),
		cmocka_unit_test(test_tail_call_in_function),
		cmocka_unit_test(test_tail_call_in_callback),
		cmocka_unit_test(test_percpu_mov),
		cmocka_unit_test(test_probe_fault),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
