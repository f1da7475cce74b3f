// SPDX-License-Identifier: BSD-2-Clause
/*
 * Perf events of kprobes and kretprobes. An event has the function; programs come by links, or one by
 * the older ioctl. While the event is disabled its programs are off.
 */
#include "probe/perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "obj/prog.h"
#include "probe/hook.h"
#include "probe/kprobe.h"
#include "util/log.h"
#include "util/uaccess.h"

#define RETPROBE_BIT (1ull << 0) /* of attr.config; what format/retprobe says */
#define MIN_ACTIVE 10

/* A program on an event. */
struct attachment {
	struct bpfu_prog *prog;
	uint64_t cookie;
	struct bpfu_probe_set *set; /* NULL while the event is disabled */
	struct attachment *next;
};

struct perf_event {
	struct bpfu_obj obj;
	struct bpfu_func *func;
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
	struct bpfu_probe_spec spec = {
		.prog = at->prog,
		.is_return = event->is_return,
		.max_active = BPFU_MAX(MIN_ACTIVE, 2 * bpfu_possible_cpus()),
		.cnt = 1,
		.funcs = &event->func,
		.cookies = &at->cookie,
	};
	int err = bpfu_probe_attach(&spec, &at->set, NULL);

	if (err && bpfu_hook_reason(err))
		bpfu_warn("prog '%s': cannot attach to function '%s': %s", at->prog->name,
			  event->func->decl.name, bpfu_hook_reason(err));
	return err;
}

static void turn_off(struct attachment *at)
{
	if (at->set)
		bpfu_probe_detach(at->set);
	at->set = NULL;
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
		if (on && !at->set)
			err = turn_on(event, at);
		else if (!on)
			turn_off(at);
	}
	if (!err)
		event->enabled = on;
	return err;
}

static int check_prog(const struct bpfu_prog *prog)
{
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

static int find_func(const struct perf_event_attr *attr, struct bpfu_func **func)
{
	char name[BPFU_FUNC_NAME_MAX] = "";
	const char *near;
	int n;

	if (!attr->kprobe_func) {
		*func = bpfu_func_by_addr((void *)(uintptr_t)attr->kprobe_addr);
		return *func ? 0 : -EINVAL;
	}
	n = bpfu_strncpy_from_user(name, attr->kprobe_func, sizeof(name));
	if (n < 0)
		return n;
	name[sizeof(name) - 1] = '\0';
	*func = bpfu_func_by_name(name);
	if (!*func) {
		near = bpfu_func_near(name);
		bpfu_warn("no function '%s' to attach to%s%s%s", name, near ? "; is it '" : "",
			  near ? near : "", near ? "'?" : "");
		return -ENOENT;
	}
	if (attr->probe_offset) {
		bpfu_warn("function '%s': only its entry can be probed, not offset %llu", name,
			  (unsigned long long)attr->probe_offset);
		return -EOPNOTSUPP;
	}
	return 0;
}

int bpfu_perf_event_open(uint64_t uattr)
{
	struct perf_event_attr attr;
	struct perf_event *event;
	struct bpfu_func *func;
	int err;

	err = copy_attr(uattr, &attr);
	if (err)
		return err;
	if (attr.config & ~RETPROBE_BIT)
		return -EINVAL;
	err = find_func(&attr, &func);
	if (err)
		return err;
	event = calloc(1, sizeof(*event));
	if (!event)
		return -ENOMEM;
	bpfu_obj_init(&event->obj, BPFU_OBJ_PERF_EVENT, event_release);
	event->func = func;
	event->is_return = attr.config & RETPROBE_BIT;
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
	err = check_prog(prog);
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
enum { INFO_KPROBE = 3, INFO_KRETPROBE = 4 };

/* struct bpf_link_info.perf_event of newer headers, which this host's may lack. */
struct perf_info {
	uint32_t type, pad;
	uint64_t func_name;
	uint32_t name_len, offset;
	uint64_t addr, missed, cookie;
};

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	struct perf_info *out = (struct perf_info *)((char *)info +
						     offsetof(struct bpf_link_info, raw_tracepoint));
	const struct perf_link *l = perf_link_of(link);
	const char *name = l->event->func->decl.name;
	uint32_t room = out->name_len, size = (uint32_t)strlen(name) + 1;

	if (!out->func_name != !room)
		return -EINVAL;
	out->type = l->event->is_return ? INFO_KRETPROBE : INFO_KPROBE;
	out->name_len = size;
	out->offset = 0;
	out->addr = bpfu_u64(l->event->func->addr);
	out->missed = l->at.set ? bpfu_probe_missed(l->at.set) : 0;
	out->cookie = l->at.cookie;
	if (!room)
		return 0;
	if (room < size)
		return -ENOSPC;
	return bpfu_copy_to_user(out->func_name, name, size);
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
	int err = check_prog(prog);

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
