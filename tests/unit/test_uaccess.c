// SPDX-License-Identifier: BSD-2-Clause
/*
 * uaccess: good copies of every length, bad pointers on either side give -EFAULT at any offset,
 * strings across a page end, chaining to the application's handler, tables that come and go while
 * other threads fault.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/bits.h"
#include "util/uaccess.h"

static size_t page;

/* Two pages, the second not accessible. */
static char *guarded(void)
{
	char *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_int_equal(mprotect(mem + page, page, PROT_NONE), 0);
	return mem;
}

static void test_copy_lengths(void **state)
{
	uint8_t src[600], dst[600];

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = i * 7 + 1;
	for (size_t n = 0; n < 300; n++) {
		for (size_t off = 0; off < 9; off++) {
			memset(dst, 0xee, sizeof(dst));
			assert_int_equal(bpfu_copy_from_user(dst + 8, bpfu_u64(src + off), n), 0);
			assert_memory_equal(dst + 8, src + off, n);
			assert_int_equal(dst[7], 0xee);
			assert_int_equal(dst[8 + n], 0xee);
			memset(dst, 0xee, sizeof(dst));
			assert_int_equal(bpfu_copy_to_user(bpfu_u64(dst + off), src, n), 0);
			assert_memory_equal(dst + off, src, n);
			assert_int_equal(dst[off + n], 0xee);
		}
	}
}

static void test_copy_faults(void **state)
{
	char *mem = guarded();
	char buf[512];

	bpfu_uaccess_init();
	for (size_t n = 1; n < 300; n++) {
		for (size_t in = 0; in < 20; in++) {
			uint64_t at = bpfu_u64(mem + page - in);
			int want = in >= n ? 0 : -EFAULT;

			assert_int_equal(bpfu_copy_from_user(buf, at, n), want);
			assert_int_equal(bpfu_copy_to_user(at, buf, n), want);
		}
	}
	assert_int_equal(bpfu_copy_from_user(buf, 0, 1), -EFAULT);
	assert_int_equal(bpfu_copy_from_user(buf, 0, 0), 0);
	assert_int_equal(bpfu_copy_from_user(buf, 0x4141414141414141ull, 8), -EFAULT);
	assert_int_equal(bpfu_copy_from_user(buf, UINT64_MAX - 3, 256), -EFAULT);
	assert_int_equal(bpfu_copy_to_user(0xffff888000000000ull, buf, 8), -EFAULT);
	assert_int_equal(mprotect(mem, page, PROT_READ), 0);
	assert_int_equal(bpfu_copy_to_user(bpfu_u64(mem), buf, 4), -EFAULT);
	assert_int_equal(bpfu_copy_from_user(buf, bpfu_u64(mem), 4), 0);
	munmap(mem, 2 * page);
}

static void test_strncpy(void **state)
{
	char *mem = guarded();
	char buf[64];

	bpfu_uaccess_init();
	memset(mem, 'x', page);
	memcpy(mem + page - 4, "abc", 4);
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64(mem + page - 4), sizeof(buf)), 4);
	assert_string_equal(buf, "abc");
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64("ab\0behind"), 8), 3);
	assert_memory_equal(buf, "ab\0\xee\xee", 5); /* nothing of what follows the NUL */
	mem[page - 1] = 'd';
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64(mem + page - 4), sizeof(buf)),
			 -EFAULT);
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64(mem + page - 4), 4), 4);
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64(mem), sizeof(buf)), sizeof(buf));
	assert_int_equal(bpfu_strncpy_from_user(buf, 0, sizeof(buf)), -EFAULT);
	assert_int_equal(bpfu_strncpy_from_user(buf, bpfu_u64("a longer string than a page end"),
						sizeof(buf)), 32);
	munmap(mem, 2 * page);
}

/* The application's handler, installed before the library's (main does that). */
static sigjmp_buf app_jmp;
static void *app_addr;

static void app_handler(int sig, siginfo_t *info, void *uc)
{
	app_addr = info->si_addr;
	siglongjmp(app_jmp, 1);
}

/* cmocka has its own handler in force while a test runs; what is tested needs the application's. */
static void take_segv(void)
{
	struct sigaction sa = { .sa_sigaction = app_handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	bpfu_uaccess_init();
}

static void test_chain(void **state)
{
	char *mem = guarded();
	volatile char *p = mem + page + 16;
	char buf[8];

	take_segv();
	for (int i = 0; i < 3; i++) {
		app_addr = NULL;
		assert_int_equal(bpfu_copy_from_user(buf, bpfu_u64(mem + page), 8), -EFAULT);
		assert_null(app_addr);
		if (!sigsetjmp(app_jmp, 1)) {
			*p = 1;
			fail_msg("the store did not fault");
		}
		assert_ptr_equal(app_addr, (void *)p);
	}
	munmap(mem, 2 * page);
}

/* Tables of addresses that never fault, added and removed while others fault. */
static _Atomic bool stop;

static void *churn(void *arg)
{
	struct bpfu_extable_entry tables[80][2];
	uint64_t salt = bpfu_u64(arg);

	while (!atomic_load(&stop)) {
		for (int i = 0; i < 80; i++) {
			tables[i][0] = (struct bpfu_extable_entry){ salt + i * 16, 1 };
			tables[i][1] = (struct bpfu_extable_entry){ salt + i * 16 + 8, 1 };
			assert_int_equal(bpfu_extable_register(tables[i], 2), 0);
		}
		for (int i = 0; i < 80; i++) {
			bpfu_extable_unregister(tables[i]);
			memset(tables[i], 0xff, sizeof(tables[i]));
		}
	}
	return NULL;
}

static void test_concurrent_tables(void **state)
{
	char *mem = guarded();
	pthread_t threads[2];
	char buf[8];

	bpfu_uaccess_init();
	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn,
						bpfu_ptr(0x1000 + i * 0x10000)), 0);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(bpfu_copy_from_user(buf, bpfu_u64(mem + page), 8), -EFAULT);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	munmap(mem, 2 * page);
}

static void *fault_on(void *mem)
{
	char buf[8];

	while (!atomic_load(&stop))
		bpfu_copy_from_user(buf, bpfu_u64(mem), 8);
	return NULL;
}

/* A fork while other threads add and remove tables, and look into them, leaves the child with usable ones. */
static void test_fork(void **state)
{
	const struct bpfu_extable_entry table[] = { { 0x900000, 1 } };
	char *mem = guarded();
	pthread_t threads[2];

	bpfu_uaccess_init();
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&threads[0], NULL, churn, bpfu_ptr(0x1000)), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, fault_on, mem + page), 0);
	for (int i = 0; i < 100; i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			char buf[8];

			alarm(20);
			if (bpfu_extable_register(table, 1) ||
			    bpfu_copy_from_user(buf, bpfu_u64(mem + page), 8) != -EFAULT)
				_exit(1);
			bpfu_extable_unregister(table);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	munmap(mem, 2 * page);
}

/* An application's handler that is installed after ours and chains to it. */
static struct sigaction late_prev;
static int late_calls;

static void late_handler(int sig, siginfo_t *info, void *uc)
{
	late_calls++;
	late_prev.sa_sigaction(sig, info, uc);
}

static void test_late_chaining_handler(void **state)
{
	struct sigaction sa = { .sa_sigaction = late_handler, .sa_flags = SA_SIGINFO };
	char *mem = guarded();
	volatile char *p = mem + page;
	char buf[8];

	take_segv();
	sigaction(SIGSEGV, &sa, &late_prev);
	/* Through the late handler to ours … */
	assert_int_equal(bpfu_copy_from_user(buf, bpfu_u64(mem + page), 8), -EFAULT);
	assert_int_equal(late_calls, 1);
	/* … and directly, once ours is in front again. */
	bpfu_uaccess_init();
	assert_int_equal(bpfu_copy_from_user(buf, bpfu_u64(mem + page), 8), -EFAULT);
	assert_int_equal(late_calls, 1);
	/* A fault of the application passes ours, the late one, ours, and reaches the first. */
	for (int i = 0; i < 3; i++) {
		app_addr = NULL;
		if (!sigsetjmp(app_jmp, 1)) {
			*p = 1;
			fail_msg("the store did not fault");
		}
		assert_ptr_equal(app_addr, (void *)p);
		assert_int_equal(late_calls, 2 + i);
	}
	munmap(mem, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_lengths),
		cmocka_unit_test(test_copy_faults),
		cmocka_unit_test(test_strncpy),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_late_chaining_handler),
		cmocka_unit_test(test_concurrent_tables),
		cmocka_unit_test(test_fork),
	};

	page = sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests_name("uaccess", tests, NULL, NULL);
}
