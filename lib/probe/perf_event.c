// SPDX-License-Identifier: BSD-2-Clause
/*
 * Perf events of kprobes and uprobes. An event has the target; programs come by links, or one by the
 * older ioctl. While the event is disabled its programs are off.
 */
#include "probe/perf_event.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "btf/func.h"
#include "obj/prog.h"
#include "probe/target.h"
#include "prog_type/tracepoint.h"
#include "util/uaccess.h"

#define RETPROBE_BIT (1ull << 0) /* of attr.config; what format/retprobe says */
#define REF_CTR_SHIFT 32            /* the same, format/ref_ctr_offset */

/* A program on an event. */
struct attachment {
	struct bpfu_prog *prog;
	uint64_t cookie;
	bool is_on; /* false while the event is disabled */
	struct bpfu_probing probing;
	struct bpfu_tp_user *tp_user; /* of a tracepoint, in its place */
	struct attachment *next;
};

struct perf_event {
	struct bpfu_obj obj;
	struct bpfu_target target;
	struct bpfu_tp *tp; /* a tracepoint, in place of the target */
	bool is_return;
	bool enabled;
	struct attachment *attachments; /* under lock */
	struct attachment by_ioctl;     /* .prog NULL: none; holds a reference */
};

struct perf_link {
	struct bpfu_link link;
	struct perf_event *event; /* reference */
	struct attachment at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards attachments of all events */

static struct perf_event *event_of(struct bpfu_obj *obj)
{
	return bpfu_container_of(obj, struct perf_event, obj);
}

/* ---- attachments, with the lock held ---- */

static int turn_on(struct perf_event *event, struct attachment *at)
{
	int err;

	if (event->tp)
		err = bpfu_tp_attach(event->tp, at->prog, at->cookie, &at->tp_user);
	else
		err = bpfu_target_attach(at->prog, event->is_return ? BPFU_WHEN_LEFT : BPFU_WHEN_ENTERED,
					 &event->target, &at->cookie,
					 1, &at->probing);
	at->is_on = !err;
	return err;
}

static void turn_off(struct attachment *at)
{
	if (at->is_on && at->tp_user)
		bpfu_tp_detach(at->tp_user);
	else if (at->is_on)
		bpfu_target_detach(&at->probing);
	at->tp_user = NULL;
	at->is_on = false;
}

static int add(struct perf_event *event, struct attachment *at)
{
	int err = event->enabled ? turn_on(event, at) : 0;

	if (err)
		return err;
	at->next = event->attachments;
	event->attachments = at;
	return 0;
}

static void del(struct perf_event *event, struct attachment *at)
{
	struct attachment **p = &event->attachments;

	while (*p != at)
		p = &(*p)->next;
	*p = at->next;
	turn_off(at);
}

static int enable(struct perf_event *event, bool on)
{
	int err = 0;

	for (struct attachment *at = event->attachments; at && !err; at = at->next) {
		if (on && !at->is_on)
			err = turn_on(event, at);
		else if (!on)
			turn_off(at);
	}
	if (!err)
		event->enabled = on;
	return err;
}

static int check_prog(const struct perf_event *event, const struct bpfu_prog *prog)
{
	if (event->tp)
		return prog->type == BPF_PROG_TYPE_TRACEPOINT ? 0 : -EINVAL;
	/* 42, 48, 56 …: programs for many functions at once. */
	return prog->type != BPF_PROG_TYPE_KPROBE || prog->expected_attach_type ? -EINVAL : 0;
}

/* ---- events ---- */

/* Links hold a reference, so only the program of the ioctl can be left. */
static void event_release(struct bpfu_obj *obj)
{
	struct perf_event *event = event_of(obj);
	struct bpfu_prog *prog = event->by_ioctl.prog;

	if (prog) {
		pthread_mutex_lock(&lock);
		del(event, &event->by_ioctl);
		pthread_mutex_unlock(&lock);
		bpfu_prog_put(prog);
	}
	bpfu_target_release(&event->target);
	free(event);
}

static int copy_attr(uint64_t uattr, struct perf_event_attr *attr)
{
	uint32_t size;
	int err;

	err = bpfu_copy_from_user(&size, uattr + offsetof(struct perf_event_attr, size), 4);
	if (err)
		return err;
	if (size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	return bpfu_copy_from_user(attr, uattr, BPFU_MIN(size, sizeof(*attr)));
}

static int find_kprobe(const struct perf_event_attr *attr, struct bpfu_target *target)
{
	bool is_return = attr->config & RETPROBE_BIT;
	char name[BPFU_FUNC_NAME_MAX] = "";
	int n;

	if (attr->config & ~RETPROBE_BIT)
		return -EINVAL;
	if (!attr->kprobe_func)
		return bpfu_target_kprobe(target, NULL, attr->kprobe_addr, 0, is_return);
	n = bpfu_strncpy_from_user(name, attr->kprobe_func, sizeof(name));
	if (n < 0)
		return n;
	name[sizeof(name) - 1] = '\0';
	return bpfu_target_kprobe(target, name, 0, attr->probe_offset, is_return);
}

static int find_uprobe(const struct perf_event_attr *attr, int pid, int cpu,
		       struct bpfu_target *target)
{
	char path[PATH_MAX];
	int n, err;

	if (!attr->uprobe_path || (pid == -1 && cpu == -1))
		return -EINVAL;
	n = bpfu_strncpy_from_user(path, attr->uprobe_path, sizeof(path));
	if (n == sizeof(path))
		return -ENAMETOOLONG;
	err = n < 0 ? n : bpfu_target_check_pid(pid);
	return err ? err : bpfu_target_uprobe(target, path, attr->probe_offset,
					      attr->config >> REF_CTR_SHIFT);
}

bool bpfu_perf_event_is_ours(uint64_t uattr)
{
	struct perf_event_attr attr;

	if (copy_attr(uattr, &attr))
		return false;
	return attr.type == BPFU_PERF_TYPE_KPROBE || attr.type == BPFU_PERF_TYPE_UPROBE ||
	       (attr.type == PERF_TYPE_TRACEPOINT && bpfu_tp_by_id(attr.config));
}

int bpfu_perf_event_open(uint64_t uattr, int pid, int cpu)
{
	struct bpfu_target target = { 0 };
	struct perf_event_attr attr;
	struct perf_event *event;
	struct bpfu_tp *tp = NULL;
	int err;

	err = copy_attr(uattr, &attr);
	if (!err && attr.type == PERF_TYPE_TRACEPOINT)
		tp = bpfu_tp_by_id(attr.config);
	if (!err && !tp)
		err = attr.type == BPFU_PERF_TYPE_UPROBE ? find_uprobe(&attr, pid, cpu, &target) :
							   find_kprobe(&attr, &target);
	event = err ? NULL : calloc(1, sizeof(*event));
	if (!event) {
		bpfu_target_release(&target);
		return err ? err : -ENOMEM;
	}
	bpfu_obj_init(&event->obj, BPFU_OBJ_PERF_EVENT, event_release);
	event->target = target;
	event->tp = tp;
	event->is_return = !tp && attr.config & RETPROBE_BIT;
	event->enabled = !attr.disabled;
	err = bpfu_fd_install(&event->obj, -1);
	if (err < 0)
		bpfu_obj_put(&event->obj);
	return err;
}

/* PERF_EVENT_IOC_SET_BPF: one program, for as long as the event lives. */
static int set_prog(struct perf_event *event, int fd)
{
	struct bpfu_obj *obj;
	struct bpfu_prog *prog;
	int err = bpfu_fd_get_kind(fd, BPFU_OBJ_PROG, -EINVAL, &obj);

	if (err)
		return err;
	prog = bpfu_prog_of(obj);
	err = check_prog(event, prog);
	pthread_mutex_lock(&lock);
	if (!err && event->by_ioctl.prog)
		err = -EEXIST;
	if (!err) {
		event->by_ioctl.prog = prog;
		err = add(event, &event->by_ioctl);
		if (err)
			event->by_ioctl.prog = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (err)
		bpfu_prog_put(prog);
	return err;
}

int bpfu_perf_event_ioctl(struct bpfu_obj *obj, unsigned long cmd, unsigned long arg)
{
	struct perf_event *event = event_of(obj);
	int err;

	switch (cmd) {
	case PERF_EVENT_IOC_SET_BPF:
		return set_prog(event, (int)arg);
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		pthread_mutex_lock(&lock);
		err = enable(event, cmd == PERF_EVENT_IOC_ENABLE);
		pthread_mutex_unlock(&lock);
		return err;
	default:
		return -ENOTTY;
	}
}

/* ---- links ---- */

static struct perf_link *perf_link_of(const struct bpfu_link *link)
{
	return (struct perf_link *)bpfu_container_of(link, struct perf_link, link);
}

static void link_unlink(struct bpfu_link *link)
{
	struct perf_link *l = perf_link_of(link);

	pthread_mutex_lock(&lock);
	del(l->event, &l->at);
	pthread_mutex_unlock(&lock);
}

static void link_free(struct bpfu_link *link)
{
	struct perf_link *l = perf_link_of(link);

	bpfu_obj_put(&l->event->obj);
	free(l);
}

/* enum bpf_perf_event_type of newer headers. */
enum { INFO_UPROBE = 1, INFO_URETPROBE, INFO_KPROBE, INFO_KRETPROBE, INFO_TRACEPOINT };

/* struct bpf_link_info.perf_event of newer headers, which this host's may lack. */
struct perf_info {
	uint32_t type, pad;
	uint64_t name; /* the function's or the file's */
	uint32_t name_len, offset;
	union {
		struct {
			uint64_t addr, missed, cookie;
		} kprobe;
		struct {
			uint64_t cookie, ref_ctr_offset;
		} uprobe;
		uint64_t tracepoint_cookie;
	};
};

static int put_name(struct perf_info *out, const char *name)
{
	uint32_t room = out->name_len, size = (uint32_t)strlen(name) + 1;

	if (!out->name != !room)
		return -EINVAL;
	out->name_len = size;
	if (!room)
		return 0;
	return room < size ? -ENOSPC : bpfu_copy_to_user(out->name, name, size);
}

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	struct perf_info *out = (struct perf_info *)((char *)info +
						     offsetof(struct bpf_link_info, raw_tracepoint));
	const struct perf_link *l = perf_link_of(link);
	const struct bpfu_target *target = &l->event->target;
	bool is_return = l->event->is_return;

	if (l->event->tp) {
		out->type = INFO_TRACEPOINT;
		out->tracepoint_cookie = l->at.cookie;
		return put_name(out, l->event->tp->func->decl.name);
	}
	out->offset = (uint32_t)target->offset;
	if (target->is_uprobe) {
		out->type = is_return ? INFO_URETPROBE : INFO_UPROBE;
		out->uprobe.cookie = l->at.cookie;
		out->uprobe.ref_ctr_offset = target->ref_ctr_offset;
		return put_name(out, target->path);
	}
	out->type = is_return ? INFO_KRETPROBE : INFO_KPROBE;
	out->kprobe.addr = target->place.addr;
	out->kprobe.missed = l->at.is_on ? bpfu_target_missed(&l->at.probing) : 0;
	out->kprobe.cookie = l->at.cookie;
	return put_name(out, target->in ? target->in->decl.name : "");
}

static const struct bpfu_link_ops perf_ops = {
	.unlink = link_unlink,
	.free = link_free,
	.fill_info = link_fill_info,
};

int bpfu_perf_link_create(struct bpfu_obj *obj, struct bpfu_prog *prog, uint64_t cookie,
			  struct bpfu_link **out)
{
	struct perf_event *event = event_of(obj);
	struct perf_link *l;
	int err = check_prog(event, prog);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	bpfu_link_init(&l->link, BPF_LINK_TYPE_PERF_EVENT, &perf_ops, prog);
	l->event = event;
	l->at.prog = prog;
	l->at.cookie = cookie;
	pthread_mutex_lock(&lock);
	err = add(event, &l->at);
	pthread_mutex_unlock(&lock);
	if (err) {
		free(l);
		return err;
	}
	bpfu_obj_get(&event->obj);
	*out = &l->link;
	return 0;
}
