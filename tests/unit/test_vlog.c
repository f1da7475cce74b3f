// SPDX-License-Identifier: BSD-2-Clause
/* The verifier's log: attribute rules, both ways of truncating, resets, and the sizes reported. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/bits.h"
#include "util/uaccess.h"
#include "util/vlog.h"

static char out[64];

static void start(struct bpfu_log *log, uint32_t level, uint32_t size)
{
	memset(out, '#', sizeof(out));
	assert_int_equal(bpfu_log_init(log, level, bpfu_u64(out), size), 0);
}

static void finish(struct bpfu_log *log, int want, uint32_t want_size, const char *text)
{
	uint32_t true_size;

	assert_int_equal(bpfu_log_finalize(log, &true_size), want);
	assert_int_equal(true_size, want_size);
	assert_string_equal(out, text);
	assert_int_equal(out[strlen(text) + 1], '#'); /* nothing behind the NUL */
}

static void test_init_rules(void **state)
{
	struct bpfu_log log;

	assert_int_equal(bpfu_log_init(&log, 0, 0, 0), 0);
	assert_int_equal(bpfu_log_init(&log, 1, 0, 0), 0);
	assert_int_equal(bpfu_log_init(&log, 15, bpfu_u64(out), 1), 0);
	assert_int_equal(bpfu_log_init(&log, 1, bpfu_u64(out), 0), -EINVAL);
	assert_int_equal(bpfu_log_init(&log, 1, 0, 10), -EINVAL);
	assert_int_equal(bpfu_log_init(&log, 0, bpfu_u64(out), 10), -EINVAL);
	assert_int_equal(bpfu_log_init(&log, 16, bpfu_u64(out), 10), -EINVAL);
	assert_int_equal(bpfu_log_init(&log, 1, bpfu_u64(out), (UINT_MAX >> 2) + 1), -EINVAL);
	assert_int_equal(bpfu_log_init(&log, 1, bpfu_u64(out), UINT_MAX >> 2), 0);
}

static void test_fits(void **state)
{
	struct bpfu_log log;

	start(&log, 1, 12);
	bpfu_log_printf(&log, "hello %d", 12345);
	finish(&log, 0, 12, "hello 12345");
	start(&log, 1 | BPFU_LOG_FIXED, 12);
	bpfu_log_printf(&log, "hello ");
	bpfu_log_printf(&log, "%d", 12345);
	finish(&log, 0, 12, "hello 12345");
}

static void test_truncated(void **state)
{
	struct bpfu_log log;

	start(&log, 1, 8);
	for (int i = 0; i < 10; i++)
		bpfu_log_printf(&log, "%d%d%d", i, i, i);
	finish(&log, -ENOSPC, 31, "7888999");
	start(&log, 1 | BPFU_LOG_FIXED, 8);
	for (int i = 0; i < 10; i++)
		bpfu_log_printf(&log, "%d%d%d", i, i, i);
	finish(&log, -ENOSPC, 31, "0001112");
	start(&log, 1, 1);
	bpfu_log_printf(&log, "abc");
	finish(&log, -ENOSPC, 4, "");
}

static void test_reset(void **state)
{
	struct bpfu_log log;
	uint64_t pos;

	start(&log, 1, 8);
	bpfu_log_printf(&log, "abcd");
	pos = log.total;
	bpfu_log_printf(&log, "efghijkl");
	bpfu_log_reset(&log, pos);
	bpfu_log_printf(&log, "XY");
	/* "abcd" had rotated out when the reset came. */
	finish(&log, -ENOSPC, 13, "XY");

	start(&log, 1, 16);
	bpfu_log_printf(&log, "abcd");
	bpfu_log_printf(&log, "efgh");
	bpfu_log_reset(&log, 4);
	bpfu_log_printf(&log, "XY");
	finish(&log, 0, 9, "abcdXY");

	start(&log, 1 | BPFU_LOG_FIXED, 8);
	bpfu_log_printf(&log, "abcdefghijkl");
	bpfu_log_reset(&log, 2);
	bpfu_log_printf(&log, "XY");
	finish(&log, -ENOSPC, 13, "abXY");
}

/* Without a buffer only the size is found. */
static void test_size_only(void **state)
{
	struct bpfu_log log;
	uint32_t true_size;

	assert_int_equal(bpfu_log_init(&log, 1, 0, 0), 0);
	bpfu_log_printf(&log, "%060d", 0);
	assert_int_equal(bpfu_log_finalize(&log, &true_size), 0);
	assert_int_equal(true_size, 61);
	assert_int_equal(bpfu_log_init(&log, 0, 0, 0), 0);
	bpfu_log_printf(&log, "%060d", 0);
	assert_int_equal(bpfu_log_finalize(&log, &true_size), 0);
	assert_int_equal(true_size, 0);
}

static void test_long_line_and_fault(void **state)
{
	struct bpfu_log log;
	uint32_t true_size;

	bpfu_uaccess_init();
	start(&log, 1, 8);
	bpfu_log_printf(&log, "%05000d", 7);
	finish(&log, -ENOSPC, 1024, "0000000");
	assert_int_equal(bpfu_log_init(&log, 1, 16, 64), 0);
	bpfu_log_printf(&log, "abc");
	assert_int_equal(bpfu_log_finalize(&log, &true_size), -EFAULT);
	assert_int_equal(true_size, 4);
	/* Nothing written: the buffer is not touched. */
	assert_int_equal(bpfu_log_init(&log, 1, 16, 64), 0);
	assert_int_equal(bpfu_log_finalize(&log, &true_size), 0);
	assert_int_equal(true_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init_rules), cmocka_unit_test(test_fits),
		cmocka_unit_test(test_truncated),  cmocka_unit_test(test_reset),
		cmocka_unit_test(test_size_only),  cmocka_unit_test(test_long_line_and_fault),
	};

	return cmocka_run_group_tests_name("vlog", tests, NULL, NULL);
}
