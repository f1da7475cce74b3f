// SPDX-License-Identifier: BSD-2-Clause
/* The shared parts of BPF_PROG_TEST_RUN (test_run.h). */
#include "prog_type/test_run.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <time.h>

#include "obj/prog.h"
#include "prog_type/tracepoint.h"
#include "util/bits.h"
#include "util/uaccess.h"

#define MAX_CTX_SIZE 4096 /* a page, as for every extensible struct */

int bpfu_test_ctx_in(const union bpf_attr *attr, void *ctx, uint32_t size, bool *given)
{
	uint32_t given_size = attr->test.ctx_size_in;
	uint8_t copy[MAX_CTX_SIZE];
	int err;

	*given = attr->test.ctx_in || attr->test.ctx_out;
	memset(ctx, 0, size);
	if (!attr->test.ctx_in)
		return 0;
	if (given_size > sizeof(copy))
		return -E2BIG;
	err = bpfu_copy_from_user(copy, attr->test.ctx_in, given_size);
	if (err)
		return err;
	for (uint32_t i = size; i < given_size; i++)
		if (copy[i])
			return -E2BIG;
	memcpy(ctx, copy, BPFU_MIN(size, given_size));
	return 0;
}

int bpfu_test_ctx_out(union bpf_attr *attr, const void *ctx, uint32_t size)
{
	uint32_t room = attr->test.ctx_size_out;
	int err;

	if (!attr->test.ctx_out)
		return 0;
	err = bpfu_copy_to_user(attr->test.ctx_out, ctx, BPFU_MIN(size, room));
	if (err)
		return err;
	attr->test.ctx_size_out = size;
	return size > room ? -ENOSPC : 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bpfu_test_repeat(const struct bpfu_prog *prog, void *ctx, const union bpf_attr *attr,
		      uint32_t *retval, uint32_t *duration)
{
	uint32_t repeat = attr->test.repeat ? attr->test.repeat : 1;
	uint64_t start, spent;

	bpfu_cpu_enter();
	start = now_ns();
	for (uint32_t i = 0; i < repeat; i++) {
		*retval = (uint32_t)bpfu_prog_call(prog, ctx);
		bpfu_cpu_relax();
	}
	spent = (now_ns() - start) / repeat;
	bpfu_cpu_exit();
	*duration = (uint32_t)BPFU_MIN(spent, UINT32_MAX);
}

static int copy_results(union bpf_attr *attr, const void *data, uint32_t size, uint32_t retval,
			uint32_t duration)
{
	uint32_t room = attr->test.data_size_out;
	bool cut = room && size > room;
	int err = 0;

	if (attr->test.data_out)
		err = bpfu_copy_to_user(attr->test.data_out, data, cut ? room : size);
	if (err)
		return err;
	attr->test.data_size_out = size;
	attr->test.retval = retval;
	attr->test.duration = duration;
	return cut ? -ENOSPC : 0;
}

int bpfu_test_finish(union bpf_attr *attr, const void *data, uint32_t size, uint32_t retval,
		     uint32_t duration)
{
	int err = copy_results(attr, data, size, retval, duration);

	BPFU_TRACE(&bpfu_tp_test_finish.head, bpfu_u64(&err));
	return err;
}

bool bpfu_test_has_netdev(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name) != NULL;
}
