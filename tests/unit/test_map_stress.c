// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many threads at once, as "programs" inside sections and as commands outside. Counts are exact, or
 * the contents of values say what must hold whenever they are seen. Made for ThreadSanitizer and
 * AddressSanitizer as well as for plain runs; the amount of work is fixed, not the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "bpfu/bpfu.h"
#include "map/htab.h"
#include "map_twin.h"
#include "no_membarrier.h"
#include "percpu/fence.h"
#include "percpu/percpu_alloc.h"

enum { MANY = 64, FEW = 6 };

#if defined(__SANITIZE_ADDRESS__) || defined(BPFU_TSAN)
#define WORK(n) ((n) / 10)
#else
#define WORK(n) (n)
#endif

static unsigned int seed_base;

static void run_threads(uint32_t cnt, void *(*fn)(void *), void *arg)
{
	pthread_t threads[MANY];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fn, arg), 0);
	for (i = 0; i < cnt; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* ---- per-CPU counters ---- */

struct counting {
	void *pptr;
	struct bpfu_map *map;
};

#define COUNTS WORK(20000)

/* Plain additions: right only if nobody else owns the slot at the time. */
static void *count_plainly(void *arg)
{
	struct counting *c = arg;
	uint64_t *n;
	uint32_t i;

	for (i = 0; i < COUNTS; i++) {
		bpfu_cpu_enter();
		n = bpfu_percpu_this(c->pptr);
		n[0] += 1;
		bpfu_cpu_enter();
		n[1] += n[0] & 1;
		bpfu_cpu_exit();
		n[2] += 3;
		bpfu_cpu_exit();
	}
	return NULL;
}

static void no_count_is_lost(void **state)
{
	struct counting c = { .pptr = bpfu_percpu_alloc(24) };
	uint64_t ones = 0, threes = 0, *n;
	uint32_t cpu;

	(void)state;
	assert_non_null(c.pptr);
	run_threads(MANY, count_plainly, &c);
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		n = bpfu_percpu_of(c.pptr, cpu);
		ones += n[0];
		threes += n[2];
		/* Odd values of a counter that nobody else touches are every second one. */
		assert_int_equal(n[1], (n[0] + 1) / 2);
	}
	assert_int_equal(ones, (uint64_t)MANY * COUNTS);
	assert_int_equal(threes, (uint64_t)MANY * COUNTS * 3);
	bpfu_percpu_free(c.pptr, 24);
}

static void *count_in_map(void *arg)
{
	struct counting *c = arg;
	uint64_t one = 1, *n;
	uint32_t i, key = 3;

	for (i = 0; i < COUNTS; i++) {
		bpfu_cpu_enter();
		n = c->map->ops->lookup(c->map, &key);
		if (n)
			*n += 1;
		else
			c->map->ops->update(c->map, &key, &one, BPF_ANY);
		bpfu_cpu_exit();
	}
	return NULL;
}

static void no_count_is_lost_in_maps(void **state)
{
	const uint32_t types[] = { BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_PERCPU_HASH };
	uint32_t cpus = bpfu_possible_cpus(), cpu, key = 3;
	uint64_t *values = calloc(cpus, 8), total;
	struct counting c;
	size_t i;

	(void)state;
	assert_non_null(values);
	for (i = 0; i < 2; i++) {
		union bpf_attr attr = twin_attr(types[i], 4, 8, 8, 0);

		assert_int_equal(bpfu_map_create(&attr, NULL, &c.map), 0);
		/* There from the start: a racing first update would start at 1 again, as on a
		 * kernel. */
		memset(values, 0, cpus * 8);
		assert_int_equal(bpfu_map_update_user(c.map, &key, values, BPF_ANY), 0);
		run_threads(MANY, count_in_map, &c);
		assert_int_equal(bpfu_map_lookup_user(c.map, &key, values, 0), 0);
		for (cpu = 0, total = 0; cpu < cpus; cpu++)
			total += values[cpu];
		assert_int_equal(total, (uint64_t)MANY * COUNTS);
		bpfu_map_put(c.map);
	}
	free(values);
}

/*
 * Threads that are mostly outside of programs, more than there are slots: leases change hands all
 * the time, just when their owners enter again. The word in the slot says who is in.
 */
struct stealing {
	uint64_t *pptr; /* per CPU: who is inside, and how many have been */
	_Atomic uint64_t together;
	_Atomic uint32_t next_thread;
};

static void *enter_now_and_then(void *arg)
{
	struct stealing *s = arg;
	uint32_t me = 1 + atomic_fetch_add(&s->next_thread, 1), i, pause;
	unsigned int seed = seed_base + me;
	uint64_t *word;

	for (i = 0; i < WORK(100000); i++) {
		bpfu_cpu_enter();
		word = bpfu_percpu_this(s->pptr);
		if (word[0])
			atomic_fetch_add(&s->together, 1);
		word[0] = me;
		word[1]++;
		for (pause = i % 8; pause; pause--)
			bpfu_pause();
		if (word[0] != me)
			atomic_fetch_add(&s->together, 1);
		word[0] = 0;
		bpfu_cpu_exit();
		for (pause = (uint32_t)rand_r(&seed) % 32; pause; pause--)
			bpfu_pause();
	}
	return NULL;
}

static void nobody_is_robbed_inside(void **state)
{
	struct stealing s = { .pptr = bpfu_percpu_alloc(64) };
	uint64_t total = 0;
	uint32_t cpu;

	(void)state;
	assert_non_null(s.pptr);
	run_threads(FEW, enter_now_and_then, &s);
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		total += ((uint64_t *)bpfu_percpu_of(s.pptr, cpu))[1];
	assert_int_equal(atomic_load(&s.together), 0);
	assert_int_equal(total, (uint64_t)FEW * WORK(100000));
	bpfu_percpu_free(s.pptr, 64);
}

/* Threads that start, run a few programs and end, all the time, against ones that stay. */
static void *short_life(void *arg)
{
	struct counting *c = arg;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		bpfu_cpu_enter();
		*(uint64_t *)bpfu_percpu_this(c->pptr) += 1;
		bpfu_cpu_exit();
	}
	return NULL;
}

static void threads_come_and_go(void **state)
{
	struct counting c = { .pptr = bpfu_percpu_alloc(24) };
	uint32_t rounds = WORK(300), i, cpu;
	uint64_t total = 0;
	pthread_t stays[2];

	(void)state;
	assert_non_null(c.pptr);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&stays[i], NULL, count_plainly, &c), 0);
	for (i = 0; i < rounds; i++)
		run_threads(16, short_life, &c);
	for (i = 0; i < 2; i++)
		pthread_join(stays[i], NULL);
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		total += *(uint64_t *)bpfu_percpu_of(c.pptr, cpu);
	assert_int_equal(total, 2ull * COUNTS + 16ull * 5 * rounds);
	bpfu_percpu_free(c.pptr, 24);
}

/* ---- hash tables ---- */

/*
 * A value tells which key it belongs to: both words derive from the key and a random number.
 * Whoever sees words of two keys, or of a freed element, notices.
 */
enum { KEYS = 40 };

struct value {
	uint64_t key_check;
	uint64_t words[2];
};

#define CHECK(key) ((key) * 0x9e3779b97f4a7c15u + 1)

struct hashing {
	struct bpfu_map *map;
	bool percpu;
	_Atomic uint64_t wrong;   /* a value that is not its key's */
	_Atomic uint64_t failed;  /* an errno that cannot be */
	_Atomic uint64_t missing; /* a key that is never removed was not found */
	_Atomic uint32_t next_thread;
};

/* Programs' accesses are plain in generated code; here they are atomic for the sanitizer's sake. */
static uint64_t peek(const uint64_t *word)
{
	return atomic_load_explicit((const _Atomic uint64_t *)word, memory_order_relaxed);
}

static void prog_step(struct hashing *h, unsigned int *seed)
{
	uint64_t key = (uint32_t)rand_r(seed) % KEYS;
	struct value v = { .key_check = CHECK(key), .words = { rand_r(seed), 1 } };
	uint32_t op = (uint32_t)rand_r(seed) % 8;
	struct value *found;
	int err = 0;

	if (op < 3) {
		found = h->map->ops->lookup(h->map, &key);
		/* May be another key's by now, but some key's it is; per CPU also zero. */
		if (found && !h->percpu && key < 8 && peek(&found->key_check) == 0)
			atomic_fetch_add(&h->wrong, 1);
		if (!found && key < 4)
			atomic_fetch_add(&h->missing, 1);
	} else if (op < 6) {
		err = h->map->ops->update(h->map, &key, &v, BPF_ANY);
	} else if (key >= 8) {
		err = h->map->ops->delete(h->map, &key);
		err = err == -ENOENT ? 0 : err;
	}
	if (err && err != -E2BIG)
		atomic_fetch_add(&h->failed, 1);
}

static void check_value(struct hashing *h, uint64_t key, const struct value *values)
{
	uint32_t cpus = h->percpu ? bpfu_possible_cpus() : 1, cpu;

	for (cpu = 0; cpu < cpus; cpu++) {
		const struct value *v = &values[cpu];

		if (v->key_check == CHECK(key))
			continue;
		/* A slot that nobody has written. */
		if (h->percpu && v->key_check == 0)
			continue;
		atomic_fetch_add(&h->wrong, 1);
	}
}

static void user_step(struct hashing *h, unsigned int *seed, struct value *values)
{
	uint64_t key = (uint32_t)rand_r(seed) % KEYS, next;
	uint32_t op = (uint32_t)rand_r(seed) % 10, cpus, cpu;
	int err = 0;

	if (op < 4) {
		err = bpfu_map_lookup_user(h->map, &key, values, 0);
		if (!err)
			check_value(h, key, values);
		else if (key < 4)
			atomic_fetch_add(&h->missing, 1);
	} else if (op < 6) {
		cpus = h->percpu ? bpfu_possible_cpus() : 1;
		for (cpu = 0; cpu < cpus; cpu++)
			values[cpu] = (struct value){ .key_check = CHECK(key) };
		err = bpfu_map_update_user(h->map, &key, values, BPF_ANY);
	} else if (op < 7) {
		err = bpfu_map_get_next_key(h->map, &key, &next);
		if (!err && next >= KEYS)
			atomic_fetch_add(&h->wrong, 1);
	} else if (key >= 8 && op < 9) {
		err = bpfu_map_lookup_and_delete_user(h->map, &key, values, 0);
		if (!err)
			check_value(h, key, values);
	} else if (key >= 8) {
		err = bpfu_map_delete_user(h->map, &key);
	}
	if (err && err != -ENOENT && err != -E2BIG)
		atomic_fetch_add(&h->failed, 1);
}

static void *hash_thread(void *arg)
{
	struct hashing *h = arg;
	uint32_t me = atomic_fetch_add(&h->next_thread, 1), i, j;
	struct value *values = calloc(bpfu_possible_cpus(), sizeof(*values));
	unsigned int seed = seed_base + me;

	for (i = 0; values && i < WORK(6000); i++) {
		if (me & 1) {
			user_step(h, &seed, values);
			continue;
		}
		bpfu_cpu_enter();
		for (j = 0; j < 8; j++)
			prog_step(h, &seed);
		bpfu_cpu_exit();
	}
	free(values);
	return NULL;
}

static void hash_stress(uint32_t type, uint32_t flags, uint32_t capacity)
{
	union bpf_attr attr = twin_attr(type, 8, sizeof(struct value), capacity, flags);
	struct hashing h = { .percpu = type == BPF_MAP_TYPE_PERCPU_HASH };
	struct value *values = calloc(bpfu_possible_cpus(), sizeof(*values));
	uint32_t cpu, cnt = 0;
	uint64_t key;

	assert_non_null(values);
	assert_int_equal(bpfu_map_create(&attr, NULL, &h.map), 0);
	for (key = 0; key < 8; key++) {
		for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
			values[cpu].key_check = CHECK(key);
		assert_int_equal(bpfu_map_update_user(h.map, &key, values, BPF_ANY), 0);
	}
	run_threads(FEW, hash_thread, &h);
	assert_int_equal(atomic_load(&h.wrong), 0);
	assert_int_equal(atomic_load(&h.failed), 0);
	assert_int_equal(atomic_load(&h.missing), 0);

	/* Nothing was lost: the map holds what it can, no more and no less. */
	for (key = 0; key < KEYS; key++)
		bpfu_map_delete_user(h.map, &key);
	assert_int_equal(bpfu_map_get_next_key(h.map, NULL, &key), -ENOENT);
	for (key = 1000; bpfu_map_update_user(h.map, &key, values, BPF_ANY) == 0; key++)
		cnt++;
	assert_int_equal(cnt, capacity);
	bpfu_map_put(h.map);
	bpfu_rcu_barrier();
	free(values);
}

static void hash_prealloc(void **state)
{
	(void)state;
	hash_stress(BPF_MAP_TYPE_HASH, 0, 16);
	hash_stress(BPF_MAP_TYPE_HASH, 0, 4096);
}

static void hash_no_prealloc(void **state)
{
	(void)state;
	hash_stress(BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 16);
	hash_stress(BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 4096);
}

static void percpu_hash_prealloc(void **state)
{
	(void)state;
	hash_stress(BPF_MAP_TYPE_PERCPU_HASH, 0, 16);
	hash_stress(BPF_MAP_TYPE_PERCPU_HASH, 0, 4096);
}

static void percpu_hash_no_prealloc(void **state)
{
	(void)state;
	hash_stress(BPF_MAP_TYPE_PERCPU_HASH, BPF_F_NO_PREALLOC, 16);
	hash_stress(BPF_MAP_TYPE_PERCPU_HASH, BPF_F_NO_PREALLOC, 4096);
}

/*
 * One bucket for everything, keys that stay among keys that come and go: look-ups are led astray
 * all the time, and must find what is there.
 */
static void *find_the_steady(void *arg)
{
	struct hashing *h = arg;
	uint32_t me = atomic_fetch_add(&h->next_thread, 1), i;
	unsigned int seed = seed_base + me;
	struct value v = { 0 }, *found;
	uint64_t key;

	for (i = 0; i < WORK(100000); i++) {
		bpfu_cpu_enter();
		if (me & 1) {
			key = 100 + (uint32_t)rand_r(&seed) % 3;
			if (h->map->ops->delete(h->map, &key))
				h->map->ops->update(h->map, &key, &v, BPF_ANY);
			key = (uint32_t)rand_r(&seed) % 2;
			v.key_check = CHECK(key);
			h->map->ops->update(h->map, &key, &v, BPF_EXIST);
		} else {
			key = (uint32_t)rand_r(&seed) % 2;
			found = h->map->ops->lookup(h->map, &key);
			if (!found)
				atomic_fetch_add(&h->missing, 1);
		}
		bpfu_cpu_exit();
	}
	return NULL;
}

static void nothing_steady_is_missed(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_HASH, 8, sizeof(struct value), 5, 0);
	struct value v = { 0 };
	struct hashing h = { 0 };
	struct bpfu_htab *htab;
	uint64_t key;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &h.map), 0);
	htab = bpfu_htab_of(h.map);
	htab->mask = 0;
	for (key = 0; key < 2; key++)
		assert_int_equal(bpfu_map_update_user(h.map, &key, &v, BPF_ANY), 0);
	run_threads(FEW, find_the_steady, &h);
	assert_int_equal(atomic_load(&h.missing), 0);
	htab->mask = 7; /* as it was, for the end of the map */
	bpfu_map_put(h.map);
	bpfu_rcu_barrier();
}

/*
 * Growing to many chunks and shrinking to few, while programs look on: use after unmapping, if any.
 */
static void *grow_and_shrink(void *arg)
{
	struct hashing *h = arg;
	uint32_t me = atomic_fetch_add(&h->next_thread, 1), round, i;
	struct value v = { 0 };
	uint64_t key;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < WORK(20000); i++) {
			key = (uint64_t)me << 32 | i;
			if (me & 1) {
				bpfu_map_update_user(h->map, &key, &v, BPF_ANY);
			} else {
				key |= 1ull << 32;
				bpfu_cpu_enter();
				h->map->ops->lookup(h->map, &key);
				if (i % 8 == 0)
					h->map->ops->delete(h->map, &key);
				bpfu_cpu_exit();
			}
		}
		for (i = 0; me & 1 && i < WORK(20000); i++) {
			key = (uint64_t)me << 32 | i;
			bpfu_map_delete_user(h->map, &key);
		}
	}
	return NULL;
}

static void chunks_come_and_go(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_HASH, 8, sizeof(struct value), 100000,
					BPF_F_NO_PREALLOC);
	struct hashing h = { 0 };
	uint64_t key;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &h.map), 0);
	run_threads(4, grow_and_shrink, &h);
	assert_int_equal(bpfu_map_get_next_key(h.map, NULL, &key), -ENOENT);
	assert_true(atomic_load(&bpfu_htab_of(h.map)->chunk_cnt) < 16);
	bpfu_map_put(h.map);
	bpfu_rcu_barrier();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_count_is_lost),
		cmocka_unit_test(no_count_is_lost_in_maps),
		cmocka_unit_test(nobody_is_robbed_inside),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(hash_prealloc),
		cmocka_unit_test(hash_no_prealloc),
		cmocka_unit_test(percpu_hash_prealloc),
		cmocka_unit_test(percpu_hash_no_prealloc),
		cmocka_unit_test(nothing_steady_is_missed),
		cmocka_unit_test(chunks_come_and_go),
	};
	const char *env = getenv("SEED");
	int exit_code = no_membarrier_main(argc, argv);

	if (exit_code)
		return exit_code;
	seed_base = env ? (unsigned int)strtoul(env, NULL, 0) : (unsigned int)getpid();
	printf("SEED=%u\n", seed_base);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
