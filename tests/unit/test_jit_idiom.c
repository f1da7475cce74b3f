// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loops that copy, fill and add up (jit/idiom.h): every kind, size of access, condition and form of
 * counter, for each number of iterations and overlaps of all distances, against the interpreter. All
 * registers that the loop touches and all memory around must agree. And which loops are taken.
 */
#include "test_jit_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

#define BYTES 2048
#define MIDDLE 768
#define MAX_T 70 /* iterations; four vectors of the narrowest */

enum kind { COPY, FILL_REG, FILL_IMM, FILL_MASK, SUM, SUM32, KINDS };
enum form { OFFSETS, POINTERS, FORMS };

struct shape {
	enum kind kind;
	enum form form;
	unsigned log;       /* of the size */
	uint8_t op;         /* of the branch back, or with exits of the one out */
	bool exits, swapped, narrow;
	bool known_start, known_limit;
	int32_t limit;      /* if known */
	uint64_t start;     /* of the offset */
};

static const uint8_t codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

struct text {
	struct bpf_insn insns[64];
	uint32_t n;
};

static void put(struct text *t, struct bpf_insn insn)
{
	t->insns[t->n++] = insn;
}

static int32_t step_of(const struct shape *s)
{
	return s->form == OFFSETS ? 1 << s->log : 1;
}

/* r7 = base, plus the offset r6 */
static unsigned place(struct text *t, const struct shape *s, unsigned base)
{
	if (s->form == POINTERS)
		return base;
	put(t, MOV_R(R7, base));
	put(t, ALU64_R(BPF_ADD, R7, R6));
	return R7;
}

static void put_body(struct text *t, const struct shape *s)
{
	uint8_t size = codes[s->log];

	if (s->kind == COPY || s->kind == SUM || s->kind == SUM32) {
		unsigned from = place(t, s, R2);

		put(t, LDX(size, R8, from, 5));
	}
	if (s->kind == SUM || s->kind == SUM32) {
		put(t, s->kind == SUM ? ALU64_R(BPF_ADD, R0, R8) : ALU32_R(BPF_ADD, R0, R8));
		return;
	}
	if (s->kind == FILL_MASK) {
		put(t, MOV_R(R8, R6));
		put(t, ALU64_I(BPF_AND, R8, 1 << s->log));
	}
	place(t, s, R3);
	if (s->kind == FILL_IMM)
		put(t, ST(size, s->form == POINTERS ? R3 : R7, 3, -0x5a3c1234));
	else
		put(t, STX(size, s->form == POINTERS ? R3 : R7, 3, s->kind == FILL_REG ? R5 : R8));
}

static void put_back(struct text *t, const struct shape *s, uint32_t head)
{
	uint8_t class = s->narrow ? BPF_JMP32 : BPF_JMP;
	struct bpf_insn jmp = s->known_limit ?
				      BPFU_INSN(class | s->op | BPF_K, R6, 0, 0, s->limit) :
				      BPFU_INSN(class | s->op | BPF_X, s->swapped ? R4 : R6,
						s->swapped ? R6 : R4, 0, 0);

	put(t, ALU64_I(BPF_ADD, R6, step_of(s)));
	if (s->exits) {
		jmp.off = 1;
		put(t, jmp);
		put(t, JA((int16_t)((int)head - (int)t->n - 1)));
	} else {
		jmp.off = (int16_t)((int)head - (int)t->n - 1);
		put(t, jmp);
	}
}

/* ctx: source, destination, limit, value, start */
static void make(struct text *t, const struct shape *s)
{
	uint32_t head;

	t->n = 0;
	put(t, LDX(BPF_DW, R2, R1, 0));
	put(t, LDX(BPF_DW, R3, R1, 8));
	put(t, LDX(BPF_DW, R4, R1, 16));
	put(t, LDX(BPF_DW, R5, R1, 24));
	put(t, s->known_start ? MOV_I(R6, (int32_t)s->start) : LDX(BPF_DW, R6, R1, 32));
	put(t, MOV_R(R0, R5));
	put(t, MOV_I(R7, 1));
	put(t, MOV_I(R8, 2));
	put(t, MOV_I(R9, -7));
	head = t->n;
	put_body(t, s);
	put(t, ALU32_I(BPF_ADD, R9, 3));
	if (s->form == POINTERS) {
		put(t, ALU64_I(BPF_ADD, R2, 1 << s->log));
		put(t, ALU64_I(BPF_ADD, R3, 1 << s->log));
	}
	put_back(t, s, head);
	for (unsigned r = R2; r <= R9; r++) {
		put(t, ALU64_I(BPF_MUL, R0, 31));
		put(t, ALU64_R(BPF_ADD, R0, r));
	}
	put(t, EXIT());
}

static uint8_t memory[BYTES], before[BYTES], expected[BYTES];

static void compare(struct jprog *p, const struct shape *s, int distance, int64_t iterations,
		    uint64_t limit)
{
	uint64_t ctx[5] = { bpfu_u64(memory + MIDDLE), bpfu_u64(memory + MIDDLE + distance), limit,
			    0xfedcba9876543210, s->start };
	uint64_t a, b;

	memcpy(memory, before, BYTES);
	a = jprog_run_interp(p, ctx);
	memcpy(expected, memory, BYTES);
	memcpy(memory, before, BYTES);
	b = jprog_run_jit(p, ctx);
	if (a == b && !memcmp(memory, expected, BYTES))
		return;
	jprog_dump(p);
	fail_msg("%s: kind %d, form %d, size %u, %lld iterations, distance %d", a == b ? "memory" : "registers",
		 s->kind, s->form, 1u << s->log, (long long)iterations, distance);
}

static uint64_t limit_of(const struct shape *s, int64_t iterations)
{
	uint64_t limit = s->start + (uint64_t)(iterations * step_of(s));
	uint8_t op = s->op;

	if (op == BPF_JLE || op == BPF_JSLE || (s->exits && (op == BPF_JGT || op == BPF_JSGT)) ||
	    (s->swapped && !s->exits && (op == BPF_JGE || op == BPF_JSGE)) ||
	    (s->swapped && s->exits && (op == BPF_JLT || op == BPF_JSLT)))
		limit--;
	return limit;
}

static uint32_t code_size(const struct text *t, bool on, bool harden)
{
	struct jprog p;
	uint32_t size;

	jprog_init(&p, t->insns, t->n, 0);
	p.jit.options.loop_idioms = on;
	p.jit.options.harden = harden;
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	size = p.jit.jit->size;
	jprog_release(&p);
	return size;
}

static bool is_taken(const struct text *t)
{
	return code_size(t, true, false) > code_size(t, false, false);
}

static void run_shape(const struct shape *s, uint64_t *rng)
{
	static const int distances[] = { -33, -17, -16, -9, -8, -2, -1, 0, 1, 2, 4, 7, 8, 15, 16, 17, 24,
					 31, 32, 33, 600 };
	static struct text t;
	struct jprog p;

	make(&t, s);
	jprog_init(&p, t.insns, t.n, 0);
	assert_int_equal(jprog_compile(&p, rng_next(rng) & 1 ? J_PLAIN : J_HOST), 0);
	for (unsigned i = 0; i < 12; i++) {
		int64_t iterations = s->known_limit ? 0 : 1 + (int64_t)(rng_next(rng) % MAX_T);
		uint64_t limit = limit_of(s, iterations);

		/* "not equal" counts up to the limit only if that lies ahead; the others run once if not */
		if (s->op != BPF_JNE && s->op != BPF_JEQ && !(rng_next(rng) % 8))
			limit = 0;
		compare(&p, s, distances[rng_next(rng) % BPFU_ARRAY_SIZE(distances)], iterations, limit);
	}
	jprog_release(&p);
}

static const struct {
	uint8_t op;
	bool exits, swapped;
} conds[] = {
	{ BPF_JNE, false, false }, { BPF_JEQ, true, false },   { BPF_JNE, false, true },
	{ BPF_JLT, false, false }, { BPF_JGE, true, false },   { BPF_JGT, false, true },
	{ BPF_JLE, false, false }, { BPF_JGT, true, false },   { BPF_JGE, false, true },
	{ BPF_JLE, true, true },   { BPF_JLT, true, true },    { BPF_JSLT, false, false },
	{ BPF_JSGE, true, false }, { BPF_JSLE, false, false }, { BPF_JSGT, true, false },
	{ BPF_JSGT, false, true }, { BPF_JSLT, true, true },
};

static void run_kind(struct shape s, uint64_t *rng)
{
	for (size_t c = 0; c < BPFU_ARRAY_SIZE(conds); c++)
		for (int i = 0; i < 16; i++) {
			s.op = conds[c].op;
			s.exits = conds[c].exits;
			s.swapped = conds[c].swapped;
			s.narrow = i & 1;
			s.known_start = i & 2;
			s.known_limit = i & 4 && !s.swapped;
			s.start = rng_next(rng) % 3 * 8;
			s.limit = (int32_t)limit_of(&s, 1 + (int64_t)(rng_next(rng) % MAX_T));
			if (s.known_limit && s.start && (s.op == BPF_JNE || s.op == BPF_JEQ) && i & 8)
				s.start -= s.form == OFFSETS ? 1u << s.log : 1; /* still ahead */
			run_shape(&s, rng);
		}
}

static void test_loops(void **state)
{
	uint64_t rng = 0x10ad5;

	for (size_t i = 0; i < BYTES; i++)
		before[i] = (uint8_t)rng_next(&rng);
	for (int kind = 0; kind < KINDS; kind++)
		for (int form = 0; form < FORMS; form++)
			for (unsigned log = 0; log < 4; log++)
				run_kind((struct shape){ .kind = (enum kind)kind, .form = (enum form)form,
							 .log = log }, &rng);
}

/* All numbers of iterations and all overlaps. */
static void test_overlaps(void **state)
{
	static struct text t;
	struct jprog p;

	for (unsigned log = 0; log < 4; log++) {
		struct shape s = { .kind = COPY, .log = log, .op = BPF_JLT };

		make(&t, &s);
		jprog_make(&p, J_HOST, t.insns, t.n, 0);
		for (int iterations = 0; iterations <= MAX_T; iterations++)
			for (int distance = -40; distance <= 40; distance++)
				compare(&p, &s, distance, iterations, limit_of(&s, iterations));
		jprog_release(&p);
	}
}

/* Larger sums than one of 16 or 32 bits holds, and a sum that wraps. */
static void test_large_sums(void **state)
{
	static uint8_t ones[1 << 19];
	static struct text t;
	struct jprog p;

	memset(ones, 0xff, sizeof(ones));
	for (unsigned log = 0; log < 4; log++)
		for (int kind = SUM; kind <= SUM32; kind++) {
			struct shape s = { .kind = (enum kind)kind, .log = log, .op = BPF_JLT };
			uint64_t ctx[5] = { bpfu_u64(ones), 0, sizeof(ones) - 8, UINT64_MAX - 3, 0 };

			make(&t, &s);
			jprog_make(&p, J_HOST, t.insns, t.n, 0);
			assert_int_equal(jprog_run_jit(&p, ctx), jprog_run_interp(&p, ctx));
			jprog_release(&p);
		}
}

static void test_taken(void **state)
{
	static struct text t;

	for (int kind = 0; kind < KINDS; kind++)
		for (unsigned log = 0; log < 4; log++) {
			struct shape s = { .kind = (enum kind)kind, .log = log, .op = BPF_JLT };

			if (kind == FILL_MASK) /* what is stored has to be known */
				s.known_start = true;
			make(&t, &s);
			if (!(kind == FILL_MASK && log == 3))
				assert_true(is_taken(&t));
			/* blinded constants differ in length */
			assert_true(code_size(&t, true, true) < code_size(&t, false, true) + 24);
			s.known_limit = s.known_start = true;
			s.limit = 2 * 16;
			make(&t, &s);
			assert_false(is_taken(&t)); /* too short */
			s.limit = 1600;
			make(&t, &s);
			if (!(kind == FILL_MASK && log == 3))
				assert_true(is_taken(&t));
		}
}

/* What is not one of these loops: each differs from one that is in the instruction at @at. */
static void test_not_taken(void **state)
{
	static const struct bpf_insn copy[] = {
		LDX(BPF_DW, R2, R1, 0),
		LDX(BPF_DW, R3, R1, 8),
		MOV_I(R6, 0),
		MOV_I(R9, 0),
		LDX(BPF_B, R8, R2, 0), /* 4: the head */
		MOV_R(R8, R8),
		STX(BPF_B, R3, 0, R8),
		ALU64_I(BPF_ADD, R2, 1),
		ALU64_I(BPF_ADD, R3, 1),
		ALU64_I(BPF_ADD, R6, 1),
		JMP_I(BPF_JNE, R6, 100, -7),
		MOV_R(R0, R9),
		EXIT(),
	};
	static const struct {
		uint32_t at;
		struct bpf_insn insn;
	} changes[] = {
		{ 4, BPFU_INSN(BPF_LDX | BPFU_PROBE_MEM | BPF_B, R8, R2, 0, 0) },
		{ 4, BPFU_INSN(BPF_LDX | BPFU_PROBE_MEMSX | BPF_B, R8, R2, 0, 0) },
		{ 4, LDX(BPF_H, R8, R2, 0) },                       /* narrower than what is read */
		{ 5, ALU64_I(BPF_XOR, R8, 1) },                     /* changed */
		{ 5, CALL(HELPER_SMASH) },
		{ 5, JMP_I(BPF_JEQ, R8, 0, 1) },                    /* a branch inside */
		{ 5, STX(BPF_B, R3, 1000, R8) },                    /* two stores */
		{ 5, LDX(BPF_B, R8, R3, 0) },                       /* two loads */
		{ 5, ATOMIC(BPF_DW, R3, 0, R8, BPF_ADD) },
		{ 5, BPFU_INSN(BPF_ST | BPFU_NOSPEC, 0, 0, 0, 0) },
		{ 5, ALU64_R(BPF_ADD, R9, R6) },                    /* carried along */
		{ 6, BPFU_INSN(BPF_STX | BPF_ATOMIC | BPF_B, R3, R8, 0, BPF_STORE_REL) },
		{ 6, STX(BPF_H, R3, 0, R8) },
		{ 6, STX(BPF_B, R3, 0, R6) },                       /* something else */
		{ 7, ALU64_I(BPF_ADD, R2, 2) },                     /* a stride */
		{ 7, ALU64_I(BPF_SUB, R2, 1) },                     /* downwards */
		{ 8, ALU64_R(BPF_ADD, R3, R6) },
		{ 8, ALU32_I(BPF_ADD, R3, 1) },                     /* an address of 32 bits */
		{ 9, ALU64_I(BPF_ADD, R6, -1) },
		{ 9, ALU64_I(BPF_MUL, R6, 3) },
		{ 3, JA(0) },                                       /* not entered from above */
		{ 3, JMP_I(BPF_JEQ, R6, 1, 1) },                    /* entered in its middle */
		{ 10, JMP_I(BPF_JSET, R6, 64, -7) },
		{ 10, JMP_I(BPF_JEQ, R6, 100, -7) },
		{ 10, JMP_I(BPF_JGT, R6, 100, -7) },
		{ 10, JMP_R(BPF_JNE, R6, R8, -7) },                 /* the limit changes */
	};
	static struct text t;

	memcpy(t.insns, copy, sizeof(copy));
	t.n = BPFU_ARRAY_SIZE(copy);
	assert_true(is_taken(&t));
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(changes); i++) {
		memcpy(t.insns, copy, sizeof(copy));
		t.insns[changes[i].at] = changes[i].insn;
		if (is_taken(&t))
			fail_msg("taken, in spite of change %zu", i);
	}
}

/* A branch to the head from elsewhere goes past the wide loop, with counters of its own. */
static void test_entered_by_branch(void **state)
{
	static const struct bpf_insn insns[] = {
		LDX(BPF_DW, R2, R1, 0),
		LDX(BPF_DW, R3, R1, 8),
		MOV_I(R6, 40),
		LDX(BPF_DW, R7, R1, 16),
		JMP_I(BPF_JEQ, R7, 1, 1),
		MOV_I(R6, 0),
		MOV_R(R8, R2), /* the head */
		ALU64_R(BPF_ADD, R8, R6),
		LDX(BPF_W, R0, R8, 0),
		MOV_R(R8, R3),
		ALU64_R(BPF_ADD, R8, R6),
		STX(BPF_W, R8, 0, R0),
		ALU64_I(BPF_ADD, R6, 4),
		JMP_I(BPF_JNE, R6, 100, -8),
		ALU64_R(BPF_ADD, R0, R6),
		EXIT(),
	};
	struct shape s = { .kind = COPY, .log = 2 };
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
	for (uint64_t way = 0; way < 2; way++)
		compare(&p, &s, 300, 0, way);
	jprog_release(&p);
}

/* A sum and a counter that nobody reads have no registers: those may be others'. */
static void test_dead(void **state)
{
	static const struct bpf_insn insns[] = {
		LDX(BPF_DW, R2, R1, 0),
		LDX(BPF_DW, R5, R1, 24),
		MOV_I(R9, 0),
		MOV_I(R3, 5), /* the outer loop */
		MOV_I(R4, 6),
		MOV_I(R6, 0),
		MOV_R(R1, R2), /* the inner one */
		ALU64_R(BPF_ADD, R1, R6),
		LDX(BPF_W, R7, R1, 0),
		ALU32_R(BPF_ADD, R3, R7),
		ALU64_I(BPF_ADD, R4, 5),
		ALU64_I(BPF_ADD, R6, 4),
		JMP_I(BPF_JLT, R6, 200, -7),
		ALU64_I(BPF_ADD, R9, 1),
		JMP_I(BPF_JNE, R9, 3, -12),
		MOV_R(R0, R9),
		ALU64_R(BPF_ADD, R0, R5),
		ALU64_R(BPF_ADD, R0, R6),
		EXIT(),
	};
	struct shape s = { .kind = SUM32, .log = 2 };
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
	compare(&p, &s, 0, 50, 200);
	jprog_release(&p);
}

/* Counters that pass what an immediate operand can hold. */
static void test_large_counters(void **state)
{
	static const struct {
		int32_t start;
		uint64_t limit;
		bool narrow;
	} rows[] = {
		{ 0x7fffffc0, 0x80000040, false },	   { 0x7fffffc0, 0x80000040, true },
		{ -128, UINT64_MAX - 15, false },	   { -128, UINT64_MAX - 15, true },
		{ 0x7fffff00, 0x7fffff80, false },	   { -64, 64, false },
	};

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(rows); i++) {
		const struct bpf_insn insns[] = {
			LDX(BPF_DW, R2, R1, 0),
			LDX(BPF_DW, R3, R1, 8),
			MOV_I(R6, rows[i].start),
			LD64(R4, rows[i].limit), /* 3, 4: the head */
			LDX(BPF_B, R5, R2, 0),
			STX(BPF_B, R3, 0, R5),
			ALU64_I(BPF_ADD, R2, 1),
			ALU64_I(BPF_ADD, R3, 1),
			ALU64_I(BPF_ADD, R6, 1),
			BPFU_INSN((rows[i].narrow ? BPF_JMP32 : BPF_JMP) | BPF_JNE | BPF_X, R6, R4, -8, 0),
			MOV_R(R0, R6),
			EXIT(),
		};
		struct shape s = { .kind = COPY };
		struct jprog p;

		jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
		compare(&p, &s, 300, 0, 0);
		jprog_release(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),	  cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_large_sums), cmocka_unit_test(test_taken),
		cmocka_unit_test(test_not_taken), cmocka_unit_test(test_entered_by_branch),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_large_counters),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
