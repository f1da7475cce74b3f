// SPDX-License-Identifier: BSD-2-Clause
/* BPF_PROG_TEST_RUN: the checks that all program types share; prog_type/ runs the program. */
#include <errno.h>

#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "syscall/syscall.h"

/* What a run reports, in the order of the attribute. */
static int results_out(const union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	if (bpfu_attr_put(attr, uattr, size, a.test.retval) ||
	    bpfu_attr_put(attr, uattr, size, a.test.data_size_out) ||
	    bpfu_attr_put(attr, uattr, size, a.test.duration) ||
	    bpfu_attr_put(attr, uattr, size, a.test.ctx_size_out))
		return -EFAULT;
	return 0;
}

int bpfu_cmd_test_run(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_obj *obj;
	struct bpfu_prog *prog;
	int err;

	if (!bpfu_attr_ends_with(attr, a.test.batch_size) ||
	    !attr->a.test.ctx_size_in != !attr->a.test.ctx_in ||
	    !attr->a.test.ctx_size_out != !attr->a.test.ctx_out)
		return -EINVAL;
	err = bpfu_fd_get_kind(attr->a.test.prog_fd, BPFU_OBJ_PROG, -EINVAL, &obj);
	if (err)
		return err;
	prog = bpfu_prog_of(obj);
	err = prog->type_ops->test_run ? prog->type_ops->test_run(prog, &attr->a) :
					 -BPFU_ENOTSUPP;
	/* -ENOSPC: the packet did not fit, but its size and the results are wanted. */
	if ((!err || err == -ENOSPC) && results_out(attr, uattr, size))
		err = -EFAULT;
	bpfu_obj_put(obj);
	return err;
}
