// SPDX-License-Identifier: BSD-2-Clause
/*
 * The programs of tracepoints. Firing walks a singly linked list without a lock, inside a section;
 * attaching appends (the first attached runs first, as in the kernel), detaching unlinks, both under users_lock, and what was unlinked is freed after
 * a grace period. As on functions, a program is not entered again on its slot.
 */
#include "prog_type/tracepoint.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "obj/run.h"
#include "util/uaccess.h"

#define ID_BASE 0x62700000u /* no kernel has so many events */
#define RECORD_HEADER 8     /* hidden from programs */
#define RECORD_MAX (RECORD_HEADER + BPFU_FUNC_ARGS_MAX * 8)

struct bpfu_tp_user {
	struct bpfu_rcu_head rcu;
	struct bpfu_tp *tp;
	struct bpfu_run run;
	bool wants_record;
	_Atomic(struct bpfu_tp_user *) next;
};

struct bpfu_tp bpfu_tp_test_finish = { .category = "bpf_test_run", .pointee = sizeof(int) };
BPFU_EVENT(bpfu_tp_test_finish, "void bpf_test_finish(int *err)");
struct bpfu_tp bpfu_tp_trigger = { .category = "bpf_test_run" };
BPFU_EVENT(bpfu_tp_trigger, "void bpf_trigger_tp(int nonce)");

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER; /* and the rest of struct bpfu_tp */

/* ---- which there are ---- */

static uint32_t field_size(const struct bpfu_tp *tp, const struct bpfu_func *func, uint32_t arg)
{
	return arg == 0 && tp->pointee ? tp->pointee : func->decl.args[arg].size;
}

/* Each argument in its size, aligned to it. */
static void lay_out(struct bpfu_tp *tp, const struct bpfu_func *func)
{
	uint32_t at = RECORD_HEADER;

	pthread_mutex_lock(&users_lock);
	for (uint32_t i = 0; i < func->decl.arg_cnt; i++) {
		at = BPFU_ROUND_UP(at, field_size(tp, func, i));
		tp->offset[i] = (uint8_t)at;
		at += field_size(tp, func, i);
	}
	tp->record_size = at;
	tp->func = func;
	pthread_mutex_unlock(&users_lock);
}

struct bpfu_tp *bpfu_tp_of_func(const struct bpfu_func *func)
{
	struct bpfu_tp *tp;

	if (!func || !(func->flags & BPFU_FUNC_EVENT))
		return NULL;
	tp = func->addr;
	lay_out(tp, func);
	return tp;
}

struct bpfu_tp *bpfu_tp_by_name(const char *name)
{
	return bpfu_tp_of_func(bpfu_event_by_name(name));
}

struct bpfu_tp *bpfu_tp_by_id(uint64_t id)
{
	return id < ID_BASE || id > UINT32_MAX ?
		       NULL : bpfu_tp_of_func(bpfu_func_by_id((uint32_t)id - ID_BASE));
}

uint64_t bpfu_tp_id(const struct bpfu_tp *tp)
{
	return ID_BASE + tp->func->btf_id;
}

int bpfu_tracepoint_register(const char *category, const char *decl, struct bpfu_tracepoint **out)
{
	struct bpfu_tp *tp;
	int err;

	if (!category || !category[0] || strlen(category) >= BPFU_TP_CATEGORY_MAX ||
	    strpbrk(category, "/: \t") || !decl || !strchr(decl, '(') || !out)
		return -EINVAL;
	tp = calloc(1, sizeof(*tp));
	if (!tp)
		return -ENOMEM;
	memcpy(tp->category, category, strlen(category) + 1);
	err = bpfu_event_register(tp, decl);
	if (err)
		free(tp);
	else
		*out = &tp->head;
	return err;
}

int bpfu_tp_id_file(const char *path, void **data, uint32_t *size)
{
	static const char *const roots[] = { "/sys/kernel/tracing/events/",
					     "/sys/kernel/debug/tracing/events/" };
	char category[BPFU_TP_CATEGORY_MAX], name[BPFU_FUNC_NAME_MAX], end;
	struct bpfu_tp *tp = NULL;

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(roots); i++) {
		size_t len = strlen(roots[i]);

		if (!strncmp(path, roots[i], len) &&
		    sscanf(path + len, "%31[^/]/%127[^/]/i%c", category, name, &end) == 3 &&
		    !strcmp(strrchr(path, '/'), "/id"))
			tp = bpfu_tp_by_name(name);
	}
	if (!tp || strcmp(tp->category, category))
		return -ENOENT;
	*data = malloc(16);
	if (!*data)
		return -ENOMEM;
	*size = (uint32_t)snprintf(*data, 16, "%llu\n", (unsigned long long)bpfu_tp_id(tp));
	return 0;
}

/* ---- firing ---- */

static void make_record(const struct bpfu_tp *tp, const uint64_t *args, uint8_t *record)
{
	memset(record, 0, RECORD_HEADER);
	for (uint32_t i = 0; i < tp->func->decl.arg_cnt; i++) { /* little-endian, as both machines are */
		const void *from = i == 0 && tp->pointee ? (const void *)(uintptr_t)args[0] : &args[i];

		memcpy(record + tp->offset[i], from, field_size(tp, tp->func, i));
	}
}

void bpfu_tracepoint_run(struct bpfu_tracepoint *head, const uint64_t *args)
{
	struct bpfu_tp *tp = bpfu_container_of(head, struct bpfu_tp, head);
	_Alignas(8) uint8_t record[RECORD_MAX];
	bool entered = bpfu_run_enter();

	for (struct bpfu_tp_user *u = atomic_load(&tp->first); u; u = atomic_load(&u->next)) {
		if (u->wants_record) {
			make_record(tp, args, record);
			bpfu_run(&u->run, record);
		} else {
			bpfu_run(&u->run, (void *)args);
		}
	}
	bpfu_run_leave(entered);
}

/* ---- attaching ---- */

static int check_size(const struct bpfu_tp *tp, const struct bpfu_prog *prog)
{
	if (prog->type == BPF_PROG_TYPE_TRACEPOINT)
		return prog->max_ctx_offset > tp->record_size ? -EACCES : 0;
	return prog->max_ctx_offset > tp->func->decl.arg_cnt * sizeof(uint64_t) ? -EINVAL : 0;
}

int bpfu_tp_attach(struct bpfu_tp *tp, struct bpfu_prog *prog, uint64_t cookie,
		   struct bpfu_tp_user **out)
{
	_Atomic(struct bpfu_tp_user *) *at = &tp->first;
	struct bpfu_tp_user *u;
	int err = check_size(tp, prog);

	if (!err)
		err = bpfu_run_prepare(prog);
	if (err)
		return err;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->tp = tp;
	u->run = bpfu_run_of(prog, cookie);
	u->wants_record = prog->type == BPF_PROG_TYPE_TRACEPOINT;
	pthread_mutex_lock(&users_lock);
	while (atomic_load(at))
		at = &atomic_load(at)->next;
	atomic_store(at, u);
	__atomic_fetch_add(&tp->head.users, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&users_lock);
	*out = u;
	return 0;
}

static void user_free(struct bpfu_rcu_head *head)
{
	free(bpfu_container_of(head, struct bpfu_tp_user, rcu));
}

void bpfu_tp_detach(struct bpfu_tp_user *u)
{
	_Atomic(struct bpfu_tp_user *) *at = &u->tp->first;

	pthread_mutex_lock(&users_lock);
	while (atomic_load(at) != u)
		at = &atomic_load(at)->next;
	/* u->next stays: a reader that is at u walks on from there. */
	atomic_store(at, atomic_load(&u->next));
	__atomic_fetch_sub(&u->tp->head.users, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&users_lock);
	bpfu_call_rcu(&u->rcu, user_free);
}

/* ---- links ---- */

struct tp_link {
	struct bpfu_link link;
	struct bpfu_tp *tp;
	struct bpfu_tp_user *user;
	uint64_t cookie; /* reported back */
};

static struct tp_link *tp_link_of(const struct bpfu_link *link)
{
	return (struct tp_link *)bpfu_container_of(link, struct tp_link, link);
}

static void tp_unlink(struct bpfu_link *link)
{
	bpfu_tp_detach(tp_link_of(link)->user);
}

static void tp_free(struct bpfu_link *link)
{
	free(tp_link_of(link));
}

/* The name, with the kernel's rules: its size with the NUL in tp_name_len, -ENOSPC if it is cut. */
static int tp_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	const char *name = bpfu_tp_link_name(link);
	uint64_t ubuf = info->raw_tracepoint.tp_name;
	uint32_t len = info->raw_tracepoint.tp_name_len;
	uint32_t size = strlen(name) + 1;

	if (!ubuf != !len)
		return -EINVAL;
	info->raw_tracepoint.tp_name_len = size;
	/* Newer headers have a member for it, behind the length and 32 bits of padding. */
	memcpy((char *)&info->raw_tracepoint + 16, &tp_link_of(link)->cookie, sizeof(uint64_t));
	if (!ubuf)
		return 0;
	if (len >= size)
		return bpfu_copy_to_user(ubuf, name, size);
	if (bpfu_copy_to_user(ubuf, name, len - 1) || bpfu_copy_to_user(ubuf + len - 1, "", 1))
		return -EFAULT;
	return -ENOSPC;
}

static const struct bpfu_link_ops tp_ops = {
	.unlink = tp_unlink,
	.free = tp_free,
	.fill_info = tp_fill_info,
};

int bpfu_tp_link(struct bpfu_tp *tp, struct bpfu_prog *prog, uint64_t cookie,
		 struct bpfu_link **out)
{
	struct tp_link *l = calloc(1, sizeof(*l));
	int err = l ? bpfu_tp_attach(tp, prog, cookie, &l->user) : -ENOMEM;

	if (err) {
		free(l);
		return err;
	}
	bpfu_link_init(&l->link, BPF_LINK_TYPE_RAW_TRACEPOINT, &tp_ops, prog);
	l->tp = tp;
	l->cookie = cookie;
	*out = &l->link;
	return 0;
}

const char *bpfu_tp_link_name(const struct bpfu_link *link)
{
	return tp_link_of(link)->tp->func->decl.name;
}
