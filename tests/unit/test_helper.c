// SPDX-License-Identifier: BSD-2-Clause
/* The table of helpers, and bodies whose results do not depend on a kernel to compare with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "helper/bodies.h"
#include "helper/helper.h"
#include "helper/net.h"
#include "map/map.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/uaccess.h"

#define CALL0(name) bpfu_helper_##name(0, 0, 0, 0, 0)

/* ---- the table ---- */

static void test_rows(void **state)
{
	int rows = 0;

	for (int32_t id = -1; id < 300; id++) {
		const struct bpfu_helper *h = bpfu_helper_by_id(id);
		bool ended = false;

		if (!h)
			continue;
		rows++;
		assert_string_equal(h->name, bpfu_helper_name(id));
		assert_true(h->flags & (BPFU_HELPER_BASE | BPFU_HELPER_TRACING | BPFU_HELPER_SKB |
					BPFU_HELPER_FILTER | BPFU_HELPER_XDP | BPFU_HELPER_SYSCALL |
					BPFU_HELPER_ON_FUNC));
		/* Only bpf_tail_call() is not callable. */
		assert_int_equal(h->fn == NULL, id == BPF_FUNC_tail_call);
		for (int i = 0; i < 5; i++) {
			uint32_t arg = h->arg[i] & ~BPFU_ARG_MAYBE_NULL;

			ended |= arg == BPFU_ARG_NONE;
			assert_int_equal(ended, arg == BPFU_ARG_NONE);
			/* Memory comes with its size, a size with its memory. */
			if (arg == BPFU_ARG_PTR_TO_MEM || arg == BPFU_ARG_PTR_TO_UNINIT_MEM ||
			    arg == BPFU_ARG_PTR_TO_MEM_WRITE)
				assert_true(i < 4 && (h->arg[i + 1] == BPFU_ARG_CONST_SIZE ||
						      h->arg[i + 1] == BPFU_ARG_CONST_SIZE_OR_ZERO));
		}
	}
	assert_true(rows >= 50);
	assert_null(bpfu_helper_by_id(0));
	assert_null(bpfu_helper_by_id(INT32_MAX));
	assert_string_equal(bpfu_helper_name(0), "bpf_unspec");
}

/* ---- the current task ---- */

static void *ids_of_thread(void *arg)
{
	uint64_t *ids = arg;

	ids[0] = CALL0(get_current_pid_tgid);
	ids[1] = (uint32_t)syscall(SYS_gettid);
	ids[2] = CALL0(get_current_task);
	return NULL;
}

static void test_ids(void **state)
{
	uint64_t ids[3];
	pthread_t thread;
	int status;
	pid_t pid;

	assert_int_equal(CALL0(get_current_pid_tgid),
			 (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid));
	assert_int_equal(CALL0(get_current_uid_gid), (uint64_t)getgid() << 32 | getuid());
	assert_int_equal(pthread_create(&thread, NULL, ids_of_thread, ids), 0);
	pthread_join(thread, NULL);
	assert_int_equal(ids[0], (uint64_t)getpid() << 32 | ids[1]);
	assert_int_not_equal(ids[1], (uint32_t)getpid());
	assert_int_not_equal(ids[2], CALL0(get_current_task));
	/* The pair is cached, but not beyond a fork. */
	pid = fork();
	if (!pid)
		_exit(CALL0(get_current_pid_tgid) == ((uint64_t)getpid() << 32 | (uint32_t)getpid()) ?
			      0 :
			      1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_comm(void **state)
{
	char buf[32], old[17];

	prctl(PR_GET_NAME, old);
	prctl(PR_SET_NAME, "helper-test");
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(bpfu_helper_get_current_comm(bpfu_u64(buf), 16, 0, 0, 0), 0);
	assert_string_equal(buf, "helper-test");
	assert_int_equal(buf[15], 0);
	assert_int_equal((uint8_t)buf[16], 0xee);
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(bpfu_helper_get_current_comm(bpfu_u64(buf), 4, 0, 0, 0), 0);
	assert_string_equal(buf, "hel");
	assert_int_equal((uint8_t)buf[4], 0xee);
	prctl(PR_SET_NAME, old);
}

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

/* A thread sanitizer hands signals on at the next call that may block. */
static int signal_seen(void)
{
	for (int i = 0; i < 1000 && !got_signal; i++)
		usleep(10);
	return got_signal;
}

static void test_send_signal(void **state)
{
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	assert_int_equal(bpfu_helper_send_signal(SIGUSR1, 0, 0, 0, 0), 0);
	assert_int_equal(signal_seen(), SIGUSR1);
	got_signal = 0;
	assert_int_equal(bpfu_helper_send_signal_thread(SIGUSR2, 0, 0, 0, 0), 0);
	assert_int_equal(signal_seen(), SIGUSR2);
	assert_int_equal((int64_t)bpfu_helper_send_signal(65, 0, 0, 0, 0), -EINVAL);
	assert_int_equal((int64_t)bpfu_helper_send_signal_thread((uint32_t)-1, 0, 0, 0, 0), -EINVAL);
}

/* ---- clocks and chance ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_clocks(void **state)
{
	static const struct {
		bpfu_helper_fn fn;
		clockid_t clock;
	} rows[] = {
		{ bpfu_helper_ktime_get_ns, CLOCK_MONOTONIC },
		{ bpfu_helper_ktime_get_boot_ns, CLOCK_BOOTTIME },
		{ bpfu_helper_ktime_get_coarse_ns, CLOCK_MONOTONIC_COARSE },
		{ bpfu_helper_ktime_get_tai_ns, CLOCK_TAI },
	};

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(rows); i++) {
		uint64_t before = clock_ns(rows[i].clock), t = rows[i].fn(0, 0, 0, 0, 0);

		assert_true(before <= t && t <= clock_ns(rows[i].clock));
	}
	assert_true(CALL0(jiffies64) >= (uint32_t)-300000);
}

static void test_prandom(void **state)
{
	uint64_t ones = 0, seen_high = 0;

	for (int i = 0; i < 4096; i++) {
		uint64_t r = CALL0(get_prandom_u32);

		assert_true(r <= UINT32_MAX);
		ones += (unsigned int)__builtin_popcountll(r);
		seen_high |= r;
	}
	assert_int_equal(seen_high, UINT32_MAX);
	/* 131072 bits: far more than ten standard deviations. */
	assert_in_range(ones, 65536 - 4000, 65536 + 4000);
}

/* ---- probe_read ---- */

static void test_probe_read(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[16];

	bpfu_uaccess_init(); /* in front of cmocka's handler */
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	memcpy(page + 4088, "end\0tail", 8);

	assert_int_equal(bpfu_helper_probe_read(bpfu_u64(buf), 8, bpfu_u64(page + 4088), 0, 0), 0);
	assert_memory_equal(buf, "end\0tail", 8);
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal((int64_t)bpfu_helper_probe_read_kernel(bpfu_u64(buf), 9,
								bpfu_u64(page + 4088), 0, 0), -EFAULT);
	assert_memory_equal(buf, "\0\0\0\0\0\0\0\0\0\xee", 10); /* no stale bytes, none too many */
	assert_int_equal((int64_t)bpfu_helper_probe_read_user(bpfu_u64(buf), 1, 0, 0, 0), -EFAULT);
	assert_int_equal(bpfu_helper_probe_read(bpfu_u64(buf), 0, 0, 0, 0), 0);
	assert_int_equal((int64_t)bpfu_helper_copy_from_user(bpfu_u64(buf), 4, ~0ull, 0, 0), -EFAULT);

	assert_int_equal(bpfu_helper_probe_read_str(bpfu_u64(buf), 16, bpfu_u64(page + 4088), 0, 0), 4);
	assert_string_equal(buf, "end");
	assert_int_equal(bpfu_helper_probe_read_user_str(bpfu_u64(buf), 3, bpfu_u64(page + 4088), 0, 0),
			 3);
	assert_string_equal(buf, "en");
	memset(buf, 0xee, sizeof(buf));
	/* No NUL before the end of the page. */
	assert_int_equal((int64_t)bpfu_helper_probe_read_kernel_str(bpfu_u64(buf), 16,
								    bpfu_u64(page + 4092), 0, 0),
			 -EFAULT);
	assert_int_equal(buf[0], 0);
	assert_int_equal(bpfu_helper_probe_read_str(bpfu_u64(buf), 0, 0, 0, 0), 0);
	munmap(page, 4096);
}

/* ---- printing ---- */

static char last_line[512];

static void keep_line(enum bpfu_log_level level, const char *line, void *ctx)
{
	if (level == BPFU_LOG_INFO)
		strncpy(last_line, line, sizeof(last_line) - 1);
}

static void test_trace_printk(void **state)
{
	static const char fmt[] = "x=%d y=%s\n", bad[] = "%d %d %d %d";
	const uint64_t args[] = { 7, bpfu_u64("text") };
	char long_fmt[1500];

	bpfu_set_log_cb(keep_line, NULL);
	assert_int_equal(bpfu_helper_trace_printk(bpfu_u64(fmt), sizeof(fmt), args[0], args[1], 0), 11);
	assert_string_equal(last_line, "bpf_trace_printk: x=7 y=text");
	assert_int_equal((int64_t)bpfu_helper_trace_printk(bpfu_u64(fmt), sizeof(fmt) - 1, 0, 0, 0),
			 -EINVAL); /* no NUL */
	assert_int_equal((int64_t)bpfu_helper_trace_printk(bpfu_u64(bad), sizeof(bad), 0, 0, 0),
			 -EINVAL); /* more than three */
	assert_int_equal(bpfu_helper_trace_vprintk(bpfu_u64(fmt), sizeof(fmt), bpfu_u64(args), 16, 0),
			 11);
	assert_int_equal((int64_t)bpfu_helper_trace_vprintk(bpfu_u64(fmt), sizeof(fmt), bpfu_u64(args),
							    12, 0), -EINVAL);
	assert_int_equal((int64_t)bpfu_helper_trace_vprintk(bpfu_u64(fmt), sizeof(fmt), 0, 16, 0),
			 -EINVAL);
	assert_int_equal((int64_t)bpfu_helper_trace_vprintk(bpfu_u64(fmt), sizeof(fmt), bpfu_u64(args),
							    104, 0), -EINVAL);
	memset(long_fmt, 'a', sizeof(long_fmt));
	long_fmt[sizeof(long_fmt) - 1] = '\0';
	assert_int_equal(bpfu_helper_trace_printk(bpfu_u64(long_fmt), sizeof(long_fmt), 0, 0, 0), 1499);
	bpfu_set_log_cb(NULL, NULL);
}

/* The arguments of one call share 512 bytes, as in the kernel. */
static void test_string_space(void **state)
{
	static const char fmt[] = "%s%s%s";
	static char text[400];
	char out[1024];
	const uint64_t args[] = { bpfu_u64(text), bpfu_u64(text), bpfu_u64(text) };
	const uint64_t mixed[] = { bpfu_u64(text), 7, bpfu_u64(text) };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(bpfu_format(out, sizeof(out), fmt, sizeof(fmt), args, 3), -ENOSPC);
	assert_int_equal(bpfu_format(out, sizeof(out), fmt + 2, sizeof(fmt) - 2, args, 2), 399 + 111);
	/* And with numbers and addresses as text; lengths are those of Linux 6.18. */
	assert_int_equal(bpfu_format(out, sizeof(out), "%s%d%s", 7, mixed, 3), 507);
	assert_int_equal(bpfu_format(out, sizeof(out), "%s%lld%s", 9, mixed, 3), 503);
	assert_int_equal(bpfu_format(out, sizeof(out), "%s%pi4%s", 9, args, 3), 509);
	assert_int_equal(bpfu_format(out, sizeof(out), "%s%c%s", 7, mixed, 3), 399 + 1 + 110);
	/* A failure writes nothing. */
	memcpy(out, "as it was", 10);
	assert_int_equal(bpfu_format(out, sizeof(out), fmt, sizeof(fmt), args, 3), -ENOSPC);
	assert_string_equal(out, "as it was");
	assert_int_equal(bpfu_format(NULL, 0, "%d", 3, args, 1),
			 snprintf(out, sizeof(out), "%d", (int)args[0]));
}

/* ---- loops and maps ---- */

static uint64_t visit(const struct bpfu_callback *cb, uint64_t r1, uint64_t r2, uint64_t r3,
		      uint64_t r4, uint64_t r5)
{
	uint64_t *sum = bpfu_ptr(r2);

	*sum += r1;
	return r1 == 99;
}

static void test_loop(void **state)
{
	struct bpfu_callback cb = { .invoke = visit };
	uint64_t fn = bpfu_u64(&cb) | 1, sum = 0;

	assert_int_equal(bpfu_helper_loop(10, fn, bpfu_u64(&sum), 0, 0), 10);
	assert_int_equal(sum, 45);
	assert_int_equal(bpfu_helper_loop(1000, fn, bpfu_u64(&sum), 0, 0), 100);
	assert_int_equal(bpfu_helper_loop(0, fn, bpfu_u64(&sum), 0, 0), 0);
	assert_int_equal(bpfu_helper_loop(BPFU_MAX_LOOPS, fn, bpfu_u64(&sum), 0, 0), 100);
	assert_int_equal((int64_t)bpfu_helper_loop(BPFU_MAX_LOOPS + 1, fn, 0, 0, 0), -E2BIG);
	assert_int_equal((int64_t)bpfu_helper_loop(1, fn, 0, 1, 0), -EINVAL);
	assert_int_equal(bpfu_helper_loop(1ull << 32 | 3, fn, bpfu_u64(&sum), 0, 0), 3);
}

/* A map that can nothing: no crash, an error. */
static void test_map_without_ops(void **state)
{
	static const struct bpfu_map_ops none;
	struct bpfu_map map = { .ops = &none };
	uint64_t m = bpfu_u64(&map), key = 0;

	assert_int_equal((int64_t)bpfu_helper_map_update_elem(m, bpfu_u64(&key), bpfu_u64(&key), 0, 0),
			 -EOPNOTSUPP);
	assert_int_equal((int64_t)bpfu_helper_map_delete_elem(m, bpfu_u64(&key), 0, 0, 0), -EOPNOTSUPP);
	assert_int_equal(bpfu_helper_map_lookup_percpu_elem(m, bpfu_u64(&key), 0, 0, 0), 0);
	assert_int_equal((int64_t)bpfu_helper_for_each_map_elem(m, 0, 0, 0, 0), -EINVAL);
}

static void test_redirect_records(void **state)
{
	bpfu_redirect = (struct bpfu_redirect){ .xdp = false };
	assert_int_equal(bpfu_helper_redirect(5, BPF_F_INGRESS, 0, 0, 0), 7); /* TC_ACT_REDIRECT */
	assert_int_equal(bpfu_redirect.ifindex, 5);
	assert_int_equal(bpfu_redirect.flags, BPF_F_INGRESS);
	bpfu_redirect = (struct bpfu_redirect){ .xdp = true };
	assert_int_equal(bpfu_helper_redirect(6, 0, 0, 0, 0), XDP_REDIRECT);
	assert_int_equal(bpfu_helper_redirect(7, 1, 0, 0, 0), XDP_ABORTED);
	assert_int_equal(bpfu_redirect.ifindex, 6);
}

static void test_slot(void **state)
{
	bpfu_cpu_enter();
	assert_true(CALL0(get_smp_processor_id) < bpfu_possible_cpus());
	bpfu_cpu_exit();
	assert_int_equal(CALL0(get_numa_node_id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_ids),
		cmocka_unit_test(test_comm),	     cmocka_unit_test(test_send_signal),
		cmocka_unit_test(test_clocks),	     cmocka_unit_test(test_prandom),
		cmocka_unit_test(test_probe_read),   cmocka_unit_test(test_trace_printk),
		cmocka_unit_test(test_string_space), cmocka_unit_test(test_loop),
		cmocka_unit_test(test_map_without_ops), cmocka_unit_test(test_redirect_records),
		cmocka_unit_test(test_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
