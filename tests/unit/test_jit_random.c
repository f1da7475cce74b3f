// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random programs, compiled and interpreted. The generator keeps what the verifier would demand:
 * registers are initialised, pointers are to the program's own stack and in bounds, loops end.
 * It also keeps addresses out of the result, since the two runs have different stacks.
 *
 *   test_jit_random [-n PROGRAMS] [-s SEED]     one program: -n 1 -s SEED as printed by a failure
 */
#include "jit_gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/jit.h"

static unsigned long programs = 2500;
static uint64_t first_seed = 0x1d872b41c0ffee;

static void one_program(uint64_t seed)
{
	static struct gen g;
	uint32_t starts[FUNCS];
	struct jprog p;
	uint64_t in[10];

	memset(&g, 0, sizeof(g));
	g.rng = seed;
	for (unsigned f = 0; f < FUNCS; f++) {
		starts[f] = g.n;
		gen_func(&g, f);
	}
	for (unsigned i = 0; i < g.calls; i++)
		g.insns[g.call_at[i]].imm = (int32_t)(starts[g.call_to[i]] - g.call_at[i] - 1);
	jprog_init(&p, g.insns, g.n, STACK);
	for (unsigned f = 1; f < FUNCS; f++)
		jprog_sub(&p, starts[f], STACK);
	if (jprog_compile(&p, (enum jvariant)(seed >> 20 & 3) % J_VARIANTS))
		fail_msg("compile, -n 1 -s %#llx", (unsigned long long)seed);
	for (int i = 0; i < INPUTS; i++) {
		uint64_t a, b;

		for (int r = 0; r < 10; r++)
			in[r] = i & 1 ? rng_next(&g.rng) : edge_values[rnd(&g, edge_cnt)];
		a = jprog_run_interp(&p, in);
		b = jprog_run_jit(&p, in);
		if (a != b) {
			jprog_dump(&p);
			fail_msg("interp %#llx, jit %#llx; replay with -n 1 -s %#llx",
				 (unsigned long long)a, (unsigned long long)b,
				 (unsigned long long)seed);
		}
	}
	jprog_release(&p);
}

static void test_random(void **state)
{
	uint64_t seed = first_seed;

	printf("%lu programs, seed %#llx\n", programs, (unsigned long long)seed);
	for (unsigned long i = 0; i < programs; i++) {
		one_program(seed);
		rng_next(&seed);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
	int opt;

	while ((opt = getopt(argc, argv, "n:s:")) != -1) {
		if (opt == 'n')
			programs = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			first_seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
