// SPDX-License-Identifier: BSD-2-Clause
/* BPF_BTF_LOAD. */
#include <errno.h>
#include <stdlib.h>

#include "btf/btf.h"
#include "syscall/syscall.h"
#include "util/uaccess.h"

#define MAX_BTF_SIZE (16u << 20)

/* The log's text and true size go to the caller; a failure to deliver them hides @err. */
static int finish_log(struct bpfu_log *log, union bpfu_attr *attr, uint64_t uattr, uint32_t size,
		      int err)
{
	int log_err = bpfu_log_finalize(log, &attr->btf_load.log_true_size);

	if (log_err)
		err = log_err;
	if (bpfu_attr_put(attr, uattr, size, btf_load.log_true_size))
		err = -EFAULT;
	return err;
}

static int load(const union bpf_attr *attr, struct bpfu_log *log, struct bpfu_btf **btf)
{
	void *data = malloc(attr->btf_size ? attr->btf_size : 1);
	int err;

	if (!data)
		return -ENOMEM;
	err = bpfu_copy_from_user(data, attr->btf, attr->btf_size);
	if (!err)
		err = bpfu_btf_new(data, attr->btf_size, log, btf);
	free(data);
	return err;
}

int bpfu_cmd_btf_load(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_btf *btf = NULL;
	struct bpfu_log log;
	int err;

	if (!bpfu_attr_ends_with(attr, btf_load.token_fd) ||
	    (attr->btf_load.flags & ~BPFU_F_TOKEN_FD))
		return -EINVAL;
	if (attr->btf_load.flags & BPFU_F_TOKEN_FD)
		return bpfu_attr_token(attr->btf_load.token_fd);
	if (attr->a.btf_size > MAX_BTF_SIZE)
		return -E2BIG;
	err = bpfu_log_init(&log, attr->a.btf_log_level, attr->a.btf_log_buf, attr->a.btf_log_size);
	if (err)
		return err;
	err = load(&attr->a, &log, &btf);
	err = finish_log(&log, attr, uattr, size, err);
	if (!err)
		err = bpfu_obj_publish(&btf->obj);
	if (!err)
		err = bpfu_fd_install(&btf->obj, -1);
	if (err < 0)
		bpfu_obj_put(btf ? &btf->obj : NULL);
	return err;
}
