/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to syscall/: the BTF, function and line records that come with a program. */
#ifndef BPFU_SYSCALL_PROG_BTF_H
#define BPFU_SYSCALL_PROG_BTF_H

#include "syscall/syscall.h"
#include "util/vlog.h"

struct bpfu_prog;

/*
 * Take the BTF object and copy func_info and line_info into @prog, with the kernel's rules for record
 * sizes; the contents are the verifier's business. On -E2BIG the record size we know is written to
 * the caller's attribute. 0, -EBADF, -EINVAL, -EACCES, -E2BIG, -EFAULT or -ENOMEM.
 */
int bpfu_prog_copy_btf(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr, uint32_t size,
		       struct bpfu_log *log);

/*
 * Find the function that @prog, of type TRACING, is for: FUNC @id in libbpfu's own BTF. Sets target,
 * attach_btf_id and attach_btf_obj_id. 0, -EINVAL, or -ENOENT (it was unregistered), with the
 * reason in the log.
 */
int bpfu_prog_find_target(struct bpfu_prog *prog, uint32_t id, struct bpfu_log *log);

#endif
