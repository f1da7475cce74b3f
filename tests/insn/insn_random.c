// SPDX-License-Identifier: BSD-2-Clause
/*
 * Single instructions with random fields and operands, on the interpreter, the JIT and the running
 * kernel, whichever are there; all must leave the same memory. A round is one program of PROBES
 * probes that runs on RUNS random memories:
 *
 *     memory: | IN random words | one slot of SLOT bytes per probe |      r1 points to it
 *
 *     probe:  rX = memory;  rD = in[a];  rS = in[b];  <the instruction>;  slot = what it changed
 *
 * The operands come from memory so that the kernel's verifier cannot fold them. A failure prints the
 * instruction, the memory it had, and the seed of the round: insn_random --seed N --rounds 1 repeats it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "insn/insn.h"
#include "insn/opcode.h"
#include "jit/jit.h"
#include "util/bits.h"

#include "oracle.h"
#include "prog.h"

#define IN 32
#define PROBES 64
#define SLOT 32 /* [0] dst, [8] src or r0, [16] and [24] memory operand */
#define RUNS 4
#define MEM_SIZE (IN * 8 + PROBES * SLOT)
#define MAX_INSNS 2048
#define LOG_SIZE (1u << 16)

struct generator {
	uint64_t rng;
	struct bpf_insn insns[MAX_INSNS];
	uint32_t cnt;
	uint32_t probe_at[PROBES]; /* index of the instruction under test */
};

struct machines {
	bool jit, kernel;
	int map_fd;
	uint8_t *value;
};

/* splitmix64 */
static uint64_t next(struct generator *g)
{
	uint64_t z = g->rng += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint32_t below(struct generator *g, uint32_t n)
{
	return next(g) % n;
}

/* Edges, small numbers, edges of the low half with a random upper half, and anything. */
static uint64_t operand(struct generator *g)
{
	static const uint64_t edges[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
					  INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX,
					  0xffffffff80000000 };

	switch (below(g, 4)) {
	case 0:
		return edges[below(g, BPFU_ARRAY_SIZE(edges))];
	case 1:
		return below(g, 130);
	case 2:
		return next(g) << 32 | (uint32_t)edges[below(g, BPFU_ARRAY_SIZE(edges))];
	default:
		return next(g);
	}
}

static void emit(struct generator *g, uint8_t code, int dst, int src, int off, int32_t imm)
{
	if (g->cnt == MAX_INSNS)
		abort();
	g->insns[g->cnt++] = BPFU_INSN(code, dst, src, off, imm);
}

/* A register that is none of the three. */
static int other(struct generator *g, int a, int b, int c)
{
	int r;

	do {
		r = below(g, 10);
	} while (r == a || r == b || r == c);
	return r;
}

static uint8_t random_opcode(struct generator *g)
{
	uint8_t code;
	enum bpfu_form form;

	do {
		code = next(g);
		form = bpfu_insn_opcode_valid(code) ? bpfu_opcode_of(code)->form : BPFU_FORM_NONE;
	} while (form == BPFU_FORM_NONE || form == BPFU_FORM_JA || form == BPFU_FORM_MAY_GOTO ||
		 form == BPFU_FORM_CALL || form == BPFU_FORM_EXIT || form == BPFU_FORM_LD_ABS ||
		 form == BPFU_FORM_LD_IND);
	return code;
}

/* ---- one probe per kind; each leaves its results in the slot at @slot of the memory ---- */

static void probe_alu(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	bool wide = BPF_CLASS(insn.code) == BPF_ALU64;

	switch (bpfu_opcode_of(insn.code)->form) {
	case BPFU_FORM_SHIFT_K:
		insn.imm = below(g, wide ? 64 : 32);
		break;
	case BPFU_FORM_DIV_K:
		insn.imm = insn.imm ? insn.imm : 1;
		insn.off = below(g, 2);
		break;
	case BPFU_FORM_DIV_X:
		insn.off = below(g, 2);
		break;
	case BPFU_FORM_END:
		insn.imm = 16 << below(g, 3);
		break;
	case BPFU_FORM_NEG:
		insn.imm = 0;
		break;
	case BPFU_FORM_MOV_X:
		insn.off = below(g, 2) ? 0 : 8 << below(g, wide ? 3 : 2);
		break;
	default:
		break;
	}
	if (BPF_SRC(insn.code) == BPF_X && bpfu_opcode_of(insn.code)->form != BPFU_FORM_END)
		insn.imm = 0;
	else
		insn.src_reg = 0;
	emit(g, insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm);
	emit(g, BPFU_OP_STX_DW, base, insn.dst_reg, slot, 0);
}

static void probe_jump(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	bool reg = BPF_SRC(insn.code) == BPF_X;

	emit(g, BPFU_OP_ST_DW, base, 0, slot + 8, 1);
	g->probe_at[(slot - IN * 8) / SLOT] = g->cnt;
	emit(g, insn.code, insn.dst_reg, reg ? insn.src_reg : 0, 1, reg ? 0 : insn.imm);
	emit(g, BPFU_OP_ST_DW, base, 0, slot + 8, 2);
	emit(g, BPFU_OP_STX_DW, base, insn.dst_reg, slot, 0);
}

static void probe_load(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	emit(g, insn.code, insn.dst_reg, base, below(g, MEM_SIZE - 8), 0);
	emit(g, BPFU_OP_STX_DW, base, insn.dst_reg, slot, 0);
}

static void probe_store(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	bool imm = BPF_CLASS(insn.code) == BPF_ST;

	emit(g, insn.code, base, imm ? 0 : insn.src_reg, slot + 16 + below(g, 9),
	     imm ? insn.imm : 0);
}

static void probe_atomic(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	static const int32_t imms[] = {
#define _(name, imm, shape, sym) imm,
		BPFU_ATOMIC_DEF(_)
#undef _
	};
	static const int sizes[] = { [BPF_B >> 3] = 1, [BPF_H >> 3] = 2, [BPF_W >> 3] = 4,
				     [BPF_DW >> 3] = 8 };
	int size = sizes[BPF_SIZE(insn.code) >> 3];
	int off = slot + 16 + below(g, 16 / size) * size;
	const struct bpfu_atomic *op = bpfu_atomic_of(imms[below(g, BPFU_ARRAY_SIZE(imms))]);

	if (op->shape == BPFU_ATOMIC_SHAPE_LOAD) {
		emit(g, insn.code, insn.dst_reg, base, off, op->imm);
		emit(g, BPFU_OP_STX_DW, base, insn.dst_reg, slot, 0);
		return;
	}
	if (size < 4 && op->shape != BPFU_ATOMIC_SHAPE_STORE)
		insn.code = BPFU_OP_ATOMIC_W;
	off &= size < 4 && op->shape != BPFU_ATOMIC_SHAPE_STORE ? ~3 : ~0;
	if (op->shape == BPFU_ATOMIC_SHAPE_CMPXCHG) {
		/* Half of the comparisons find what they expect. */
		if (below(g, 2))
			emit(g, BPF_LDX | BPF_MEM | BPF_SIZE(insn.code), 0, base, off, 0);
		else
			emit(g, BPFU_OP_LDX_DW, 0, base, below(g, IN) * 8, 0);
		g->probe_at[(slot - IN * 8) / SLOT] = g->cnt;
	}
	emit(g, insn.code, base, insn.src_reg, off, op->imm);
	emit(g, BPFU_OP_STX_DW, base, insn.src_reg, slot, 0);
	if (op->shape == BPFU_ATOMIC_SHAPE_CMPXCHG)
		emit(g, BPFU_OP_STX_DW, base, 0, slot + 8, 0);
}

static void probe_imm64(struct generator *g, struct bpf_insn insn, int base, int slot)
{
	uint64_t v = operand(g);

	emit(g, insn.code, insn.dst_reg, 0, 0, (int32_t)(uint32_t)v);
	emit(g, 0, 0, 0, 0, (int32_t)(uint32_t)(v >> 32));
	emit(g, BPFU_OP_STX_DW, base, insn.dst_reg, slot, 0);
}

static void probe(struct generator *g, uint32_t idx)
{
	uint8_t code = random_opcode(g);
	struct bpf_insn insn = BPFU_INSN(code, below(g, 10), below(g, 10), 0, (int32_t)operand(g));
	int base = other(g, insn.dst_reg, insn.src_reg, 0);
	int slot = IN * 8 + idx * SLOT;

	emit(g, BPFU_OP_LDX_DW, base, 10, -8, 0);
	emit(g, BPFU_OP_LDX_DW, insn.dst_reg, base, below(g, IN) * 8, 0);
	if (insn.src_reg != insn.dst_reg)
		emit(g, BPFU_OP_LDX_DW, insn.src_reg, base, below(g, IN) * 8, 0);
	g->probe_at[idx] = g->cnt;
	switch (bpfu_opcode_of(code)->form) {
	case BPFU_FORM_JMP_K:
	case BPFU_FORM_JMP_X:
		probe_jump(g, insn, base, slot);
		break;
	case BPFU_FORM_LDX:
		probe_load(g, insn, base, slot);
		break;
	case BPFU_FORM_ST:
	case BPFU_FORM_STX:
		probe_store(g, insn, base, slot);
		break;
	case BPFU_FORM_ATOMIC:
		probe_atomic(g, insn, base, slot);
		break;
	case BPFU_FORM_LD_IMM64:
		probe_imm64(g, insn, base, slot);
		break;
	default:
		probe_alu(g, insn, base, slot);
	}
}

/* The program; its first two slots load r1 on the kernel and are left out elsewhere. */
static void generate(struct generator *g, uint64_t seed, int map_fd)
{
	g->rng = seed;
	g->cnt = 0;
	emit(g, BPFU_OP_LD_IMM64, 1, BPF_PSEUDO_MAP_VALUE, 0, map_fd);
	emit(g, 0, 0, 0, 0, 0);
	emit(g, BPFU_OP_STX_DW, 10, 1, -8, 0);
	for (uint32_t i = 0; i < PROBES; i++)
		probe(g, i);
	emit(g, BPFU_OP_MOV64_K, 0, 0, 0, 0);
	emit(g, BPFU_OP_EXIT, 0, 0, 0, 0);
}

/* ---- comparison ---- */

static void report(const struct generator *g, const char *machine, uint64_t seed, uint32_t at,
		   const uint8_t *before, const uint8_t *want, const uint8_t *got)
{
	uint32_t idx = at < IN * 8 ? 0 : (at - IN * 8) / SLOT;
	uint32_t from = idx ? g->probe_at[idx - 1] + 1 : 2;
	char text[128];

	printf("%s differs from the interpreter at byte %u, probe %u; repeat with --seed %" PRIu64
	       " --rounds 1\n", machine, at, idx, seed);
	for (uint32_t i = from; i < g->probe_at[idx] + 3 && i < g->cnt; i++) {
		bpfu_insn_print(text, sizeof(text), &g->insns[i], NULL);
		printf("%c %4u: %s\n", i == g->probe_at[idx] ? '>' : ' ', i, text);
	}
	for (int w = 0; w < IN; w++)
		printf("in[%3d] 0x%016" PRIx64 "%s", w * 8, ((const uint64_t *)before)[w],
		       w % 3 == 2 ? "\n" : "   ");
	putchar('\n');
	for (uint32_t w = (IN * 8 + idx * SLOT) / 8; w < (IN * 8 + (idx + 1) * SLOT) / 8; w++)
		printf("slot[%3u] before 0x%016" PRIx64 " interpreter 0x%016" PRIx64
		       " here 0x%016" PRIx64 "\n", w * 8, ((const uint64_t *)before)[w],
		       ((const uint64_t *)want)[w], ((const uint64_t *)got)[w]);
}

static bool same(const struct generator *g, const char *machine, uint64_t seed,
		 const uint8_t *before, const uint8_t *want, const uint8_t *got)
{
	for (uint32_t at = 0; at < MEM_SIZE; at++)
		if (want[at] != got[at]) {
			report(g, machine, seed, at, before, want, got);
			return false;
		}
	return true;
}

static int load_on_kernel(const struct generator *g)
{
	static char log[LOG_SIZE];
	struct oracle_load load = { .type = BPF_PROG_TYPE_SYSCALL, .insns = g->insns,
				    .insn_cnt = g->cnt, .log = log, .log_size = LOG_SIZE };
	int fd = oracle_prog_load(&load);

	if (fd < 0) {
		load.log_level = 1;
		oracle_prog_load(&load);
		printf("the kernel refuses the program: %s\n%s\n", strerror(-fd),
		       log + BPFU_MAX(0, (int)strlen(log) - 600));
	}
	return fd;
}

static bool run_once(struct generator *g, const struct machines *m, uint64_t seed, int kernel_fd,
		     struct bpfu_prog *interp, struct bpfu_prog *jit)
{
	static uint64_t before[MEM_SIZE / 8], want[MEM_SIZE / 8], got[MEM_SIZE / 8];
	uint32_t retval;

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(before); i++)
		before[i] = operand(g);
	memcpy(want, before, MEM_SIZE);
	bpfu_prog_run(interp, want);
	if (jit) {
		memcpy(got, before, MEM_SIZE);
		bpfu_prog_run(jit, got);
		if (!same(g, "the JIT", seed, (uint8_t *)before, (uint8_t *)want, (uint8_t *)got))
			return false;
	}
	if (kernel_fd < 0)
		return true;
	memcpy(m->value, before, MEM_SIZE);
	if (oracle_run(kernel_fd, &retval)) {
		printf("the kernel does not run the program, seed %" PRIu64 "\n", seed);
		return false;
	}
	return same(g, "the kernel", seed, (uint8_t *)before, (uint8_t *)want, m->value);
}

static bool run_round(const struct machines *m, uint64_t seed)
{
	static struct generator g;
	struct bpfu_prog *interp = NULL, *jit = NULL;
	int kernel_fd = -1;
	bool ok = false;

	generate(&g, seed, m->map_fd);
	if (m->kernel) {
		kernel_fd = load_on_kernel(&g);
		if (kernel_fd < 0) {
			printf("seed %" PRIu64 "\n", seed);
			return false;
		}
	}
	if (test_prog_new(g.insns + 2, g.cnt - 2, BACKEND_INTERP, &interp) ||
	    (m->jit && test_prog_new(g.insns + 2, g.cnt - 2, BACKEND_JIT, &jit))) {
		printf("cannot prepare the program, seed %" PRIu64 "\n", seed);
		goto out;
	}
	ok = true;
	for (int run = 0; run < RUNS && ok; run++)
		ok = run_once(&g, m, seed, kernel_fd, interp, jit);
out:
	if (jit)
		test_prog_free(jit);
	if (interp)
		test_prog_free(interp);
	if (kernel_fd >= 0)
		close(kernel_fd);
	return ok;
}

int main(int argc, char **argv)
{
	struct machines m = { .jit = bpfu_jit_available(), .map_fd = -1 };
	uint64_t seed = 20240229, rounds = 150;
	const char *why = "";

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
			seed = strtoull(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) {
			rounds = strtoull(argv[++i], NULL, 0);
		} else {
			fprintf(stderr, "usage: insn_random [--seed N] [--rounds N]\n");
			return 2;
		}
	}
	m.kernel = oracle_available(&why);
	if (m.kernel) {
		m.map_fd = oracle_array_new(MEM_SIZE, (void **)&m.value);
		if (m.map_fd < 0) {
			m.kernel = false;
			why = "the kernel refuses BPF_MAP_CREATE";
		}
	}
	if (!m.kernel)
		printf("without the kernel: %s\n", why);
	if (!m.jit)
		printf("without the JIT: not for this machine\n");
	if (!m.kernel && !m.jit)
		return 77;
	printf("seed %" PRIu64 ", %" PRIu64 " rounds of %d instructions\n", seed, rounds, PROBES);
	for (uint64_t i = 0; i < rounds; i++)
		if (!run_round(&m, seed + i))
			return 1;
	if (m.kernel)
		oracle_array_free(m.map_fd, m.value, MEM_SIZE);
	return 0;
}
