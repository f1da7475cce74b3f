// SPDX-License-Identifier: BSD-2-Clause
/* Helpers about the current task: its ids, name and signals. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/bodies.h"
#include "percpu/cpu.h"

#define TASK_COMM_LEN 16

/*
 * getpid() and gettid() are system calls, far dearer than the helper is on a kernel, so the pair
 * is kept per thread. The only thread of a forked child forgets it; children of a bare clone(2)
 * that shares nothing with libc would not, but those cannot run libc code either.
 */
static __thread uint64_t pid_tgid;
static pthread_once_t atfork_once = PTHREAD_ONCE_INIT;

static void forget_pid_tgid(void)
{
	pid_tgid = 0;
}

static void register_atfork(void)
{
	pthread_atfork(NULL, NULL, forget_pid_tgid);
}

uint64_t bpfu_helper_get_current_pid_tgid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					  uint64_t r5)
{
	if (bpfu_unlikely(!pid_tgid)) {
		pthread_once(&atfork_once, register_atfork);
		pid_tgid = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
	}
	return pid_tgid;
}

uint64_t bpfu_helper_get_current_uid_gid(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					 uint64_t r5)
{
	return (uint64_t)getgid() << 32 | (uint32_t)getuid();
}

uint64_t bpfu_helper_get_current_comm(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				      uint64_t r5)
{
	char *buf = bpfu_ptr(r1), comm[TASK_COMM_LEN + 1] = "";
	uint32_t size = (uint32_t)r2;

	/* Always terminated, padded with NULs. */
	memset(buf, 0, size);
	if (prctl(PR_GET_NAME, comm) < 0)
		return (int64_t)-EINVAL;
	memcpy(buf, comm, strnlen(comm, size - 1));
	return 0;
}

/* There is no task_struct; the value tells threads apart, and reading through it yields no fields. */
uint64_t bpfu_helper_get_current_task(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				      uint64_t r5)
{
	return bpfu_u64(&bpfu_cpu_self);
}

static int64_t send_signal(uint32_t sig, bool to_thread)
{
	long ret;

	if (sig > SIGRTMAX)
		return -EINVAL;
	if (to_thread)
		ret = syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
	else
		ret = kill(getpid(), (int)sig);
	return ret < 0 ? -errno : 0;
}

uint64_t bpfu_helper_send_signal(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return send_signal((uint32_t)r1, false);
}

uint64_t bpfu_helper_send_signal_thread(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					uint64_t r5)
{
	return send_signal((uint32_t)r1, true);
}
