// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_RAW_TRACEPOINT: the context is an array of up to twelve 64-bit arguments, read only.
 * A test run passes the caller's array.
 */
#include <errno.h>

#include "obj/prog.h"
#include "prog_type/families.h"
#include "util/uaccess.h"

#define MAX_ARGS 12 /* MAX_BPF_FUNC_ARGS */

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	return off >= 0 && off < (int)(MAX_ARGS * sizeof(uint64_t)) && off % size == 0 && !write;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_TRACING);
}

/* An extension is one on a function, and those of functions return 0. */
static void retval_range(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max)
{
	*has = prog->type == BPF_PROG_TYPE_EXT;
	*min = *max = 0;
}

static int test_run(struct bpfu_prog *prog, union bpf_attr *attr)
{
	bool on_cpu = attr->test.flags & BPF_F_TEST_RUN_ON_CPU;
	uint32_t size = attr->test.ctx_size_in;
	uint64_t args[MAX_ARGS] = { 0 };
	int err;

	if (attr->test.data_in || attr->test.data_out || attr->test.ctx_out ||
	    attr->test.duration || attr->test.repeat || attr->test.batch_size)
		return -EINVAL;
	if (size < prog->max_ctx_offset || size > sizeof(args))
		return -EINVAL;
	if (!on_cpu && attr->test.cpu)
		return -EINVAL;
	err = bpfu_copy_from_user(args, attr->test.ctx_in, size);
	if (err)
		return err;
	if (on_cpu) {
		err = bpfu_cpu_enter_on(attr->test.cpu);
		if (err)
			return err;
	} else {
		bpfu_cpu_enter();
	}
	attr->test.retval = (uint32_t)bpfu_prog_call(prog, args);
	bpfu_cpu_exit();
	return 0;
}

const struct bpfu_prog_type bpfu_type_raw_tracepoint = {
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.name = "raw_tracepoint",
	.is_valid_access = is_valid_access,
	.helper_allowed = helper_allowed,
	.retval_range = retval_range,
	.test_run = test_run,
};
