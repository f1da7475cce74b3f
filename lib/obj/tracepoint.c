// SPDX-License-Identifier: BSD-2-Clause
/*
 * The registry of raw tracepoints and their links. Firing walks a singly linked list without a lock,
 * inside an RCU section; attaching prepends, detaching unlinks, both under links_lock, and a link is
 * freed after a grace period.
 */
#include "obj/tracepoint.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "util/uaccess.h"

static const struct {
	const char *name;
	uint32_t args;
} tracepoints[BPFU_TP_CNT] = {
	[BPFU_TP_BPF_TEST_FINISH] = { "bpf_test_finish", 1 },
};

struct tp_link {
	struct bpfu_link link;
	enum bpfu_tracepoint_id id;
	uint64_t cookie; /* the user's, reported back */
	_Atomic(struct tp_link *) next;
};

__thread uint64_t bpfu_attach_cookie;
_Atomic uint32_t bpfu_tracepoint_users[BPFU_TP_CNT];
static _Atomic(struct tp_link *) links[BPFU_TP_CNT];
static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER; /* serialises changes of links[] */

static struct tp_link *tp_link_of(const struct bpfu_link *link)
{
	return (struct tp_link *)bpfu_container_of(link, struct tp_link, link);
}

void bpfu_tracepoint_run(enum bpfu_tracepoint_id id, const uint64_t *args)
{
	uint64_t outer = bpfu_attach_cookie;

	bpfu_cpu_enter();
	for (struct tp_link *tp = atomic_load(&links[id]); tp; tp = atomic_load(&tp->next)) {
		bpfu_attach_cookie = tp->cookie;
		bpfu_prog_run(tp->link.prog, (void *)args);
	}
	bpfu_cpu_exit();
	bpfu_attach_cookie = outer;
}

static void tp_unlink(struct bpfu_link *link)
{
	struct tp_link *tp = tp_link_of(link);
	_Atomic(struct tp_link *) *at = &links[tp->id];

	pthread_mutex_lock(&links_lock);
	while (atomic_load(at) != tp)
		at = &atomic_load(at)->next;
	/* tp->next stays: a reader that is at tp walks on from there. */
	atomic_store(at, atomic_load(&tp->next));
	pthread_mutex_unlock(&links_lock);
	atomic_fetch_sub(&bpfu_tracepoint_users[tp->id], 1);
}

static void tp_free(struct bpfu_link *link)
{
	free(tp_link_of(link));
}

/* The name, with the kernel's rules: its size with the NUL in tp_name_len, -ENOSPC if it is cut. */
static int tp_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	const char *name = bpfu_tracepoint_link_name(link);
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

static int tp_find(const char *name, enum bpfu_tracepoint_id *id)
{
	for (int i = 0; i < BPFU_TP_CNT; i++) {
		if (!strcmp(tracepoints[i].name, name)) {
			*id = i;
			return 0;
		}
	}
	return -ENOENT;
}

int bpfu_tracepoint_attach(const char *name, struct bpfu_prog *prog, uint64_t cookie,
			   struct bpfu_link **out)
{
	enum bpfu_tracepoint_id id;
	struct tp_link *tp;
	int err;

	err = tp_find(name, &id);
	if (err)
		return err;
	if (prog->max_ctx_offset > tracepoints[id].args * sizeof(uint64_t))
		return -EINVAL;
	tp = calloc(1, sizeof(*tp));
	if (!tp)
		return -ENOMEM;
	bpfu_link_init(&tp->link, BPF_LINK_TYPE_RAW_TRACEPOINT, &tp_ops, prog);
	tp->id = id;
	tp->cookie = cookie;
	pthread_mutex_lock(&links_lock);
	atomic_store(&tp->next, atomic_load(&links[id]));
	atomic_store(&links[id], tp);
	pthread_mutex_unlock(&links_lock);
	atomic_fetch_add(&bpfu_tracepoint_users[id], 1);
	*out = &tp->link;
	return 0;
}

const char *bpfu_tracepoint_link_name(const struct bpfu_link *link)
{
	return tracepoints[tp_link_of(link)->id].name;
}
