// SPDX-License-Identifier: BSD-2-Clause
/* Commands on links, and those that make them. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "obj/link.h"
#include "obj/prog.h"
#include "probe/host.h"
#include "probe/kprobe_multi.h"
#include "probe/perf_event.h"
#include "probe/uprobe_multi.h"
#include "probe/tramp.h"
#include "prog_type/tracepoint.h"
#include "syscall/syscall.h"
#include "util/uaccess.h"

#define TP_NAME_MAX 128
#define LINK_CREATE_END 60 /* behind link_create.uprobe_multi.pid */

/* enum bpf_attach_type of newer headers. */
#define ATTACH_TCX_INGRESS 46
#define ATTACH_TCX_EGRESS 47

static int link_get(int fd, struct bpfu_link **link)
{
	struct bpfu_obj *obj;
	int err = bpfu_fd_get_kind(fd, BPFU_OBJ_LINK, -EINVAL, &obj);

	if (!err)
		*link = bpfu_link_of(obj);
	return err;
}

static int prog_get(int fd, struct bpfu_prog **prog)
{
	struct bpfu_obj *obj;
	int err = bpfu_fd_get_kind(fd, BPFU_OBJ_PROG, -EINVAL, &obj);

	if (!err)
		*prog = bpfu_prog_of(obj);
	return err;
}

static int link_publish(struct bpfu_link *link)
{
	int err = bpfu_obj_publish(&link->obj);

	if (!err)
		err = bpfu_fd_install(&link->obj, -1);
	if (err < 0)
		bpfu_link_put(link);
	return err;
}

static int put_prog(struct bpfu_prog *prog, int err)
{
	bpfu_prog_put(prog);
	return err;
}

/*
 * What is for functions of BPF programs. @fd and @btf_id: another one than that of the load, for EXT
 * programs only; 0: that one. Takes over the caller's reference.
 */
static int host_link(struct bpfu_prog *prog, uint32_t fd, uint32_t btf_id, uint64_t cookie)
{
	struct bpfu_prog *dst = NULL;
	struct bpfu_link *link;
	int err = 0;

	if (!fd != !btf_id || (fd && prog->type != BPF_PROG_TYPE_EXT))
		return put_prog(prog, -EINVAL);
	if (fd)
		err = prog_get((int)fd, &dst);
	if (!err)
		err = bpfu_host_attach(prog, dst, btf_id, cookie, &link);
	bpfu_prog_put(dst);
	return err ? put_prog(prog, err) : link_publish(link);
}

/* Takes over the caller's reference. */
static int tracing_attach(struct bpfu_prog *prog, uint64_t cookie)
{
	struct bpfu_link *link;
	int err;

	if (prog->dst_type)
		return host_link(prog, 0, 0, cookie);
	if (prog->expected_attach_type == BPF_TRACE_RAW_TP)
		err = bpfu_tp_link(bpfu_tp_of_func(prog->target), prog, cookie, &link);
	else
		err = bpfu_tramp_attach(prog, cookie, &link);

	return err ? put_prog(prog, err) : link_publish(link);
}

static int tracing_link(struct bpfu_prog *prog, const union bpf_attr *attr)
{
	if (attr->link_create.attach_type != prog->expected_attach_type ||
	    attr->link_create.flags || attr->link_create.target_fd ||
	    attr->link_create.target_btf_id)
		return put_prog(prog, -EINVAL);
	return tracing_attach(prog, attr->link_create.tracing.cookie);
}

static int ext_link(struct bpfu_prog *prog, const union bpf_attr *attr)
{
	if (attr->link_create.attach_type)
		return put_prog(prog, -EINVAL);
	return host_link(prog, attr->link_create.target_fd, attr->link_create.target_btf_id,
			 attr->link_create.tracing.cookie);
}

static int perf_link(struct bpfu_prog *prog, const union bpf_attr *attr)
{
	struct bpfu_link *link;
	struct bpfu_obj *event;
	int err;

	if (attr->link_create.flags)
		return put_prog(prog, -EINVAL);
	err = bpfu_fd_get_kind(attr->link_create.target_fd, BPFU_OBJ_PERF_EVENT, -EBADF, &event);
	if (err)
		return put_prog(prog, err);
	err = bpfu_perf_link_create(event, prog, attr->link_create.perf_event.bpf_cookie, &link);
	bpfu_obj_put(event);
	return err ? put_prog(prog, err) : link_publish(link);
}

static int kprobe_multi_link(struct bpfu_prog *prog, const union bpf_attr *attr)
{
	const struct bpfu_kprobe_multi multi = {
		.flags = attr->link_create.kprobe_multi.flags,
		.cnt = attr->link_create.kprobe_multi.cnt,
		.syms = attr->link_create.kprobe_multi.syms,
		.addrs = attr->link_create.kprobe_multi.addrs,
		.cookies = attr->link_create.kprobe_multi.cookies,
	};
	struct bpfu_link *link;
	int err = -EINVAL;

	if (!attr->link_create.flags && (prog->expected_attach_type == BPF_TRACE_KPROBE_MULTI ||
					 (int)prog->expected_attach_type == BPFU_TRACE_KPROBE_SESSION))
		err = bpfu_kprobe_multi_create(&multi, prog, &link);
	return err ? put_prog(prog, err) : link_publish(link);
}

static int uprobe_multi_link(struct bpfu_prog *prog, const union bpfu_attr *attr)
{
	const struct bpfu_uprobe_multi multi = {
		.path = attr->uprobe_multi.path,
		.offsets = attr->uprobe_multi.offsets,
		.ref_ctr_offsets = attr->uprobe_multi.ref_ctr_offsets,
		.cookies = attr->uprobe_multi.cookies,
		.cnt = attr->uprobe_multi.cnt,
		.flags = attr->uprobe_multi.flags,
		.pid = attr->uprobe_multi.pid,
	};
	struct bpfu_link *link;
	int err = -EINVAL;

	if (!attr->a.link_create.flags &&
	    ((int)prog->expected_attach_type == BPFU_TRACE_UPROBE_MULTI ||
	     (int)prog->expected_attach_type == BPFU_TRACE_UPROBE_SESSION))
		err = bpfu_uprobe_multi_create(&multi, prog, &link);
	return err ? put_prog(prog, err) : link_publish(link);
}

static int tp_name_in(uint64_t uname, char *name)
{
	int n;

	if (!uname)
		return -EFAULT;
	/* A longer name is cut, and then no tracepoint's. */
	n = bpfu_strncpy_from_user(name, uname, TP_NAME_MAX - 1);
	name[TP_NAME_MAX - 1] = '\0';
	return n < 0 ? n : 0;
}

static int tp_link(const char *name, struct bpfu_prog *prog, uint64_t cookie,
		   struct bpfu_link **link)
{
	struct bpfu_tp *tp = bpfu_tp_by_name(name);

	return tp ? bpfu_tp_link(tp, prog, cookie, link) : -ENOENT;
}

int bpfu_cmd_raw_tracepoint_open(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	char name[TP_NAME_MAX];
	struct bpfu_link *link;
	struct bpfu_prog *prog;
	int err;

	if (!bpfu_attr_ends_with(attr, raw_tracepoint.cookie))
		return -EINVAL;
	err = prog_get(attr->a.raw_tracepoint.prog_fd, &prog);
	if (err)
		return err;
	/* The function is known from the load. */
	if (prog->type == BPF_PROG_TYPE_TRACING || prog->type == BPF_PROG_TYPE_EXT)
		return attr->a.raw_tracepoint.name ? put_prog(prog, -EINVAL) :
						     tracing_attach(prog, 0);
	/* Only raw tracepoint programs have a context for it. */
	if (prog->type != BPF_PROG_TYPE_RAW_TRACEPOINT) {
		bpfu_prog_put(prog);
		return -EINVAL;
	}
	err = tp_name_in(attr->a.raw_tracepoint.name, name);
	if (!err)
		err = tp_link(name, prog, attr->raw_tracepoint.cookie, &link);
	if (err) {
		bpfu_prog_put(prog);
		return err;
	}
	return link_publish(link);
}

/*
 * What the kernel says of a target that does not exist. Here none does: there are no perf events,
 * interfaces, cgroups or namespaces of ours that a program could be attached to.
 */
static int no_target_error(enum bpf_prog_type type, uint32_t attach_type)
{
	switch (type) {
	case BPF_PROG_TYPE_TRACEPOINT:
		return attach_type == BPF_PERF_EVENT ? -EBADF : -EINVAL;
	case BPF_PROG_TYPE_CGROUP_SKB:
		return attach_type <= BPF_CGROUP_INET_EGRESS ? -EBADF : -EINVAL;
	case BPF_PROG_TYPE_SCHED_CLS:
		return attach_type == ATTACH_TCX_INGRESS || attach_type == ATTACH_TCX_EGRESS ?
			       -ENODEV : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int kprobe_link(struct bpfu_prog *prog, const union bpfu_attr *attr)
{
	uint32_t type = attr->a.link_create.attach_type;

	switch ((uint32_t)prog->expected_attach_type) { /* those whose programs are for one thing only */
	case BPF_TRACE_KPROBE_MULTI:
	case BPFU_TRACE_KPROBE_SESSION:
	case BPFU_TRACE_UPROBE_MULTI:
	case BPFU_TRACE_UPROBE_SESSION:
		if (type != (uint32_t)prog->expected_attach_type)
			return put_prog(prog, -EINVAL);
		break;
	default:
		break;
	}
	switch (type) {
	case BPF_PERF_EVENT:
		return perf_link(prog, &attr->a);
	case BPF_TRACE_KPROBE_MULTI:
	case BPFU_TRACE_KPROBE_SESSION:
		return kprobe_multi_link(prog, &attr->a);
	case BPFU_TRACE_UPROBE_MULTI:
	case BPFU_TRACE_UPROBE_SESSION:
		return uprobe_multi_link(prog, attr);
	default:
		return put_prog(prog, -EINVAL);
	}
}

int bpfu_cmd_link_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_prog *prog;
	int err;

	if (!bpfu_attr_tail_is_zero(attr, LINK_CREATE_END))
		return -EINVAL;
	err = prog_get(attr->a.link_create.prog_fd, &prog);
	if (err)
		return err;
	if (prog->type == BPF_PROG_TYPE_TRACING)
		return tracing_link(prog, &attr->a);
	if (prog->type == BPF_PROG_TYPE_EXT)
		return ext_link(prog, &attr->a);
	if (prog->type == BPF_PROG_TYPE_KPROBE)
		return kprobe_link(prog, attr);
	if (prog->type == BPF_PROG_TYPE_TRACEPOINT &&
	    attr->a.link_create.attach_type == BPF_PERF_EVENT)
		return perf_link(prog, &attr->a);
	err = no_target_error(prog->type, attr->a.link_create.attach_type);
	bpfu_prog_put(prog);
	return err;
}

static int update(struct bpfu_link *link, const union bpf_attr *attr)
{
	struct bpfu_prog *prog, *old = NULL;
	int err;

	err = prog_get(attr->link_update.new_prog_fd, &prog);
	if (err)
		return err;
	if (attr->link_update.flags & BPF_F_REPLACE)
		err = prog_get(attr->link_update.old_prog_fd, &old);
	else if (attr->link_update.old_prog_fd)
		err = -EINVAL;
	if (!err)
		err = link->ops->update_prog ? link->ops->update_prog(link, prog, old) : -EINVAL;
	bpfu_prog_put(old);
	bpfu_prog_put(prog);
	return err;
}

int bpfu_cmd_link_update(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_link *link;
	int err;

	if (!bpfu_attr_ends_with(attr, a.link_update.old_prog_fd) ||
	    (attr->a.link_update.flags & ~BPF_F_REPLACE))
		return -EINVAL;
	err = link_get(attr->a.link_update.link_fd, &link);
	if (err)
		return err;
	err = update(link, &attr->a);
	bpfu_link_put(link);
	return err;
}

int bpfu_cmd_link_detach(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_link *link;
	int err;

	if (!bpfu_attr_ends_with(attr, a.link_detach.link_fd))
		return -EINVAL;
	err = link_get(attr->a.link_detach.link_fd, &link);
	if (err)
		return err;
	err = link->ops->detach ? link->ops->detach(link) : -EOPNOTSUPP;
	bpfu_link_put(link);
	return err;
}

int bpfu_cmd_iter_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_link *link;
	int err;

	if (!bpfu_attr_ends_with(attr, a.iter_create.flags) || attr->a.iter_create.flags)
		return -EINVAL;
	err = link_get(attr->a.iter_create.link_fd, &link);
	if (err)
		return err;
	/* No link here is an iterator's. */
	bpfu_link_put(link);
	return -EINVAL;
}

/* ---- BPF_TASK_FD_QUERY ---- */

static int query_name_out(union bpfu_attr *attr, const char *name)
{
	uint32_t room = attr->a.task_fd_query.buf_len;
	uint64_t ubuf = attr->a.task_fd_query.buf;
	uint32_t len = strlen(name);

	attr->a.task_fd_query.buf_len = len;
	if (!room || !ubuf)
		return 0;
	if (room >= len + 1)
		return bpfu_copy_to_user(ubuf, name, len + 1);
	if (bpfu_copy_to_user(ubuf, name, room - 1) || bpfu_copy_to_user(ubuf + room - 1, "", 1))
		return -EFAULT;
	return -ENOSPC;
}

static int query_link(union bpfu_attr *attr, uint64_t uattr, uint32_t size,
		      const struct bpfu_link *link)
{
	int err;

	if (link->type != BPF_LINK_TYPE_RAW_TRACEPOINT)
		return -BPFU_ENOTSUPP;
	err = query_name_out(attr, bpfu_tp_link_name(link));
	if (err == -EFAULT)
		return err;
	attr->a.task_fd_query.prog_id = link->prog->obj.id;
	attr->a.task_fd_query.fd_type = BPF_FD_TYPE_RAW_TRACEPOINT;
	attr->a.task_fd_query.probe_offset = 0;
	attr->a.task_fd_query.probe_addr = 0;
	if (bpfu_attr_put(attr, uattr, size, a.task_fd_query.buf_len) ||
	    bpfu_attr_put(attr, uattr, size, a.task_fd_query.prog_id) ||
	    bpfu_attr_put(attr, uattr, size, a.task_fd_query.fd_type) ||
	    bpfu_attr_put(attr, uattr, size, a.task_fd_query.probe_offset) ||
	    bpfu_attr_put(attr, uattr, size, a.task_fd_query.probe_addr))
		return -EFAULT;
	return err;
}

int bpfu_cmd_task_fd_query(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	pid_t pid = attr->a.task_fd_query.pid;
	struct bpfu_link *link;
	int err;

	if (!bpfu_attr_ends_with(attr, a.task_fd_query.probe_addr) || attr->a.task_fd_query.flags)
		return -EINVAL;
	if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
		return -ENOENT;
	/* The descriptors of other processes are not ours to see. */
	if (pid != getpid())
		return -EBADF;
	err = link_get(attr->a.task_fd_query.fd, &link);
	if (err)
		return err == -EINVAL ? -BPFU_ENOTSUPP : err;
	err = query_link(attr, uattr, size, link);
	bpfu_link_put(link);
	return err;
}
