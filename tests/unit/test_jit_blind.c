// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hardened code holds no constant that the program chose: each form that has one is compiled for both
 * machines, with and without, and the bytes are searched. Without it the constant must be found, or
 * the search would prove nothing. Programs run as before, and offsets of instructions stay theirs.
 */
#include "test_jit_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/backend.h"
#include "jit/jit.h"
#include "util/random.h"

#define CHOSEN 0x3c90a5b7 /* no power of two, no logical immediate of A64, no small number */

static uint64_t random_state = 0x853c49e6748fea9b;

/* In place of the library's: what is searched for must not turn up by chance. */
void bpfu_random_fill(void *buf, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)buf)[i] = (uint8_t)(random_state >> 56);
	}
}

uint32_t bpfu_random_below(uint32_t n)
{
	uint32_t v;

	bpfu_random_fill(&v, sizeof(v));
	return v % n;
}

/* A64 has no room for 32 bits: MOVZ and MOVK with either half, MOVN with what it inverts. */
static bool a64_has_half(uint32_t word, uint32_t chosen)
{
	uint32_t imm = word >> 5 & 0xffff, op = word >> 23 & 0xff;

	if (op == 0xa5 || op == 0xe5) /* MOVZ, MOVK: opc in bits 29 and 30 */
		return imm == (chosen & 0xffff) || imm == chosen >> 16;
	if (op == 0x25) /* MOVN */
		return imm == (~chosen & 0xffff) || imm == ~chosen >> 16;
	return false;
}

static bool code_has(const struct bpfu_jit_code *code, bool x86, uint32_t chosen)
{
	for (uint32_t i = 0; i + 4 <= code->size; i += x86 ? 1 : 4) {
		uint32_t word;

		memcpy(&word, code->bytes + i, 4);
		if (x86 ? word == chosen || word == -chosen :
			  a64_has_half(word, chosen) || a64_has_half(word, -chosen))
			return true;
	}
	return false;
}

static bool image_has(const struct bpf_insn *insns, uint32_t cnt, const char *arch, bool harden,
		      uint32_t chosen)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(arch);
	struct bpfu_subprog sub = { .stack_depth = 64 };
	struct bpfu_prog prog = { .insns = (struct bpf_insn *)insns,
				  .insn_cnt = cnt,
				  .subprogs = &sub,
				  .subprog_cnt = 1,
				  .options = { .harden = harden } };
	struct bpfu_jit_target target = { .cpu = backend->cpu_all, .self_tpoff = 0x100 };
	struct bpfu_jit_code code;
	bool has;

	assert_int_equal(bpfu_jit_generate(&prog, backend, &target, 0x10000, &code), 0);
	assert_int_equal(code.insn_off[cnt], code.size);
	for (uint32_t i = 0; i < cnt; i++)
		assert_true(code.insn_off[i] <= code.insn_off[i + 1]);
	has = code_has(&code, !strcmp(arch, "x86_64"), chosen);
	bpfu_jit_code_release(&code);
	return has;
}

/* @plain: without hardening the constant is there as it is. */
static void check(const struct bpf_insn *insns, uint32_t cnt, uint32_t chosen, bool plain)
{
	static const char *const arches[] = { "x86_64", "aarch64" };

	for (size_t a = 0; a < 2; a++) {
		if (plain && !image_has(insns, cnt, arches[a], false, chosen))
			fail_msg("%s, opcode %02x: 0x%x is not found in plain code", arches[a],
				 insns[1].code, chosen);
		for (int round = 0; round < 50; round++)
			if (image_has(insns, cnt, arches[a], true, chosen))
				fail_msg("%s, opcode %02x: 0x%x is in hardened code", arches[a],
					 insns[1].code, chosen);
	}
}

static void test_alu(void **state)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD,
				       BPF_AND, BPF_OR,  BPF_XOR, BPF_MOV };

	for (int w = 0; w < 2; w++)
		for (size_t i = 0; i < sizeof(ops); i++)
			for (int16_t off = 0; off < 2; off++) {
				uint8_t class = w ? BPF_ALU64 : BPF_ALU;
				bool div = ops[i] == BPF_DIV || ops[i] == BPF_MOD;
				struct bpf_insn insns[] = {
					LDX(BPF_DW, R0, R1, 0),
					BPFU_INSN(class | ops[i] | BPF_K, R0, 0, off, CHOSEN),
					EXIT(),
				};

				/* Quotients use the reciprocal. Signed forms are of division only. */
				if (!off || div)
					check(insns, 3, CHOSEN, !div);
			}
}

static void test_jumps(void **state)
{
	static const uint8_t ops[] = { BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };

	for (int w = 0; w < 2; w++)
		for (size_t i = 0; i < sizeof(ops); i++) {
			struct bpf_insn insns[] = {
				LDX(BPF_DW, R0, R1, 0),
				BPFU_INSN((w ? BPF_JMP : BPF_JMP32) | ops[i] | BPF_K, R0, 0, 1, CHOSEN),
				MOV_I(R0, 0),
				EXIT(),
			};

			check(insns, 4, CHOSEN, true);
		}
}

static void test_stores(void **state)
{
	static const uint8_t sizes[] = { BPF_W, BPF_DW };

	for (size_t i = 0; i < sizeof(sizes); i++) {
		struct bpf_insn insns[] = {
			MOV_I(R0, 0),
			BPFU_INSN(BPF_ST | BPF_MEM | sizes[i], R10, 0, -8, CHOSEN),
			EXIT(),
		};

		check(insns, 3, CHOSEN, true);
	}
}

static void test_imm64(void **state)
{
	static const uint64_t values[] = { (uint64_t)CHOSEN << 32 | 0x1d2e3f49,
					   0x5d2e3f49ull << 32 | CHOSEN,
					   0x5d2e3f49ull << 32 | 0xbc90a5b7,
					   (uint64_t)CHOSEN << 32 | 0xdd2e3f49 };

	for (size_t i = 0; i < 4; i++) {
		struct bpf_insn insns[] = {
			MOV_I(R0, 0),
			BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, (int32_t)(uint32_t)values[i]),
			BPFU_INSN(0, 0, 0, 0, (int32_t)(values[i] >> 32)),
			EXIT(),
		};

		check(insns, 4, (uint32_t)values[i], true);
		check(insns, 4, (uint32_t)(values[i] >> 32), true);
	}
}

/* Constants that several instructions put together: nothing may add them up again. */
static void test_sums(void **state)
{
	struct bpf_insn insns[] = {
		ALU64_R(BPF_MOV, R0, R1), ALU64_I(BPF_ADD, R0, CHOSEN - 100),
		ALU64_I(BPF_ADD, R0, 100), EXIT(),
	};

	check(insns, 4, CHOSEN, false);
}

/* Far jumps become longer than their field when each instruction becomes several. */
static void test_far_jump(void **state)
{
	const uint32_t cnt = 30000;
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	struct jprog p;

	assert_non_null(insns);
	insns[0] = MOV_I(R0, 0);
	insns[1] = JMP_I(BPF_JEQ, R1, 7, 0);
	insns[1].off = (int16_t)(cnt - 3);
	for (uint32_t i = 2; i < cnt - 1; i++)
		insns[i] = ALU64_I(BPF_ADD, R0, 1);
	insns[cnt - 1] = EXIT();
	jprog_init(&p, insns, cnt, 0);
	p.jit.options.harden = true;
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	assert_int_equal(p.jit.func((void *)7, NULL), 0);
	assert_int_equal(p.jit.func((void *)8, NULL), cnt - 3);
	assert_int_equal(p.jit.jit->insn_off[cnt], p.jit.jit->size);
	jprog_release(&p);
	free(insns);
}

/* Images of the same program differ, and the program itself does not change. */
static void test_random(void **state)
{
	struct bpf_insn insns[] = { MOV_I(R0, CHOSEN), ALU64_I(BPF_ADD, R0, CHOSEN), EXIT() };
	struct jprog p[2];

	for (int i = 0; i < 2; i++) {
		jprog_init(&p[i], insns, 3, 0);
		p[i].jit.options.harden = true;
		assert_int_equal(jprog_compile(&p[i], J_HOST), 0);
		assert_int_equal(p[i].jit.insn_cnt, 3);
		assert_memory_equal(p[i].jit.insns, insns, sizeof(insns));
		assert_int_equal(jprog_run_jit(&p[i], NULL), 2ull * CHOSEN);
	}
	assert_true(p[0].jit.jit->size != p[1].jit.jit->size ||
		    memcmp(p[0].jit.jit->code, p[1].jit.jit->code, p[0].jit.jit->size));
	for (int i = 0; i < 2; i++)
		jprog_release(&p[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu),   cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_stores), cmocka_unit_test(test_imm64),
		cmocka_unit_test(test_sums),  cmocka_unit_test(test_far_jump),
		cmocka_unit_test(test_random),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
