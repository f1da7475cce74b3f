// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trampolines. What is generated per function is a thunk (thunk.h), at most two of them, and they
 * stay: a thread may be anywhere in one. What changes with the attachments is data, an array of
 * programs that the thunk's handlers walk inside a section and that is replaced as a whole:
 *
 *      site: jmp thunk ---> enter() ---> progs[] | fentry … | fmod_ret … | fexit … |
 *                           leave() ----------------------------------------^
 *
 * The latest attached of a kind runs first, as in the kernel.
 */
#include "probe/tramp.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "helper/func_ctx.h"
#include "jit/image.h"
#include "obj/prog.h"
#include "obj/tracepoint.h"
#include "percpu/percpu_alloc.h"
#include "probe/patch.h"
#include "probe/run.h"
#include "probe/thunk.h"
#include "util/log.h"

enum kind { KIND_FENTRY, KIND_FMOD_RET, KIND_FEXIT, KIND_CNT };

struct tramp_link {
	struct bpfu_link link;
	struct bpfu_tramp *tramp;
	enum kind kind;
	uint64_t cookie;
	struct tramp_link *next; /* in tramp->links[kind], under the lock */
};

/* What the handlers walk; freed after a grace period. */
struct progs {
	struct bpfu_rcu_head rcu;
	uint32_t end[KIND_CNT]; /* runs[] of a kind end here, and those of the next begin */
	struct bpfu_run runs[];
};

struct bpfu_tramp {
	struct bpfu_func *func;
	struct bpfu_site site;
	const void *thunks[2];   /* without and with the exit; made when first needed, never freed */
	_Atomic(struct progs *) progs;
	struct tramp_link *links[KIND_CNT];
	uint32_t link_cnt;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all trampolines */

/* ---- at run time ---- */

static uint64_t on_enter(void *arg, uint64_t *ctx)
{
	struct bpfu_tramp *t = arg;
	uint64_t *ret = &ctx[t->func->decl.arg_cnt];
	uint64_t outer = bpfu_attach_cookie, skip = 0;
	struct progs *p;
	uint32_t i = 0;

	bpfu_cpu_enter();
	p = atomic_load_explicit(&t->progs, memory_order_acquire);
	if (bpfu_likely(p)) {
		for (; i < p->end[KIND_FENTRY]; i++)
			bpfu_run(&p->runs[i], ctx);
		if (i < p->end[KIND_FMOD_RET])
			ctx[BPFU_FUNC_CTX_CNT] |= BPFU_FUNC_CTX_HAS_RET;
		for (; i < p->end[KIND_FMOD_RET] && !skip; i++) {
			skip = (uint32_t)bpfu_run(&p->runs[i], ctx);
			*ret = (uint64_t)(int64_t)(int32_t)skip;
		}
	}
	bpfu_attach_cookie = outer;
	bpfu_cpu_exit();
	return skip;
}

static uint64_t on_leave(void *arg, uint64_t *ctx)
{
	struct bpfu_tramp *t = arg;
	uint64_t outer = bpfu_attach_cookie;
	struct progs *p;

	ctx[BPFU_FUNC_CTX_CNT] |= BPFU_FUNC_CTX_HAS_RET;
	bpfu_cpu_enter();
	p = atomic_load_explicit(&t->progs, memory_order_acquire);
	for (uint32_t i = p ? p->end[KIND_FMOD_RET] : 0; p && i < p->end[KIND_FEXIT]; i++)
		bpfu_run(&p->runs[i], ctx);
	bpfu_attach_cookie = outer;
	bpfu_cpu_exit();
	return 0;
}

/* ---- changes, with the lock held ---- */

static void progs_free(struct bpfu_rcu_head *head)
{
	free(bpfu_container_of(head, struct progs, rcu));
}

static struct progs *progs_new(const struct bpfu_tramp *t)
{
	struct progs *p = malloc(sizeof(*p) + t->link_cnt * sizeof(p->runs[0]));
	uint32_t cnt = 0;

	if (!p)
		return NULL;
	for (int kind = 0; kind < KIND_CNT; kind++) {
		for (struct tramp_link *l = t->links[kind]; l; l = l->next)
			p->runs[cnt++] = (struct bpfu_run){ l->link.prog, l->cookie };
		p->end[kind] = cnt;
	}
	return p;
}

static int thunk_new(struct bpfu_tramp *t, bool has_exit)
{
	struct bpfu_thunk thunk = {
		.func = t->func->addr,
		.after = bpfu_site_after(&t->site),
		.arg_cnt = t->func->decl.arg_cnt,
		.has_exit = has_exit,
		.arg = t,
		.enter = on_enter,
		.leave = on_leave,
	};
	struct bpfu_codebuf cb;
	struct bpfu_image image;
	uint32_t size;
	int err;

	bpfu_codebuf_init(&cb, 512);
	bpfu_thunk_emit(&cb, &thunk, 0);
	size = cb.len;
	err = cb.err ? cb.err : bpfu_image_alloc(&image, size, 0);
	if (!err) {
		cb.len = 0;
		bpfu_thunk_emit(&cb, &thunk, bpfu_u64(image.rx));
		memcpy(image.rw, cb.data, size);
		err = bpfu_image_seal(&image);
		t->thunks[has_exit] = image.rx;
	}
	bpfu_codebuf_release(&cb);
	return err;
}

/* Make the function lead to what its attachments need. */
static int point_site(struct bpfu_tramp *t)
{
	bool has_exit = t->links[KIND_FMOD_RET] || t->links[KIND_FEXIT];
	struct bpfu_site *site = &t->site;
	const void *dest = NULL, *old = site->dest;
	int err;

	if (t->link_cnt) {
		err = t->thunks[has_exit] ? 0 : thunk_new(t, has_exit);
		if (err)
			return err;
		dest = t->thunks[has_exit];
	}
	if (dest == old)
		return 0;
	site->dest = dest;
	err = bpfu_patch(&site, 1);
	if (err)
		site->dest = old;
	return err;
}

/* Publish what the links say. Programs first when there are more, the code first when less. */
static int update(struct bpfu_tramp *t, bool more)
{
	struct progs *p = progs_new(t), *old;
	int err;

	if (!p)
		return -ENOMEM;
	old = atomic_load(&t->progs);
	if (more)
		atomic_store(&t->progs, p);
	err = point_site(t);
	if (err && more) {
		atomic_store(&t->progs, old);
		old = p;
	}
	if (!more)
		atomic_store(&t->progs, p);
	if (old)
		bpfu_call_rcu(&old->rcu, progs_free);
	return more ? err : 0;
}

static void unlink_from(struct tramp_link *l)
{
	struct tramp_link **at = &l->tramp->links[l->kind];

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->tramp->link_cnt--;
}

static struct bpfu_tramp *tramp_of(struct bpfu_func *func)
{
	struct bpfu_tramp *t = atomic_load(&func->tramp);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t) {
		t->func = func;
		atomic_store(&func->tramp, t);
	}
	return t;
}

/* ---- links ---- */

static struct tramp_link *tramp_link_of(const struct bpfu_link *link)
{
	return (struct tramp_link *)bpfu_container_of(link, struct tramp_link, link);
}

static void link_unlink(struct bpfu_link *link)
{
	struct tramp_link *l = tramp_link_of(link);

	pthread_mutex_lock(&lock);
	unlink_from(l);
	/* Without memory for a shorter list the old one must go all the same: run nothing then. */
	if (update(l->tramp, false)) {
		struct progs *old = atomic_exchange(&l->tramp->progs, NULL);

		bpfu_warn("function '%s': out of memory: all its programs are off until the next "
			  "one is attached or detached", l->tramp->func->decl.name);
		if (old)
			bpfu_call_rcu(&old->rcu, progs_free);
	}
	pthread_mutex_unlock(&lock);
}

static void link_free(struct bpfu_link *link)
{
	free(tramp_link_of(link));
}

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	const struct tramp_link *l = tramp_link_of(link);

	static const uint32_t types[] = { BPF_TRACE_FENTRY, BPF_MODIFY_RETURN, BPF_TRACE_FEXIT };

	info->tracing.attach_type = types[l->kind];
	info->tracing.target_obj_id = link->prog->attach_btf_obj_id;
	info->tracing.target_btf_id = l->tramp->func->btf_id;
	/* Newer headers have a member for the cookie, behind three numbers and padding. */
	memcpy((char *)&info->tracing + 16, &l->cookie, sizeof(l->cookie));
	return 0;
}

static const struct bpfu_link_ops tramp_ops = {
	.unlink = link_unlink,
	.free = link_free,
	.fill_info = link_fill_info,
};

static enum kind kind_of(const struct bpfu_prog *prog)
{
	switch (prog->expected_attach_type) {
	case BPF_TRACE_FEXIT:
		return KIND_FEXIT;
	case BPF_MODIFY_RETURN:
		return KIND_FMOD_RET;
	default:
		return KIND_FENTRY;
	}
}

static bool is_attached(const struct bpfu_tramp *t, const struct bpfu_prog *prog, enum kind kind)
{
	for (struct tramp_link *l = t->links[kind]; l; l = l->next)
		if (l->link.prog == prog)
			return true;
	return false;
}

/* With the lock held. */
static int attach(struct bpfu_tramp *t, struct tramp_link *l)
{
	int err;

	if (t->func->gone)
		return -ENOENT;
	if (is_attached(t, l->link.prog, l->kind))
		return -EBUSY;
	if (t->link_cnt == BPFU_TRAMP_LINKS_MAX)
		return -E2BIG;
	if (!t->site.at) {
		err = bpfu_site_find(t->func->addr, &t->site);
		if (err)
			return err;
	}
	l->next = t->links[l->kind];
	t->links[l->kind] = l;
	t->link_cnt++;
	err = update(t, true);
	if (err)
		unlink_from(l);
	return err;
}

static const char *reason_of(int err, bool attached)
{
	switch (-err) {
	case ENOENT:
		return "it has been unregistered";
	case EBUSY:
		return attached ? "the program is attached to it already" :
				  "a thread of this process blocks SIGTRAP, which changing its first "
				  "instructions needs";
	case E2BIG:
		return "it has as many programs as a function can have (38)";
	case EOPNOTSUPP:
		return "it does not begin with a nop; compile it with BPFU_PROBE_ENTRY";
	case ERANGE:
		return "it is too far from the memory for generated code";
	case EACCES:
		return "the text of this process cannot be changed";
	default:
		return NULL;
	}
}

int bpfu_tramp_attach(struct bpfu_prog *prog, uint64_t cookie, struct bpfu_link **out)
{
	struct tramp_link *l = calloc(1, sizeof(*l));
	struct bpfu_func *func = prog->target;
	bool attached = false;
	int err = -ENOMEM;

	if (!l)
		return -ENOMEM;
	bpfu_link_init(&l->link, BPF_LINK_TYPE_TRACING, &tramp_ops, prog);
	l->kind = kind_of(prog);
	l->cookie = cookie;
	pthread_mutex_lock(&lock);
	l->tramp = tramp_of(func);
	if (l->tramp) {
		attached = is_attached(l->tramp, prog, l->kind);
		err = bpfu_run_prepare(prog);
	}
	if (!err)
		err = attach(l->tramp, l);
	pthread_mutex_unlock(&lock);
	if (!err) {
		*out = &l->link;
		return 0;
	}
	if (reason_of(err, attached))
		bpfu_warn("prog '%s': cannot attach to function '%s': %s", prog->name,
			  func->decl.name, reason_of(err, attached));
	free(l);
	return err;
}
