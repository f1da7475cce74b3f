// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_SYSCALL: the context is plain memory of the caller's size (up to 64 KiB), readable
 * and writable; a test run copies it in and back. Such programs are always sleepable (verifier/).
 */
#include <errno.h>
#include <stdlib.h>

#include "obj/prog.h"
#include "prog_type/families.h"
#include "util/uaccess.h"

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	return off >= 0 && off < UINT16_MAX && off % size == 0;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_SYSCALL);
}

static int load_check(const union bpf_attr *attr)
{
	return attr->expected_attach_type ? -EINVAL : 0;
}

static int test_run(struct bpfu_prog *prog, union bpf_attr *attr)
{
	uint32_t size = attr->test.ctx_size_in;
	void *ctx = NULL;
	int err;

	if (attr->test.data_in || attr->test.data_out || attr->test.ctx_out ||
	    attr->test.duration || attr->test.repeat || attr->test.flags || attr->test.batch_size)
		return -EINVAL;
	if (size < prog->max_ctx_offset || size > UINT16_MAX)
		return -EINVAL;
	if (size) {
		ctx = malloc(size);
		if (!ctx)
			return -ENOMEM;
		err = bpfu_copy_from_user(ctx, attr->test.ctx_in, size);
		if (err)
			goto free_ctx;
	}
	attr->test.retval = (uint32_t)bpfu_prog_run(prog, ctx);
	err = bpfu_copy_to_user(attr->test.ctx_in, ctx, size);
free_ctx:
	free(ctx);
	return err;
}

const struct bpfu_prog_type bpfu_type_syscall = {
	.type = BPF_PROG_TYPE_SYSCALL,
	.name = "syscall",
	.is_valid_access = is_valid_access,
	.helper_allowed = helper_allowed,
	.load_check = load_check,
	.test_run = test_run,
};
