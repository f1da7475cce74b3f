// SPDX-License-Identifier: BSD-2-Clause
/*
 * The pack allocator: programs side by side or on pages of their own as prog_pack says, chunks freed
 * and used again under fragmentation, traps wherever no live code is, huge pages, places that cannot
 * be foreseen.
 */
#include "test_jit_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/backend.h"
#include "jit/image.h"
#include "jit/jit.h"
#include "jit/pack.h"

static uint64_t rng_state = 0x9e3779b97f4a7c15;

static uint32_t rnd(uint32_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 32) % n;
}

static void fill(uint8_t *p, size_t n)
{
	bpfu_jit_backend_find(NULL)->writer.fill(p, n);
}

static bool is_trap(const uint8_t *p, size_t n)
{
	uint8_t trap[BPFU_PACK_CHUNK];

	fill(trap, sizeof(trap));
	for (size_t i = 0; i < n; i += sizeof(trap))
		if (memcmp(p + i, trap, sizeof(trap)))
			return false;
	return true;
}

static void get(struct bpfu_image *image, size_t size, unsigned int flags)
{
	assert_int_equal(bpfu_image_alloc(image, size, flags, fill), 0);
	assert_true(image->size >= size);
	assert_int_equal((uintptr_t)image->rx % BPFU_PACK_CHUNK, 0);
	assert_true(is_trap(image->rx - image->lead, image->lead + image->size));
}

/* In reach of a direct call of every machine, which on arm64 is 128 MiB, with all of libbpfu between. */
static void test_near(void **state)
{
	const unsigned int flags[] = { 0, BPFU_IMAGE_OWN_PAGES, BPFU_IMAGE_ANONYMOUS };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(flags); i++) {
		struct bpfu_image image;
		intptr_t distance;

		get(&image, 100, flags[i]);
		distance = (intptr_t)bpfu_image_alloc - (intptr_t)image.rx;
		assert_true(distance > 0 && distance < 64l << 20);
		bpfu_image_free(&image, fill);
	}
}

/* The option decides; the sum of pages is counted, not believed. */
static void test_switch(void **state)
{
	enum { N = 128 };
	struct bpf_insn insns[] = { MOV_I(R0, 0), EXIT() };
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	static struct jprog p[N];

	for (int on = 0; on < 2; on++) {
		uintptr_t last = 0;
		size_t pages = 0;

		for (int i = 0; i < N; i++) {
			insns[0].imm = i;
			jprog_init(&p[i], insns, 2, 0);
			p[i].jit.options.prog_pack = on;
			assert_int_equal(jprog_compile(&p[i], J_HOST), 0);
			if ((uintptr_t)p[i].jit.jit->code / page != last)
				pages++;
			last = (uintptr_t)p[i].jit.jit->code / page;
		}
		if (on)
			assert_true(pages <= N * 2 * BPFU_PACK_CHUNK / page + 1);
		else
			assert_int_equal(pages, N);
		for (int i = 0; i < N; i++)
			assert_int_equal(jprog_run_jit(&p[i], NULL), i);
		for (int i = 0; i < N; i++)
			jprog_release(&p[i]);
	}
}

/* Images of all sizes come and go; each keeps its bytes, and all else of the regions is traps. */
static void test_fragments(void **state)
{
	enum { N = 400, ROUNDS = 6000 };
	static struct bpfu_image images[N];
	static uint8_t owner[N];
	struct bpfu_image_stats stats;
	size_t held = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t i = rnd(N);
		struct bpfu_image *m = &images[i];

		if (m->rx) {
			for (size_t b = 0; b < m->size; b++)
				assert_int_equal(m->rx[b], owner[i]);
			held -= m->size;
			bpfu_image_free(m, fill);
			memset(m, 0, sizeof(*m));
			continue;
		}
		get(m, 1 + rnd(rnd(8) ? 700 : 20000), 0);
		owner[i] = (uint8_t)(1 + i % 255);
		memset(m->rw, owner[i], m->size);
		assert_int_equal(bpfu_image_seal(m), 0);
		held += m->size;
	}
	bpfu_image_stats(&stats);
	assert_int_equal(stats.kind[BPFU_PACK_CHUNKS].used, held);
	/* Little is lost between the images. */
	assert_true(stats.kind[BPFU_PACK_CHUNKS].regions * BPFU_PACK_SIZE <
		    2 * held + 2 * BPFU_PACK_SIZE);
	for (int i = 0; i < N; i++) {
		uint8_t *rx = images[i].rx;

		if (!rx)
			continue;
		bpfu_image_free(&images[i], fill);
		bpfu_image_stats(&stats);
		/* As long as its region is there, it is full of traps. */
		if (stats.kind[BPFU_PACK_CHUNKS].used &&
		    stats.kind[BPFU_PACK_CHUNKS].regions == 1)
			assert_true(is_trap(rx, BPFU_PACK_CHUNK));
	}
	bpfu_image_stats(&stats);
	assert_int_equal(stats.kind[BPFU_PACK_CHUNKS].used, 0);
	/* Empty regions go, but for one. */
	assert_int_equal(stats.kind[BPFU_PACK_CHUNKS].regions, 1);
}

/* The rest of a page that an image lies on is traps as well, before it was ever used. */
static void test_rest_of_page(void **state)
{
	const size_t page = 4096;
	struct bpfu_image image;
	uint8_t *start;

	get(&image, 10, 0);
	start = (uint8_t *)((uintptr_t)image.rx & ~(page - 1));
	memset(image.rw, 0x5a, image.size);
	assert_int_equal(bpfu_image_seal(&image), 0);
	assert_true(is_trap(image.rx + image.size, (size_t)(start + page - image.rx) - image.size));
	assert_true(is_trap(start, (size_t)(image.rx - start)));
	bpfu_image_free(&image, fill);
	assert_true(is_trap(start, page));
}

/* Kilobytes of the mapping at @addr that the field @key of smaps tells; -1 without the field. */
static long smaps(const void *addr, const char *key)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool inside = false;
	char line[512];
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f)) {
		unsigned long lo, hi;

		if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2 && strchr(line, '-') < strchr(line, ' '))
			inside = (uintptr_t)addr >= lo && (uintptr_t)addr < hi;
		else if (inside && !strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %ld", &kb);
	}
	fclose(f);
	return kb;
}

/*
 * From an eighth on a region asks for a huge page. What is counted is believed only if the kernel says
 * the same; where it gives none, the programs run all the same.
 */
static void test_huge(void **state)
{
	enum { N = BPFU_PACK_SIZE / 8 / 1024 };
	static struct bpfu_image images[N + 1];
	struct bpfu_image_stats before, after;
	uint8_t *region;

	bpfu_image_stats(&before);
	for (int i = 0; i < N; i++)
		get(&images[i], 1024, 0);
	bpfu_image_stats(&after);
	region = (uint8_t *)((uintptr_t)images[0].rx & ~(BPFU_PACK_SIZE - 1));
	assert_ptr_equal((uint8_t *)((uintptr_t)images[N - 1].rx & ~(BPFU_PACK_SIZE - 1)), region);
	if (after.kind[BPFU_PACK_CHUNKS].huge) {
		assert_int_equal(smaps(region, "ShmemPmdMapped"), BPFU_PACK_SIZE / 1024);
		for (int i = 0; i < N; i++)
			bpfu_image_free(&images[i], fill);
		assert_true(is_trap(region, BPFU_PACK_SIZE));
	} else {
		print_message("note: this kernel gives shared memory no huge pages\n");
		for (int i = 0; i < N; i++)
			bpfu_image_free(&images[i], fill);
	}
	/* Pages of their own never become one. */
	for (int i = 0; i <= N; i++)
		get(&images[i], 1024, BPFU_IMAGE_OWN_PAGES);
	bpfu_image_stats(&after);
	assert_int_equal(after.kind[BPFU_PACK_PAGES].huge, 0);
	region = images[0].rx;
	assert_true(smaps(region, "ShmemPmdMapped") <= 0);
	for (int i = 0; i <= N; i++)
		bpfu_image_free(&images[i], fill);
}

/* Two rows of images at random places differ; each has its place for itself. */
static void random_places(unsigned int flags)
{
	enum { N = 32 };
	struct bpfu_image images[2][N];
	int same = 0;

	for (int row = 0; row < 2; row++) {
		for (int i = 0; i < N; i++) {
			get(&images[row][i], 100, BPFU_IMAGE_RANDOM | flags);
			memset(images[row][i].rw, 1 + i, images[row][i].size);
			assert_int_equal(bpfu_image_seal(&images[row][i]), 0);
		}
		for (int i = 0; i < N; i++)
			for (size_t b = 0; b < images[row][i].size; b++)
				assert_int_equal(images[row][i].rx[b], 1 + i);
		for (int i = 0; i < N; i++)
			bpfu_image_free(&images[row][i], fill);
	}
	for (int i = 0; i < N; i++)
		same += (uintptr_t)images[0][i].rx % BPFU_PACK_SIZE ==
			(uintptr_t)images[1][i].rx % BPFU_PACK_SIZE;
	/* 63 places in a page at least: more than 8 of 32 by chance in 1 of 10^8 runs. */
	assert_true(same <= 8);
}

static void test_random(void **state)
{
	random_places(0);
	bpfu_image_set_mode(BPFU_IMAGE_ANON);
	random_places(0);
	bpfu_image_set_mode(BPFU_IMAGE_AUTO);
}

/* On pages of its own the start within the page is what varies. */
static void test_random_in_page(void **state)
{
	enum { N = 64 };
	struct bpfu_image images[N];
	size_t at_start = 0;

	for (int i = 0; i < N; i++) {
		get(&images[i], 100, BPFU_IMAGE_OWN_PAGES);
		at_start += !((uintptr_t)images[i].rx % 4096);
	}
	assert_true(at_start < N / 2);
	for (int i = 0; i < N; i++)
		bpfu_image_free(&images[i], fill);
}

/* False where regions are of no use: an emulator, or a system that forbids executable memfds. */
static bool has_regions(void)
{
	struct bpfu_image image;
	bool has;

	get(&image, 1, 0);
	has = image.region;
	bpfu_image_free(&image, fill);
	return has;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near), cmocka_unit_test(test_switch),       cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_rest_of_page), cmocka_unit_test(test_huge),
		cmocka_unit_test(test_random),       cmocka_unit_test(test_random_in_page),
	};

	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	if (!has_regions()) {
		puts("SKIP: no memory that is executable in one mapping and writable in another");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
