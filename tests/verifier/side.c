// SPDX-License-Identifier: BSD-2-Clause
/* The two sides; side.h. */
#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpfu/bpfu.h>

const char *const side_name[SIDES] = { "user", "kernel" };

void side_set(enum side side)
{
	bpfu_route_set(side == SIDE_USER ? BPFU_ROUTE_USER : BPFU_ROUTE_KERNEL);
}

int side_bpf(enum side side, int cmd, union bpf_attr *attr, unsigned int size)
{
	long ret;

	side_set(side);
	ret = syscall(__NR_bpf, cmd, attr, size);
	return ret < 0 ? -errno : (int)ret;
}

bool side_kernel_usable(void)
{
	static int usable = -1;
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	if (usable >= 0)
		return usable;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t)"GPL";
	fd = side_bpf(SIDE_KERNEL, BPF_PROG_LOAD, &attr, sizeof(attr));
	usable = fd >= 0;
	if (fd >= 0)
		close(fd);
	else
		printf("# kernel side skipped: bpf(2): %s\n", strerror(-fd));
	return usable;
}

void side_self_check(void)
{
	int err = bpfu_selftest();

	if (err) {
		fprintf(stderr, "calls do not reach libbpfu: %s\n", strerror(-err));
		exit(1);
	}
}

bool difference_is_documented(const char *test)
{
	const char *path = getenv("BPFU_DIFFERENCES");
	FILE *f = fopen(path ? path : "docs/differences.md", "r");
	char line[1024], quoted[160];
	bool found = false;

	snprintf(quoted, sizeof(quoted), "`%s`", test);
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, quoted);
	if (f)
		fclose(f);
	return found;
}
