/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Run a test program as on a kernel without membarrier(2): with --no-membarrier it starts itself
 * again under a seccomp filter that answers that call with ENOSYS, and checks that the library
 * noticed.
 */
#ifndef TESTS_UNIT_NO_MEMBARRIER_H
#define TESTS_UNIT_NO_MEMBARRIER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "percpu/cpu_table.h"
#include "util/bits.h"

#define NO_MEMBARRIER_ARG  "--no-membarrier"
#define NO_MEMBARRIER_DONE "--is-no-membarrier"

static inline int no_membarrier_filter(void)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = BPFU_ARRAY_SIZE(insns), .filter = insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

/* First in main(). Returns 0: go on with the tests; else the exit code. */
static inline int no_membarrier_main(int argc, char **argv)
{
	int err;

	if (argc > 1 && !strcmp(argv[1], NO_MEMBARRIER_DONE)) {
		if (atomic_load(&bpfu_cpu_table.fenced))
			return 0;
		fprintf(stderr, "membarrier refused, but the library relies on it\n");
		return 1;
	}
	if (argc < 2 || strcmp(argv[1], NO_MEMBARRIER_ARG))
		return 0;
	err = no_membarrier_filter();
	if (!err) {
		execl("/proc/self/exe", argv[0], NO_MEMBARRIER_DONE, (char *)NULL);
		err = -errno;
	}
	printf("# SKIP cannot run without membarrier: %s\n", strerror(-err));
	return 77;
}

#endif
