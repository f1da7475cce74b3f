/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs that do without libbpf share: expectations, bpf(2) and the end of a descriptor. */
#ifndef TESTS_PROBE_RAW_H
#define TESTS_PROBE_RAW_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "obj/obj.h"
#include "util/uapi.h"

static int failures;

static void expect(int line, const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return;
	failures++;
	printf("line %d: %s: got %lld, want %lld\n", line, what, (long long)got, (long long)want);
}
#define expect_eq(got, want) expect(__LINE__, #got, (int64_t)(got), (int64_t)(want))

static inline int bpf(int cmd, union bpf_attr *attr)
{
	int ret = bpfu_bpf(cmd, attr, sizeof(*attr));

	if (ret < 0)
		printf("bpf(%d): %s\n", cmd, strerror(-ret));
	return ret;
}

static inline void detach(int fd)
{
	bpfu_fd_closing(fd);
	close(fd);
}

#endif
