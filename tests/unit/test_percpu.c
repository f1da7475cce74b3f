// SPDX-License-Identifier: BSD-2-Clause
/*
 * Per-CPU memory: zeroed, aligned, disjoint, returned, and as large as the address space allows.
 * The cases that change limits of the process run in a child each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "percpu/percpu_alloc.h"

static bool is_zero(void *ptr, size_t size)
{
	const unsigned char *bytes;
	uint32_t cpu;
	size_t i;

	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		bytes = bpfu_percpu_of(ptr, cpu);
		for (i = 0; i < size; i++)
			if (bytes[i])
				return false;
	}
	return true;
}

static void fill(void *ptr, size_t size, unsigned char seed)
{
	uint32_t cpu;

	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		memset(bpfu_percpu_of(ptr, cpu), (unsigned char)(seed + cpu), size);
}

static bool is_filled(void *ptr, size_t size, unsigned char seed)
{
	const unsigned char *bytes;
	uint32_t cpu;
	size_t i;

	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		bytes = bpfu_percpu_of(ptr, cpu);
		for (i = 0; i < size; i++)
			if (bytes[i] != (unsigned char)(seed + cpu))
				return false;
	}
	return true;
}

static void units_know_their_number(void **state)
{
	uint32_t cpu;

	(void)state;
	assert_true(bpfu_percpu_stride() >= 65536);
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		assert_int_equal(*(uint32_t *)bpfu_percpu_of(bpfu_percpu_cpu_number(), cpu), cpu);
}

static const size_t sizes[] = { 1,   4,   8,   9,    56,   57,   64,   65,    100,   512,
				640, 700, 896, 2047, 2048, 2049, 4096, 32768, 100000 };

static void every_size(void **state)
{
	void *ptr[BPFU_ARRAY_SIZE(sizes)];
	uint32_t round;
	size_t i;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < BPFU_ARRAY_SIZE(sizes); i++) {
			ptr[i] = bpfu_percpu_alloc(sizes[i]);
			assert_non_null(ptr[i]);
			assert_int_equal((uintptr_t)ptr[i] % (sizes[i] >= 64 ? 64 : 8), 0);
			assert_true(is_zero(ptr[i], sizes[i]));
			fill(ptr[i], sizes[i], (unsigned char)i);
		}
		for (i = 0; i < BPFU_ARRAY_SIZE(sizes); i++)
			assert_true(is_filled(ptr[i], sizes[i], (unsigned char)i));
		for (i = 0; i < BPFU_ARRAY_SIZE(sizes); i++)
			bpfu_percpu_free(ptr[i], sizes[i]);
	}
	bpfu_percpu_free(NULL, 8);
	units_know_their_number(NULL);
}

static void impossible_sizes(void **state)
{
	(void)state;
	assert_null(bpfu_percpu_alloc(0));
	assert_null(bpfu_percpu_alloc(bpfu_percpu_stride()));
	assert_null(bpfu_percpu_alloc(SIZE_MAX));
	assert_null(bpfu_percpu_alloc(SIZE_MAX / 2 + 1));
}

/* Random allocations against a table of what each holds. */
static void random_use(void **state)
{
	enum { SLOTS = 200, ROUNDS = 20000 };
	struct {
		void *ptr;
		size_t size;
		unsigned char seed;
	} live[SLOTS] = { 0 };
	const char *env = getenv("SEED");
	unsigned int seed = env ? (unsigned int)strtoul(env, NULL, 0) : (unsigned int)getpid();
	uint32_t round, i;

	(void)state;
	printf("SEED=%u\n", seed);
	for (round = 0; round < ROUNDS; round++) {
		i = (uint32_t)rand_r(&seed) % SLOTS;
		if (live[i].ptr) {
			assert_true(is_filled(live[i].ptr, live[i].size, live[i].seed));
			bpfu_percpu_free(live[i].ptr, live[i].size);
			live[i].ptr = NULL;
			continue;
		}
		live[i].size = sizes[(uint32_t)rand_r(&seed) % (BPFU_ARRAY_SIZE(sizes) - 2)];
		live[i].seed = (unsigned char)rand_r(&seed);
		live[i].ptr = bpfu_percpu_alloc(live[i].size);
		assert_non_null(live[i].ptr);
		assert_true(is_zero(live[i].ptr, live[i].size));
		fill(live[i].ptr, live[i].size, live[i].seed);
	}
	for (i = 0; i < SLOTS; i++)
		if (live[i].ptr)
			bpfu_percpu_free(live[i].ptr, live[i].size);
}

static size_t resident_pages(void *ptr, size_t size)
{
	unsigned char *vec = calloc(size / 4096 + 2, 1);
	char *start = (char *)((uintptr_t)ptr & ~4095ul);
	size_t pages = size / 4096, cnt = 0, i;

	assert_non_null(vec);
	assert_int_equal(mincore(start, pages * 4096, vec), 0);
	for (i = 0; i < pages; i++)
		cnt += vec[i] & 1;
	free(vec);
	return cnt;
}

static void large_blocks_go_back_to_the_system(void **state)
{
	size_t size = 4u << 20;
	void *a, *b, *c;

	(void)state;
	a = bpfu_percpu_alloc(size);
	b = bpfu_percpu_alloc(size);
	assert_non_null(a);
	assert_non_null(b);
	fill(a, size, 1);
	fill(b, size, 2);
	assert_int_equal(resident_pages(a, size), size / 4096);
	bpfu_percpu_free(a, size);
	assert_true(resident_pages(a, size) <= 1);
	assert_true(is_filled(b, size, 2));
	/* A hole is used again, the rest of it, too; and then the holes are one. */
	c = bpfu_percpu_alloc(size / 2);
	assert_ptr_equal(c, a);
	assert_true(is_zero(c, size / 2));
	a = bpfu_percpu_alloc(size / 2);
	assert_ptr_equal(a, (char *)c + size / 2);
	bpfu_percpu_free(b, size);
	bpfu_percpu_free(c, size / 2);
	bpfu_percpu_free(a, size / 2);
	a = bpfu_percpu_alloc(2 * size);
	assert_ptr_equal(a, c);
	assert_true(is_zero(a, 2 * size));
	bpfu_percpu_free(a, 2 * size);
}

static void *hammer(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	void *bad = NULL;
	uint32_t i;

	for (i = 0; i < 1500 && !bad; i++) {
		size_t size = sizes[(uint32_t)rand_r(&seed) % (BPFU_ARRAY_SIZE(sizes) - 2)];
		unsigned char mark = (unsigned char)rand_r(&seed);
		void *ptr = bpfu_percpu_alloc(size);

		if (!ptr || !is_zero(ptr, size))
			bad = arg;
		fill(ptr, size, mark);
		if (!is_filled(ptr, size, mark))
			bad = arg;
		bpfu_percpu_free(ptr, size);
	}
	return bad;
}

static void threads_at_once(void **state)
{
	pthread_t threads[4];
	void *bad;
	uintptr_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
}

#if defined(__SANITIZE_ADDRESS__) || defined(BPFU_TSAN)
#define HAS_BIG_SHADOW true /* which does not fit into a small address space */
#else
#define HAS_BIG_SHADOW false
#endif

/* Runs this program again as @what under an address space of @limit bytes. */
static int rerun(const char *what, uint64_t limit)
{
	struct rlimit rl = { .rlim_cur = limit, .rlim_max = limit };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_AS, &rl);
		execl("/proc/self/exe", "test_percpu", what, (char *)NULL);
		_exit(126);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void small_address_space(void **state)
{
	(void)state;
	if (HAS_BIG_SHADOW)
		skip();
	assert_int_equal(rerun("--limited", 256u << 20), 0);
}

/* In the child: a smaller region that works, and ends in NULL. */
static int limited(void)
{
	uint64_t stride;
	size_t cnt = 0;
	void *ptr;

	if (!bpfu_possible_cpus() || !bpfu_percpu_stride())
		return 1;
	stride = bpfu_percpu_stride();
	if (stride * bpfu_possible_cpus() > 64u << 20)
		return 2;
	while ((ptr = bpfu_percpu_alloc(1u << 20))) {
		if (!is_zero(ptr, 1u << 20))
			return 3;
		cnt++;
	}
	if (cnt < (stride >> 20) / 2 || cnt > stride >> 20)
		return 4;
	return bpfu_percpu_alloc(8) && bpfu_percpu_alloc(64) ? 0 : 5;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_know_their_number),
		cmocka_unit_test(every_size),
		cmocka_unit_test(impossible_sizes),
		cmocka_unit_test(random_use),
		cmocka_unit_test(large_blocks_go_back_to_the_system),
		cmocka_unit_test(threads_at_once),
		cmocka_unit_test(small_address_space),
	};

	if (argc > 1 && !strcmp(argv[1], "--limited"))
		return limited();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
