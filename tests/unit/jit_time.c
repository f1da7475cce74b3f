// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpfu-jit-time: what compiling costs, apart from all else that loading a program does.
 *
 *   bpfu-jit-time [--once] [--seed S] [--backend NAME] [--insns N]...
 *
 * Programs are put together by the generator of the random tests: arithmetic, memory, branches, loops,
 * helper calls. Large ones repeat a block of some 2,000 instructions. A row is the median of several
 * compilations, in CPU time of the thread: for the machine we run on, bpfu_jit_compile() with all
 * that makes an image; for other ones, bpfu_jit_generate(). The code is run and its result compared with the
 * interpreter's, so that what was timed is known to be right; that is what --once, the test, is for.
 */
#include "jit_gen.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit/backend.h"
#include "jit/jit.h"

#define BUDGET_NS 300000000 /* per row */
#define MIN_ROUNDS 5
#define MAX_ROUNDS 20000
#define MAX_SIZES 16

static bool once;
static const char *only; /* backend */
static uint64_t seed = 0x1d872b41c0ffee;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct gen *gen_new(void)
{
	struct gen *g = calloc(1, sizeof(*g));

	if (!g)
		abort();
	g->rng = seed;
	g->straight = true;
	g->func = FUNCS;
	return g;
}

/* The stack and the registers get numbers. */
static void start(struct gen *g)
{
	for (int off = 8; off <= STACK; off += 8)
		emit(g, ST(BPF_DW, R10, (int16_t)-off, rnd_imm(g)));
}

static void block(struct gen *g, uint32_t want)
{
	memset(g->kind, 0, sizeof(g->kind));
	for (unsigned r = 0; r < 10; r++)
		emit(g, LDX(BPF_DW, r, R10, (int16_t)(-8 * (int)(r + 1))));
	while (g->n < want)
		gen_block(g, 1);
}

/*
 * @cnt instructions: the start, blocks as far as there is room for whole ones, numbers added up
 * until it is exactly @cnt.
 */
static struct bpf_insn *make_program(uint32_t cnt)
{
	struct gen *head = gen_new(), *body = gen_new();
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	uint32_t n, room;

	start(head);
	if (!insns || cnt < head->n + 20)
		abort();
	room = cnt - head->n - 2;
	do {
		body->n = 0;
		block(body, BPFU_MIN(room > 60 ? room - 60 : 11, 2000u));
	} while (body->n > room);
	memcpy(insns, head->insns, head->n * sizeof(*insns));
	n = head->n;
	do {
		memcpy(insns + n, body->insns, body->n * sizeof(*insns));
		n += body->n;
	} while (n + body->n + 2 <= cnt);
	insns[n++] = MOV_I(R0, 1);
	for (; n + 1 < cnt; n++) /* addresses differ between two runs */
		insns[n] = ALU64_R(BPF_ADD, R0, body->kind[1 + n % 9].ptr ? R0 : 1 + n % 9);
	insns[n++] = EXIT();
	free(head);
	free(body);
	return insns;
}

static uint64_t near_helpers(void)
{
	return (uintptr_t)helper_mix & ~(uintptr_t)0xfff;
}

/* One compilation; the nanoseconds that it took, and the bytes that came out. */
static uint64_t compile_once(struct jprog *p, const struct bpfu_jit_backend *backend, uint32_t *size)
{
	bool native = backend == bpfu_jit_backend_find(NULL) && bpfu_jit_available();
	struct bpfu_jit_code code;
	uint64_t ns = now();
	int err = native ? bpfu_jit_compile(&p->jit) :
			   bpfu_jit_generate(&p->jit, backend, NULL, near_helpers(), &code);

	ns = now() - ns;
	if (err) {
		fprintf(stderr, "%u instructions for %s: %s\n", p->jit.insn_cnt, backend->name,
			strerror(-err));
		exit(1);
	}
	*size = native ? p->jit.jit->size : code.size;
	if (native)
		bpfu_jit_release(&p->jit);
	else
		bpfu_jit_code_release(&code);
	return ns;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void report(struct jprog *p, const char *name)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(name);
	static uint64_t ns[MAX_ROUNDS];
	int rounds = 0, most = once ? 1 : MAX_ROUNDS;
	uint64_t total = 0, median;
	uint32_t size = 0;

	while (rounds < most && (rounds < MIN_ROUNDS || total < BUDGET_NS)) {
		ns[rounds] = compile_once(p, backend, &size);
		total += ns[rounds++];
	}
	qsort(ns, (size_t)rounds, sizeof(ns[0]), compare_ns);
	median = ns[rounds / 2];
	printf("%-8s %9u %9.2f %8.1f %8.2f\n", name, p->jit.insn_cnt, (double)median / 1e3,
	       (double)median / p->jit.insn_cnt, (double)size / p->jit.insn_cnt);
}

static void check(struct jprog *p)
{
	uint64_t want, got;

	if (!bpfu_jit_available())
		return;
	if (bpfu_jit_compile(&p->jit))
		exit(1);
	want = jprog_run_interp(p, NULL);
	got = jprog_run_jit(p, NULL);
	bpfu_jit_release(&p->jit);
	if (want == got)
		return;
	fprintf(stderr, "%u instructions, seed %#" PRIx64 ": interpreted %#" PRIx64 ", compiled %#" PRIx64
		"\n", p->jit.insn_cnt, seed, want, got);
	exit(1);
}

static void one_size(uint32_t cnt)
{
	static const char *const names[] = { "x86_64", "aarch64" };
	struct bpf_insn *insns = make_program(cnt);
	struct jprog p;

	jprog_init(&p, insns, cnt, STACK);
	if (jprog_prepare(&p))
		exit(1);
	check(&p);
	for (int i = 0; i < 2; i++)
		if (!only || !strcmp(only, names[i]))
			report(&p, names[i]);
	jprog_release(&p);
	free(insns);
}

static uint32_t parse_size(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (*end || n < 50 || n > BPFU_MAX_INSNS) {
		fprintf(stderr, "bpfu-jit-time: '%s' is not a number of instructions from 50 to %u\n",
			text, BPFU_MAX_INSNS);
		exit(1);
	}
	return (uint32_t)n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "once", no_argument, NULL, 'o' },
						 { "seed", required_argument, NULL, 's' },
						 { "backend", required_argument, NULL, 'b' },
						 { "insns", required_argument, NULL, 'n' },
						 { 0 } };
	uint32_t sizes[MAX_SIZES] = { 50, 500, 5000, 65535, BPFU_MAX_INSNS }, given = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'o')
			once = true;
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'b' && bpfu_jit_backend_find(optarg))
			only = optarg;
		else if (opt == 'n' && given < MAX_SIZES)
			sizes[given++] = parse_size(optarg);
		else
			return 1;
	}
	printf("%-8s %9s %9s %8s %8s\n", "backend", "insns", "us", "ns/insn", "B/insn");
	for (uint32_t i = 0; i < (given ? given : 5); i++)
		one_size(sizes[i]);
	return 0;
}
