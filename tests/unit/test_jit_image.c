// SPDX-License-Identifier: BSD-2-Clause
/*
 * Executable memory: never writable and executable in one mapping, nothing executable left behind
 * by a freed program, forks, the fallback, and programs of all sizes.
 */
#include "test_jit_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "jit/backend.h"
#include "jit/image.h"
#include "jit/image_probe.h"
#include "jit/jit.h"

/* Fails if a mapping is writable and executable; says how @addr is mapped. */
static void check_maps(const void *addr, char perms[5])
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	assert_non_null(f);
	memcpy(perms, "----", 5);
	while (fgets(line, sizeof(line), f)) {
		unsigned long lo, hi;
		char p[5];

		if (sscanf(line, "%lx-%lx %4s", &lo, &hi, p) != 3)
			continue;
		if (p[1] == 'w' && p[2] == 'x')
			fail_msg("writable and executable: %s", line);
		if ((uintptr_t)addr >= lo && (uintptr_t)addr < hi)
			memcpy(perms, p, 5);
	}
	fclose(f);
}

static void make_const(struct jprog *p, int32_t value)
{
	struct bpf_insn insns[] = { MOV_I(R0, value), EXIT() };

	jprog_make(p, J_HOST, insns, BPFU_ARRAY_SIZE(insns), 0);
}

static void wx(enum bpfu_image_mode mode)
{
	struct jprog p;
	char perms[5];
	uint8_t *code;

	bpfu_image_set_mode(mode);
	make_const(&p, 42);
	code = p.jit.jit->code;
	assert_int_equal(jprog_run_jit(&p, NULL), 42);
	check_maps(code, perms);
	assert_int_equal(perms[0], 'r');
	assert_int_equal(perms[1], '-');
	assert_int_equal(perms[2], 'x');
	jprog_release(&p);
	check_maps(code, perms);
	/* Gone, or overwritten with traps. */
	if (perms[2] == 'x') {
		const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(NULL);
		uint8_t trap[16];

		backend->writer.fill(trap, sizeof(trap));
		assert_memory_equal(code, trap, sizeof(trap));
	}
	bpfu_image_set_mode(BPFU_IMAGE_AUTO);
}

static void test_wx(void **state)
{
	wx(BPFU_IMAGE_AUTO);
	wx(BPFU_IMAGE_ANON);
}

/* Many programs come and go; the memory is used again and the live ones stay intact. */
static void test_reuse(void **state)
{
	enum { N = 300 };
	struct jprog *p = calloc(N, sizeof(*p));
	uint8_t *first;

	assert_non_null(p);
	make_const(&p[0], 0);
	first = p[0].jit.jit->code;
	for (int i = 1; i < N; i++)
		make_const(&p[i], i);
	for (int round = 0; round < 3; round++) {
		for (int i = round; i < N; i += 3) {
			jprog_release(&p[i]);
			make_const(&p[i], i + 1000 * round);
		}
		for (int i = 0; i < N; i++)
			assert_int_equal(jprog_run_jit(&p[i], NULL),
					 i + 1000 * (i % 3 <= round ? i % 3 : 0));
	}
	for (int i = 0; i < N; i++)
		jprog_release(&p[i]);
	/* Within the first region: nothing leaked it away. */
	make_const(&p[0], 1);
	assert_true(labs(p[0].jit.jit->code - first) < 64 << 20);
	jprog_release(&p[0]);
	free(p);
}

/* After a fork neither side may change what the other runs. */
static void test_fork(void **state)
{
	struct jprog shared, own;
	int to_child[2], to_parent[2], status;
	char c;
	pid_t pid;

	make_const(&shared, 7);
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(to_parent), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int bad = 0;

		/* Overwrite all we may, then see whether the parent's freeing reaches us. */
		make_const(&own, 8);
		bad |= jprog_run_jit(&own, NULL) != 8;
		bad |= write(to_parent[1], "x", 1) != 1 || read(to_child[0], &c, 1) != 1;
		bad |= jprog_run_jit(&shared, NULL) != 7;
		jprog_release(&shared);
		jprog_release(&own);
		_exit(bad);
	}
	assert_int_equal(read(to_parent[0], &c, 1), 1);
	assert_int_equal(jprog_run_jit(&shared, NULL), 7);
	make_const(&own, 9);
	assert_int_equal(jprog_run_jit(&own, NULL), 9);
	jprog_release(&shared);
	make_const(&shared, 10);
	assert_int_equal(write(to_child[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(jprog_run_jit(&shared, NULL), 10);
	assert_int_equal(jprog_run_jit(&own, NULL), 9);
	jprog_release(&shared);
	jprog_release(&own);
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_parent[i]);
	}
}

/* r0 += 1, @cnt instructions in all, with a branch over everything in front. */
static void big(uint32_t cnt)
{
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	struct jprog p;

	assert_non_null(insns);
	insns[0] = MOV_I(R0, 0);
	insns[1] = BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, (int32_t)cnt - 4);
	for (uint32_t i = 2; i < cnt - 2; i++)
		insns[i] = ALU64_I(BPF_ADD, R0, 1);
	insns[cnt - 2] = JMP_I(BPF_JEQ, R1, 0, 0);
	insns[cnt - 1] = EXIT();
	jprog_make(&p, J_HOST, insns, cnt, 0);
	assert_int_equal(jprog_run_jit(&p, NULL), 0);
	jprog_release(&p);
	insns[1].imm = 0;
	jprog_make(&p, J_HOST, insns, cnt, 0);
	assert_int_equal(jprog_run_jit(&p, NULL), cnt - 4);
	assert_int_equal(p.jit.jit->insn_off[cnt], p.jit.jit->size);
	jprog_release(&p);
	free(insns);
}

static void test_big(void **state)
{
	big(65535);
	big(BPFU_MAX_INSNS);
}

/* A million branches, each over the next few: the worst case for settling their sizes. */
static void test_many_branches(void **state)
{
	uint32_t cnt = BPFU_MAX_INSNS;
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	struct jprog p;

	assert_non_null(insns);
	insns[0] = MOV_I(R0, 0);
	for (uint32_t i = 1; i < cnt - 1; i++) {
		uint32_t left = cnt - 2 - i, over = BPFU_MIN(left, i % 60);

		insns[i] = i % 7 ? JMP_I(BPF_JEQ, R1, 1, (int16_t)over) : ALU64_I(BPF_ADD, R0, 1);
	}
	insns[cnt - 1] = EXIT();
	jprog_make(&p, J_HOST, insns, cnt, 0);
	assert_int_equal(jprog_run_jit(&p, NULL), (cnt - 2) / 7);
	jprog_release(&p);
	free(insns);
}

/* Programs can be written for any address, and are the same but for what depends on it. */
static void test_generate(void **state)
{
	struct bpf_insn insns[] = {
		MOV_I(R1, 1), CALL(HELPER_MIX), JMP_I(BPF_JEQ, R0, 0, 1), MOV_I(R0, 2), EXIT(),
	};
	static const char *const names[] = { "x86_64", "aarch64" };
	struct jprog p;

	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 0);
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	for (unsigned i = 0; i < BPFU_ARRAY_SIZE(names); i++) {
		const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(names[i]);
		struct bpfu_jit_target target;
		struct bpfu_jit_code code;

		assert_non_null(backend);
		bpfu_jit_target_init(&target, backend);
		target.far_calls = true;
		assert_int_equal(bpfu_jit_generate(&p.jit, backend, &target, 0x10000, &code), 0);
		assert_true(code.size > 10);
		assert_int_equal(code.insn_off[5], code.size);
		bpfu_jit_code_release(&code);
	}
	assert_null(bpfu_jit_backend_find("vax"));
	jprog_release(&p);
}

/* Helpers that a direct call does not reach are an error of the pass, not a wrong call. */
static void test_out_of_reach(void **state)
{
	struct bpf_insn insns[] = { CALL(HELPER_MIX), EXIT() };
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find("x86_64");
	struct bpfu_jit_target target;
	struct bpfu_jit_code code;
	struct jprog p;

	jprog_init(&p, insns, BPFU_ARRAY_SIZE(insns), 0);
	assert_int_equal(jprog_compile(&p, J_HOST), 0);
	bpfu_jit_target_init(&target, backend);
	target.far_calls = false;
	assert_int_equal(bpfu_jit_generate(&p.jit, backend, &target, 1ull << 62, &code),
			 -ERANGE);
	jprog_release(&p);
}

/* The check for emulators: true where writes reach the code, false where they go elsewhere. */
static void test_rewrite_seen(void **state)
{
	uint8_t elsewhere[BPFU_IMAGE_PROBE_SIZE];
	struct bpfu_image image;
	struct jprog p;

	make_const(&p, 42);
	memset(elsewhere, 1, sizeof(elsewhere));
	assert_false(bpfu_image_rewrite_seen(p.jit.jit->code, elsewhere));
	assert_int_equal(jprog_run_jit(&p, NULL), 42);
	jprog_release(&p);
	for (size_t i = 0; i < sizeof(elsewhere); i++)
		assert_int_equal(elsewhere[i], 0);

	assert_int_equal(bpfu_image_alloc(&image, BPFU_IMAGE_PROBE_SIZE, 0, NULL), 0);
	/* Regions are in use only where the check said so, also for memory that has run before. */
	for (int i = 0; i < 3 && image.region; i++)
		assert_true(bpfu_image_rewrite_seen(image.rx, image.rw));
	bpfu_image_free(&image, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wx),       cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_fork),     cmocka_unit_test(test_big),
		cmocka_unit_test(test_many_branches), cmocka_unit_test(test_generate),
		cmocka_unit_test(test_out_of_reach), cmocka_unit_test(test_rewrite_seen),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
