// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every instruction, compiled and interpreted, over edge operands and all pairs of registers. Each
 * program loads all registers from the input, runs one instruction and stores all registers, so
 * that a clobbered bystander shows too. A second form stores only the result, so that the compiler
 * may use what is dead.
 */
#include "test_jit_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"
#include "jit/backend.h"

/* The input and output of the programs: registers r0 to r9, then memory to play in. */
struct area {
	uint64_t in[10];
	uint64_t out[10];
	uint64_t mem[32];
};

#define OFF_IN(r) ((int16_t)(offsetof(struct area, in) + 8 * (r)))
#define OFF_OUT(r) ((int16_t)(offsetof(struct area, out) + 8 * (r)))
#define SAVED(r) ((int16_t)(-16 - 8 * (r)))
#define STACK 96

/*
 * The frame around the tested instructions. @store: which registers to store (bit mask). The
 * context pointer is kept at [r10 - 8].
 */
static void wrap(struct jprog *p, enum jvariant variant, const struct bpf_insn *body, uint32_t cnt,
		 unsigned store)
{
	struct bpf_insn insns[64 + 64];
	uint32_t n = 0;

	insns[n++] = STX(BPF_DW, R10, -8, R1);
	for (unsigned r = 0; r < 10; r++)
		if (r != 1)
			insns[n++] = LDX(BPF_DW, r, R1, OFF_IN(r));
	insns[n++] = LDX(BPF_DW, R1, R1, OFF_IN(1));
	memcpy(insns + n, body, cnt * sizeof(*body));
	n += cnt;
	for (unsigned r = 0; r < 10; r++)
		if (store >> r & 1)
			insns[n++] = STX(BPF_DW, R10, SAVED(r), r);
	insns[n++] = LDX(BPF_DW, R1, R10, -8);
	for (unsigned r = 0; r < 10; r++)
		if (store >> r & 1) {
			insns[n++] = LDX(BPF_DW, R2, R10, SAVED(r));
			insns[n++] = STX(BPF_DW, R1, OFF_OUT(r), R2);
		}
	insns[n++] = MOV_I(R0, 0);
	insns[n++] = EXIT();
	jprog_make(p, variant, insns, n, STACK);
}

static void run_both(struct jprog *p, const struct area *in)
{
	struct area a = *in, b = *in;

	jprog_run_interp(p, &a);
	jprog_run_jit(p, &b);
	if (!memcmp(&a, &b, sizeof(a)))
		return;
	jprog_dump(p);
	for (int r = 0; r < 10; r++)
		printf("r%d: in %016llx interp %016llx jit %016llx%s\n", r,
		       (unsigned long long)in->in[r], (unsigned long long)a.out[r],
		       (unsigned long long)b.out[r], a.out[r] != b.out[r] ? "  <--" : "");
	fail_msg("interpreter and JIT differ");
}

static void fill_area(struct area *area)
{
	memset(area, 0, sizeof(*area));
	for (int r = 0; r < 10; r++)
		area->in[r] = 0x1111111111111111ull * (unsigned)(r + 1) ^ 0x8000000000000000ull;
	for (int i = 0; i < 32; i++)
		area->mem[i] = 0x0123456789abcdefull * (unsigned)(2 * i + 1);
}

/* ---- arithmetic ---- */

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
				   BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };

static bool is_divmod(uint8_t op)
{
	return op == BPF_DIV || op == BPF_MOD;
}

static bool is_shift(uint8_t op)
{
	return op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH;
}

static void run_pairs(struct jprog *p, unsigned d, unsigned s, unsigned step)
{
	struct area area;

	fill_area(&area);
	for (unsigned i = 0; i < edge_cnt; i++)
		for (unsigned k = i % step; k < edge_cnt; k += step) {
			area.in[d] = edge_values[i];
			area.in[s] = edge_values[k];
			run_both(p, &area);
		}
}

static void alu_reg(enum jvariant variant, uint8_t class, uint8_t op, int16_t off)
{
	for (unsigned d = 0; d < 10; d++)
		for (unsigned s = 0; s < 10; s++) {
			struct bpf_insn insn = BPFU_INSN(class | op | BPF_X, d, s, off, 0);
			struct jprog p;

			wrap(&p, variant, &insn, 1, 0x3ff);
			run_pairs(&p, d, s, (d + s) % 4 ? 5 : 1);
			jprog_release(&p);
			wrap(&p, variant, &insn, 1, 1u << d);
			run_pairs(&p, d, s, 5);
			jprog_release(&p);
		}
}

static void test_alu_reg(void **state)
{
	for (unsigned i = 0; i < BPFU_ARRAY_SIZE(alu_ops); i++)
		for (int w = 0; w < 2; w++) {
			alu_reg(J_HOST, w ? BPF_ALU64 : BPF_ALU, alu_ops[i], 0);
			if (is_shift(alu_ops[i]) || is_divmod(alu_ops[i]))
				alu_reg(J_PLAIN, w ? BPF_ALU64 : BPF_ALU, alu_ops[i], 0);
			if (is_divmod(alu_ops[i])) /* signed */
				alu_reg(J_HOST, w ? BPF_ALU64 : BPF_ALU, alu_ops[i], 1);
		}
}

static void test_movsx(void **state)
{
	for (int16_t bits = 8; bits <= 32; bits *= 2) {
		alu_reg(J_HOST, BPF_ALU64, BPF_MOV, bits);
		if (bits < 32)
			alu_reg(J_HOST, BPF_ALU, BPF_MOV, bits);
	}
}

static void alu_imm(enum jvariant variant, struct bpf_insn insn)
{
	for (unsigned d = 0; d < 10; d++)
		for (int all = 0; all < 2; all++) {
			struct jprog p;
			struct area area;

			insn.dst_reg = d;
			wrap(&p, variant, &insn, 1, all ? 0x3ff : 1u << d);
			fill_area(&area);
			for (unsigned i = 0; i < edge_cnt; i++) {
				area.in[d] = edge_values[i];
				run_both(&p, &area);
			}
			jprog_release(&p);
		}
}

static void test_alu_imm(void **state)
{
	static const int32_t imms[] = { 0, 1, -1, 2, 3, 5, 9, 127, 128, -128, -129, 255, 256, 65535,
					65536, 1000, 0x12345678, INT32_MAX, INT32_MIN, -2147483647 };

	for (unsigned i = 0; i < BPFU_ARRAY_SIZE(alu_ops); i++)
		for (unsigned k = 0; k < BPFU_ARRAY_SIZE(imms); k++)
			for (int w = 0; w < 2; w++) {
				uint8_t op = alu_ops[i];
				uint8_t code = (w ? BPF_ALU64 : BPF_ALU) | op | BPF_K;
				int32_t imm = imms[k];

				if (is_shift(op))
					imm &= w ? 63 : 31;
				alu_imm(J_HOST, BPFU_INSN(code, 0, 0, 0, imm));
			}
}

/* Constant divisors take several ways; cover many, with dividends around their multiples. */
static void divisor(enum jvariant variant, uint8_t code, int16_t off, int32_t imm)
{
	/* Registers of the dividend and the result. */
	static const uint8_t regs[][2] = { { 0, 0 }, { 3, 3 }, { 7, 7 }, { 0, 3 }, { 3, 0 }, { 6, 1 } };

	for (unsigned k = 0; k < BPFU_ARRAY_SIZE(regs); k++) {
		unsigned from = regs[k][0], d = regs[k][1];
		struct bpf_insn body[] = { MOV_R(d, from), BPFU_INSN(code, d, 0, off, imm) };
		uint64_t c = (uint64_t)(int64_t)imm, seed = c | 1ull << 40;
		struct area area;
		struct jprog p;

		wrap(&p, variant, body, 2, k & 1 ? 0x3ff : 1u << d);
		fill_area(&area);
		for (unsigned i = 0; i < edge_cnt; i++) {
			area.in[from] = edge_values[i];
			run_both(&p, &area);
		}
		for (int i = 0; i < 40; i++) {
			uint64_t x = rng_next(&seed) >> (i % 64);

			area.in[from] = i & 1 ? x : c ? x / c * c - (x >> 3 & 1) : x;
			run_both(&p, &area);
		}
		jprog_release(&p);
	}
}

static void test_divisors(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (int i = 0; i < 160; i++) {
		int32_t imm = i < 70 ? i - 30 : (int32_t)(rng_next(&seed) >> (32 + i % 31));

		if (i >= 70 && i < 100)
			imm = (int32_t)(1u << (i - 69)) + (i % 3 - 1);
		for (int w = 0; w < 2; w++)
			for (int mod = 0; mod < 2; mod++)
				for (int16_t off = 0; off < 2; off++) {
					uint8_t code = (w ? BPF_ALU64 : BPF_ALU) |
						       (mod ? BPF_MOD : BPF_DIV) | BPF_K;

					divisor(J_HOST, code, off, imm);
					if (w && !off)
						divisor(J_PLAIN, code, off, imm);
				}
	}
}

static void test_unary(void **state)
{
	static const int32_t widths[] = { 16, 32, 64 };

	alu_imm(J_HOST, BPFU_INSN(BPF_ALU64 | BPF_NEG, 0, 0, 0, 0));
	alu_imm(J_HOST, BPFU_INSN(BPF_ALU | BPF_NEG, 0, 0, 0, 0));
	for (unsigned i = 0; i < 3; i++) {
		alu_imm(J_HOST, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, widths[i]));
		alu_imm(J_HOST, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, widths[i]));
		alu_imm(J_HOST, BPFU_INSN(BPF_ALU64 | BPF_END | BPF_TO_LE, 0, 0, 0, widths[i]));
	}
}

static void test_ld_imm64(void **state)
{
	for (unsigned d = 0; d < 10; d++)
		for (unsigned i = 0; i < edge_cnt; i++) {
			struct bpf_insn body[] = { LD64(d, edge_values[i]) };
			struct area area;
			struct jprog p;

			wrap(&p, J_HOST, body, 2, 0x3ff);
			fill_area(&area);
			run_both(&p, &area);
			jprog_release(&p);
		}
}

/* Pairs of instructions, so that what the compiler remembers of the first can go wrong. */
static void test_alu_pairs(void **state)
{
	uint64_t seed = 0x5deece66d;

	for (int i = 0; i < 6000; i++) {
		struct bpf_insn body[3];
		struct area area;
		struct jprog p;

		for (int k = 0; k < 3; k++) {
			uint64_t x = rng_next(&seed);
			uint8_t op = alu_ops[x % BPFU_ARRAY_SIZE(alu_ops)];
			bool w = x >> 8 & 1, imm = x >> 9 & 1;
			int32_t value = (int32_t)(uint32_t)edge_values[(x >> 40) % edge_cnt];

			if (is_shift(op))
				value &= w ? 63 : 31;
			body[k] = BPFU_INSN((w ? BPF_ALU64 : BPF_ALU) | op | (imm ? BPF_K : BPF_X),
					    (x >> 16) % 4, imm ? 0 : (x >> 24) % 4,
					    0, imm ? value : 0);
		}
		wrap(&p, i & 1 ? J_HOST : J_PLAIN, body, 3, i & 2 ? 0x3ff : 15);
		fill_area(&area);
		for (unsigned k = 0; k < 8; k++) {
			for (int r = 0; r < 4; r++)
				area.in[r] = edge_values[rng_next(&seed) % edge_cnt];
			run_both(&p, &area);
		}
		jprog_release(&p);
	}
}

/* ---- memory ---- */

static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

/* Base in @base, the rest of the registers as they come. @bias: in the register, undone by off. */
static void mem_case(struct bpf_insn insn, unsigned base, int16_t off)
{
	struct bpf_insn body[8];
	struct area area;
	struct jprog p;
	uint32_t n = 0;

	body[n++] = LDX(BPF_DW, base, R10, -8);
	body[n++] = ALU64_I(BPF_ADD, base, (int32_t)offsetof(struct area, mem) + 64 - off);
	insn.off = off;
	body[n++] = insn;
	/* An address would differ between the runs, unless a value has been loaded over it. */
	if (insn.dst_reg != base || BPF_CLASS(insn.code) == BPF_ST ||
	    (BPF_CLASS(insn.code) == BPF_STX && insn.imm != BPF_LOAD_ACQ))
		body[n++] = MOV_I(base, 0);
	wrap(&p, J_HOST, body, n, 0x3ff);
	fill_area(&area);
	run_both(&p, &area);
	jprog_release(&p);
}

static const int16_t offs[] = { 0, 8, 127, 128, -128, -129, INT16_MAX, INT16_MIN };

static void test_loads(void **state)
{
	static const uint8_t modes[] = { BPF_MEM, BPF_MEMSX, BPFU_PROBE_MEM, BPFU_PROBE_MEMSX };

	for (unsigned m = 0; m < 4; m++)
		for (unsigned z = 0; z < 4; z++)
			for (unsigned b = 0; b < 10; b++)
				for (unsigned d = 0; d < 10; d++) {
					uint8_t code = BPF_LDX | modes[m] | sizes[z];

					if (m % 2 && sizes[z] == BPF_DW)
						continue;
					mem_case(BPFU_INSN(code, d, b, 0, 0), b,
						 offs[(b + d) % BPFU_ARRAY_SIZE(offs)]);
				}
}

static void test_stores(void **state)
{
	for (unsigned z = 0; z < 4; z++)
		for (unsigned b = 0; b < 10; b++) {
			for (unsigned s = 0; s < 10; s++)
				if (s != b)
					mem_case(BPFU_INSN(BPF_STX | BPF_MEM | sizes[z], b, s, 0, 0), b,
						 offs[(b + s) % BPFU_ARRAY_SIZE(offs)]);
			for (unsigned i = 0; i < edge_cnt; i++)
				mem_case(BPFU_INSN(BPF_ST | BPF_MEM | sizes[z], b, 0, 0,
						   (int32_t)(uint32_t)edge_values[i]),
					 b, offs[i % BPFU_ARRAY_SIZE(offs)]);
		}
}

static void test_atomics(void **state)
{
	static const int32_t ops[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH,
				       BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH,
				       BPF_XOR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG };

	for (unsigned o = 0; o < BPFU_ARRAY_SIZE(ops); o++)
		for (unsigned b = 0; b < 10; b++)
			for (unsigned s = 0; s < 10; s++)
				for (int w = 0; w < 2; w++)
					for (int form = 0; form < 3; form++) {
						struct bpf_insn body[6];
						struct area area;
						struct jprog p;
						uint32_t n = 0;

						if (s == b) /* the value would be an address */
							continue;
						body[n++] = LDX(BPF_DW, b, R10, -8);
						body[n++] = ALU64_I(BPF_ADD, b,
								    (int32_t)offsetof(struct area, mem));
						body[n++] = ATOMIC(w ? BPF_DW : BPF_W, b, 16, s, ops[o]);
						body[n++] = MOV_I(b, 0);
						if (b == 0 && ops[o] == BPF_CMPXCHG)
							continue;
						wrap(&p, J_HOST, body, n,
						     form == 0 ? 0x3ff : form == 1 ? 1u << s : 0);
						fill_area(&area);
						run_both(&p, &area);
						area.in[0] = area.mem[2]; /* for cmpxchg: equal */
						run_both(&p, &area);
						area.in[0] = (uint32_t)area.mem[2] | 7ull << 60;
						run_both(&p, &area);
						jprog_release(&p);
					}
}

/* A copy of the operand of a fetching loop, not yet made when the loop overwrites the operand. */
static void test_atomic_operand_copied(void **state)
{
	static const int32_t ops[] = { BPF_OR, BPF_AND, BPF_XOR, BPF_ADD, BPF_XCHG & ~BPF_FETCH };

	for (unsigned o = 0; o < BPFU_ARRAY_SIZE(ops); o++)
		for (unsigned copy = R0; copy <= R8; copy++) {
			struct bpf_insn insns[] = {
				LDX(BPF_DW, R9, R1, 0),
				ST(BPF_DW, R10, -8, 0x5a5a),
				ALU32_R(BPF_MOV, copy, R9),
				ATOMIC(BPF_DW, R10, -8, R9, ops[o] | BPF_FETCH),
				MOV_R(R2, copy),
				MOV_R(R0, R2),
				ALU64_R(BPF_ADD, R0, R9),
				EXIT(),
			};
			uint64_t ctx = 0x123456789abcdef0;
			struct jprog p;

			jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 8);
			assert_int_equal(jprog_run_jit(&p, &ctx), jprog_run_interp(&p, &ctx));
			jprog_release(&p);
		}
}

static void test_load_acquire(void **state)
{
	for (unsigned z = 0; z < 4; z++)
		for (unsigned b = 0; b < 10; b++)
			for (unsigned d = 0; d < 10; d++) {
				uint8_t code = BPF_STX | BPF_ATOMIC | sizes[z];

				mem_case(BPFU_INSN(code, d, b, 0, BPF_LOAD_ACQ), b, -8);
				if (b != d)
					mem_case(BPFU_INSN(code, b, d, 0, BPF_STORE_REL), b, 300);
			}
}

static void test_stack_frame(void **state)
{
	/* r10-relative bytes at both ends of the largest frame, and nothing of the caller's. */
	struct bpf_insn insns[] = {
		ST(BPF_DW, R10, -8, 11),
		ST(BPF_DW, R10, -512, 31),
		MOV_R(R2, R10),
		ALU64_I(BPF_ADD, R2, -512),
		LDX(BPF_DW, R0, R2, 0),
		LDX(BPF_DW, R3, R2, 504),
		ALU64_R(BPF_MUL, R0, R3),
		EXIT(),
	};
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 512);
	assert_int_equal(jprog_run_jit(&p, NULL), 341);
	jprog_release(&p);
}

/* ---- branches ---- */

static const uint8_t jmp_ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE,
				   BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };

static void jump_case(struct bpf_insn insn, unsigned d, unsigned s, bool pairs)
{
	/* The taken way leaves 1 in the memory, the other 2. */
	struct bpf_insn body[8];
	struct area area;
	struct jprog p;
	uint32_t n = 0;

	body[n++] = ST(BPF_DW, R10, -96, 1);
	insn.off = 1;
	body[n++] = insn;
	body[n++] = ST(BPF_DW, R10, -96, 2);
	body[n++] = LDX(BPF_DW, R9, R10, -96);
	wrap(&p, J_HOST, body, n, 0x200);
	fill_area(&area);
	for (unsigned i = 0; i < edge_cnt; i++) {
		area.in[d] = edge_values[i];
		if (!pairs) {
			run_both(&p, &area);
			continue;
		}
		for (unsigned k = 0; k < edge_cnt; k++) {
			area.in[s] = edge_values[k];
			run_both(&p, &area);
		}
	}
	jprog_release(&p);
}

static void test_jumps(void **state)
{
	for (unsigned o = 0; o < BPFU_ARRAY_SIZE(jmp_ops); o++)
		for (int w = 0; w < 2; w++) {
			uint8_t code = (w ? BPF_JMP : BPF_JMP32) | jmp_ops[o];

			for (unsigned d = 0; d < 10; d++) {
				for (unsigned s = 0; s < 10; s++)
					jump_case(BPFU_INSN(code | BPF_X, d, s, 0, 0), d, s,
						  (d + s) % 7 == 0);
				for (unsigned i = 0; i < edge_cnt; i++)
					jump_case(BPFU_INSN(code | BPF_K, d, 0, 0,
							    (int32_t)(uint32_t)edge_values[i]),
						  d, d, false);
			}
		}
}

/* Comparisons of values whose upper half is known to be zero. */
static void test_jumps_zext(void **state)
{
	for (unsigned o = 0; o < BPFU_ARRAY_SIZE(jmp_ops); o++)
		for (unsigned i = 0; i < edge_cnt; i++)
			for (unsigned k = 0; k < edge_cnt; k++) {
				struct bpf_insn insns[] = {
					LD64(R2, edge_values[k]),
					ALU32_R(BPF_MOV, R2, R2),
					MOV_I(R0, 1),
					JMP_I(jmp_ops[o], R2, (int32_t)(uint32_t)edge_values[i], 1),
					MOV_I(R0, 2),
					EXIT(),
				};
				struct jprog p;

				jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
				assert_int_equal(jprog_run_jit(&p, NULL), jprog_run_interp(&p, NULL));
				jprog_release(&p);
			}
}

/*
 * A comparison with zero behind an operation on the same register, with something in between that
 * replaces the register's value but not the processor's flags.
 */
static void test_jumps_flags(void **state)
{
	static const uint64_t values[] = { 0, 1, 1ull << 63, 1ull << 31, 1ull << 32, UINT64_MAX };

	for (unsigned o = 0; o < BPFU_ARRAY_SIZE(jmp_ops); o++)
		for (unsigned between = 0; between < 6; between++)
			for (unsigned v = 0; v < BPFU_ARRAY_SIZE(values); v++)
				for (int w = 0; w < 4; w++) {
					const struct bpf_insn replace[] = {
						LDX(BPF_DW, R2, R1, 8),
						LDX(BPF_W, R2, R1, 8),
						MOV_R(R2, R3),
						BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, R2, R3, 32, 0),
						MOV_I(R2, 0),
						JA(0),
					};
					struct bpf_insn insns[] = {
						LDX(BPF_DW, R2, R1, 0),
						LDX(BPF_DW, R3, R1, 8),
						BPFU_INSN((w & 1 ? BPF_ALU64 : BPF_ALU) | BPF_SUB | BPF_X,
							  R2, R3, 0, 0),
						replace[between],
						MOV_I(R0, 1),
						BPFU_INSN((w & 2 ? BPF_JMP : BPF_JMP32) | jmp_ops[o],
							  R2, 0, 2, 0),
						LDX(BPF_DW, R4, R1, 0),
						MOV_I(R0, 2),
						EXIT(),
					};
					struct jprog p;

					jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
					for (unsigned u = 0; u < BPFU_ARRAY_SIZE(values); u++) {
						uint64_t in[2] = { values[u], values[v] };

						assert_int_equal(jprog_run_jit(&p, in),
								 jprog_run_interp(&p, in));
					}
					jprog_release(&p);
				}
}

/* Every distance around the limits of the short form, forwards and backwards, by 1 and 3 bytes. */
static void test_distances(void **state)
{
	for (uint32_t fill = 0; fill < 160; fill++)
		for (int gotol = 0; gotol < 2; gotol++) {
			struct bpf_insn insns[200];
			struct jprog p;
			uint32_t n = 0, top;

			insns[n++] = MOV_I(R0, 0);
			insns[n++] = MOV_I(R1, 3);
			top = n;
			insns[n++] = JMP_I(BPF_JEQ, R1, 1, (int16_t)fill);
			for (uint32_t i = 0; i < fill; i++)
				insns[n++] = i % 3 ? MOV_R(R0, R0) : ALU64_I(BPF_ADD, R0, 1);
			insns[n++] = ALU64_I(BPF_ADD, R1, -1);
			insns[n++] = JMP_I(BPF_JEQ, R1, 0, 1);
			if (gotol)
				insns[n] = BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, (int32_t)(top - n - 1));
			else
				insns[n] = JA((int16_t)(top - n - 1));
			n++;
			insns[n++] = EXIT();
			jprog_make(&p, J_HOST, insns, n, 0);
			assert_int_equal(jprog_run_jit(&p, NULL), 2 * ((fill + 2) / 3));
			assert_int_equal(jprog_run_interp(&p, NULL), 2 * ((fill + 2) / 3));
			jprog_release(&p);
		}
}

/* A loop whose target is the first instruction must not run the prologue again. */
static void test_jump_to_start(void **state)
{
	struct bpf_insn insns[] = {
		LDX(BPF_DW, R6, R1, 0),
		ALU64_I(BPF_ADD, R6, -1),
		STX(BPF_DW, R1, 0, R6),
		STX(BPF_DW, R10, -8, R6),
		JMP_I(BPF_JNE, R6, 0, -5),
		MOV_I(R0, 77),
		EXIT(),
	};
	uint64_t counter = 100000; /* enough to run off a stack */
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 8);
	assert_int_equal(jprog_run_jit(&p, &counter), 77);
	assert_int_equal(counter, 0);
	jprog_release(&p);
}

/* Jumps to jumps, a jump to itself that is never taken, and jumps to the next instruction. */
static void test_jump_chains(void **state)
{
	struct bpf_insn insns[] = {
		JMP_I(BPF_JEQ, R1, 0, 3), /* -> 4 */
		JA(0),
		MOV_I(R0, 1),
		JA(4),                    /* -> 8 */
		JA(-3),                   /* 4 -> 2 */
		JMP_I(BPF_JEQ, R1, 0, 0),
		JA(-1),                   /* 6 -> 6 */
		MOV_I(R0, 9),
		ALU64_I(BPF_ADD, R0, 5),
		EXIT(),
	};
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
	assert_int_equal(jprog_run_jit(&p, NULL), 6);
	assert_int_equal(jprog_run_jit(&p, &p), 6);
	jprog_release(&p);
}

static void test_may_goto(void **state)
{
	struct bpf_insn insns[] = {
		MOV_I(R0, 0),
		BPFU_INSN(BPF_JMP | BPF_JCOND, 0, 0, 2, 0),
		ALU64_I(BPF_ADD, R0, 1),
		JA(-3),
		BPFU_INSN(BPF_JMP | BPF_JCOND, 0, 0, 1, 0),
		ALU64_I(BPF_ADD, R0, 1),
		EXIT(),
	};
	struct jprog p;

	jprog_make(&p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
	assert_int_equal(jprog_run_jit(&p, NULL), 8 << 20);
	assert_int_equal(jprog_run_jit(&p, NULL), 8 << 20);
	jprog_release(&p);
}

/* ---- what is refused ---- */

static void refuse(const struct bpf_insn *insns, uint32_t cnt)
{
	struct jprog p;

	jprog_init(&p, insns, cnt, 0);
	assert_int_equal(jprog_compile(&p, J_HOST), -EINVAL);
	assert_null(p.jit.jit);
	assert_false(p.jit.jited);
	jprog_release(&p);
}

#define REFUSE(...)                                                                                \
	do {                                                                                       \
		struct bpf_insn bad[] = { __VA_ARGS__ };                                           \
		refuse(bad, BPFU_ARRAY_SIZE(bad));                                                 \
	} while (0)

static void test_refused(void **state)
{
	REFUSE(MOV_I(R0, 0));                                     /* runs off the end */
	REFUSE(JA(5), EXIT());                                    /* out of the function */
	REFUSE(JA(-2), EXIT());
	REFUSE(JA(1), LD64(R0, 1), EXIT());                       /* into the second half */
	REFUSE(EXIT(), LD64_LO(R0, 0, 1));                        /* no second half */
	REFUSE(BPFU_INSN(BPF_ALU64 | 0xe0, 0, 0, 0, 0), EXIT());  /* no such operation */
	REFUSE(BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 0, 7, 0), EXIT());
	REFUSE(BPFU_INSN(BPF_ALU | BPF_END, 0, 0, 0, 8), EXIT());
	REFUSE(BPFU_INSN(BPF_LDX | BPF_MEMSX | BPF_DW, 0, 1, 0, 0), EXIT());
	REFUSE(BPFU_INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT());
	REFUSE(ATOMIC(BPF_W, R1, 0, R2, 0xe0), EXIT());           /* exchange without fetch */
	REFUSE(ATOMIC(BPF_W, R1, 0, R2, 0xf0), EXIT());
	REFUSE(ATOMIC(BPF_B, R1, 0, R2, BPF_ADD), EXIT());
	REFUSE(ATOMIC(BPF_W, R1, 0, R2, 0x02), EXIT());
	REFUSE(CALL(9999), EXIT());
	REFUSE(CALL_REL(7), EXIT());
	REFUSE(BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 0), EXIT());
	REFUSE(MOV_I(R10, 0), EXIT());
	REFUSE(BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 11, 0, 0), EXIT());
	REFUSE(BPFU_INSN(BPF_JMP32 | BPF_CALL, 0, 0, 0, 0), EXIT());
	REFUSE(BPFU_INSN(BPF_JMP | 0xf8, 0, 0, 0, 0), EXIT());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu_reg),       cmocka_unit_test(test_movsx),
		cmocka_unit_test(test_alu_imm),       cmocka_unit_test(test_divisors),
		cmocka_unit_test(test_unary),         cmocka_unit_test(test_ld_imm64),
		cmocka_unit_test(test_alu_pairs),     cmocka_unit_test(test_loads),
		cmocka_unit_test(test_stores),        cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_atomic_operand_copied),
		cmocka_unit_test(test_load_acquire),  cmocka_unit_test(test_stack_frame),
		cmocka_unit_test(test_jumps),         cmocka_unit_test(test_jumps_zext),
		cmocka_unit_test(test_jumps_flags),
		cmocka_unit_test(test_distances),     cmocka_unit_test(test_jump_to_start),
		cmocka_unit_test(test_jump_chains),   cmocka_unit_test(test_may_goto),
		cmocka_unit_test(test_refused),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
