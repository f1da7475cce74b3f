/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The few system calls of this folder, issued without libc. Slow paths of cpu.c run inside traced
 * functions, which may be libc's own (a uprobe on syscall() or pthread_mutex_lock()): going through
 * libc would enter the slow path again before the first entry has a slot. The router's wrapped
 * syscall() is avoided for the same reason. All return a negative errno on failure.
 */
#ifndef BPFU_PERCPU_SYS_H
#define BPFU_PERCPU_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline long bpfu_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
	long ret = syscall(nr, a, b, c, d, e, f);

	return ret < 0 ? -errno : ret;
#endif
}

/* Sleep while *@word is @val, at most @timeout_ns (0: for ever). Wakes up spuriously, too. */
static inline void bpfu_futex_wait(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns)
{
	struct timespec ts = { .tv_sec = timeout_ns / 1000000000u,
			       .tv_nsec = timeout_ns % 1000000000u };

	bpfu_sys6(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, val, timeout_ns ? (long)&ts : 0, 0, 0);
}

static inline void bpfu_futex_wake(_Atomic uint32_t *word, int cnt)
{
	bpfu_sys6(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, cnt, 0, 0, 0);
}

static inline uint64_t bpfu_now_ns(void)
{
	struct timespec ts;

	bpfu_sys6(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&ts, 0, 0, 0, 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The kernel's signal set is 8 bytes. */
static inline void bpfu_signals_block(uint64_t *old)
{
	uint64_t all = ~0ull;

	bpfu_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)old, sizeof(all), 0, 0);
}

/*
 * The same, but for those that an instruction of the thread raises. For code that calls the C library: its
 * functions may have breakpoints, and the kernel ends a process that meets one with SIGTRAP blocked.
 */
static inline void bpfu_signals_block_async(uint64_t *old)
{
	static const int sync[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };
	uint64_t set = ~0ull;

	for (size_t i = 0; i < sizeof(sync) / sizeof(sync[0]); i++)
		set &= ~(1ull << (sync[i] - 1));
	bpfu_sys6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)old, sizeof(set), 0, 0);
}

static inline void bpfu_signals_restore(const uint64_t *old)
{
	bpfu_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)old, 0, sizeof(*old), 0, 0);
}

/* The CPU that the thread runs on, -errno if unknown. */
static inline int bpfu_getcpu(void)
{
	unsigned int cpu = 0;
	long err = bpfu_sys6(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0);

	return err ? (int)err : (int)cpu;
}

/* Read a small file into @buf with a NUL: length or -errno. */
static inline int bpfu_read_small_file(const char *path, char *buf, size_t size)
{
	long fd = bpfu_sys6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long len;

	if (fd < 0)
		return (int)fd;
	len = bpfu_sys6(SYS_read, fd, (long)buf, size - 1, 0, 0, 0);
	bpfu_sys6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (len >= 0)
		buf[len] = '\0';
	return (int)len;
}

#endif
