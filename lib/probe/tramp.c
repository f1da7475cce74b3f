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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "helper/func_ctx.h"
#include "obj/prog.h"
#include "obj/run.h"
#include "percpu/percpu_alloc.h"
#include "probe/hook.h"
#include "probe/host.h"
#include "probe/thunk.h"
#include "util/log.h"

enum kind { KIND_FENTRY, KIND_FMOD_RET, KIND_FEXIT, KIND_CNT };

struct tramp_link {
	struct bpfu_link link;
	struct bpfu_tramp *tramp;
	struct bpfu_prog *dst; /* reference of the BPF program that the function is of, or NULL */
	enum kind kind;
	uint64_t cookie;
	struct tramp_link *next; /* in tramp->links[kind], under the lock */
};

/* What the handlers walk; freed after a grace period. */
struct progs {
	struct bpfu_rcu_head rcu;
	struct bpfu_run single[2];  /* at the entry, at the exit: the thunk's (struct bpfu_thunk_single) */
	uint32_t end[KIND_CNT]; /* runs[] of a kind end here, and those of the next begin */
	struct bpfu_run runs[];
};

struct bpfu_tramp {
	struct bpfu_func *func;
	struct bpfu_hook *hook;  /* NULL: the function is of a BPF program: */
	struct bpfu_host *host;
	uint32_t subprog;
	const void *thunks[BPFU_THUNK_FORMS]; /* made when first needed, never freed */
	_Atomic(struct progs *) progs;
	struct tramp_link *links[KIND_CNT];
	uint32_t link_cnt;
};

static struct progs nothing; /* what the thunks find where nothing is attached */

/* ---- at run time ---- */

/* The first that returns something else than 0 ends it, and stands for the function's result. */
static __attribute__((noinline)) uint64_t run_fmod_ret(const struct bpfu_tramp *t,
						       const struct progs *p, uint64_t *ctx)
{
	uint64_t *ret = &ctx[t->func->decl.arg_cnt];

	ctx[BPFU_FUNC_CTX_CNT] |= BPFU_FUNC_CTX_HAS_RET;
	for (uint32_t i = p->end[KIND_FENTRY]; i < p->end[KIND_FMOD_RET]; i++) {
		int32_t result = (int32_t)bpfu_run(&p->runs[i], ctx);

		*ret = (uint64_t)(int64_t)result;
		if (result)
			return 1;
	}
	return 0;
}

static uint64_t on_enter(void *arg, uint64_t *ctx)
{
	struct bpfu_tramp *t = arg;
	bool entered = bpfu_run_enter();
	struct progs *p = atomic_load_explicit(&t->progs, memory_order_acquire);
	uint64_t skip = 0;

	const struct bpfu_run *end = p->runs + p->end[KIND_FENTRY];

	for (const struct bpfu_run *run = p->runs; run < end; run++)
		bpfu_run(run, ctx);
	if (p->end[KIND_FENTRY] != p->end[KIND_FMOD_RET])
		skip = run_fmod_ret(t, p, ctx);
	bpfu_run_leave(entered);
	return skip;
}

static uint64_t on_leave(void *arg, uint64_t *ctx)
{
	struct bpfu_tramp *t = arg;
	bool entered = bpfu_run_enter();
	struct progs *p = atomic_load_explicit(&t->progs, memory_order_acquire);

	ctx[BPFU_FUNC_CTX_CNT] |= BPFU_FUNC_CTX_HAS_RET;
	for (const struct bpfu_run *run = p->runs + p->end[KIND_FMOD_RET];
	     run < p->runs + p->end[KIND_FEXIT]; run++)
		bpfu_run(run, ctx);
	bpfu_run_leave(entered);
	return 0;
}

/* ---- changes, with the lock held ---- */

static void progs_free(struct bpfu_rcu_head *head)
{
	free(bpfu_container_of(head, struct progs, rcu));
}

/* Publish @p; nobody needs what was there before after a grace period. */
static void progs_set(struct bpfu_tramp *t, struct progs *p)
{
	struct progs *old = atomic_exchange(&t->progs, p);

	if (old != &nothing)
		bpfu_call_rcu(&old->rcu, progs_free);
}

static struct progs *progs_new(const struct bpfu_tramp *t)
{
	struct progs *p = calloc(1, sizeof(*p) + t->link_cnt * sizeof(p->runs[0]));
	uint32_t cnt = 0;

	if (!p)
		return NULL;
	for (int kind = 0; kind < KIND_CNT; kind++) {
		for (struct tramp_link *l = t->links[kind]; l; l = l->next)
			p->runs[cnt++] = bpfu_run_of(l->link.prog, l->cookie);
		p->end[kind] = cnt;
	}
	if (p->end[KIND_FMOD_RET] == 1 && !t->links[KIND_FMOD_RET])
		p->single[0] = bpfu_run_single(&p->runs[0]);
	if (p->end[KIND_FEXIT] - p->end[KIND_FMOD_RET] == 1)
		p->single[1] = bpfu_run_single(&p->runs[p->end[KIND_FMOD_RET]]);
	return p;
}

static int thunk_new(struct bpfu_tramp *t, enum bpfu_thunk_form form)
{
	struct bpfu_thunk thunk = {
		.func = t->func->addr,
		.after = bpfu_site_after(&t->hook->site),
		.arg_cnt = t->func->decl.arg_cnt,
		.form = form,
		.arg = t,
		.enter = on_enter,
		.leave = on_leave,
		.single = {
			.list = &t->progs,
			.run = { offsetof(struct progs, single[0]), offsetof(struct progs, single[1]) },
		},
	};

	return bpfu_thunk_make(&thunk, &t->thunks[form]);
}

static enum bpfu_thunk_form form_of(const struct bpfu_tramp *t)
{
	if (t->links[KIND_FMOD_RET] || (t->links[KIND_FEXIT] && t->links[KIND_FENTRY]))
		return BPFU_THUNK_BOTH;
	return t->links[KIND_FEXIT] ? BPFU_THUNK_EXIT : BPFU_THUNK_ENTRY;
}

/* The same for a function of a BPF program, whose code has a place for both handlers, or for none. */
static int point_host(struct bpfu_tramp *t)
{
	struct bpfu_func_patch *patch = &t->host->func[t->subprog];
	struct bpfu_tramp *old = patch->trace, *want = t->link_cnt ? t : NULL;
	int err;

	if (old == want)
		return 0;
	patch->enter = on_enter;
	patch->leave = on_leave;
	patch->arg_cnt = t->func->decl.arg_cnt;
	patch->trace = want;
	err = bpfu_host_update(t->host);
	if (err && want)
		patch->trace = old;
	else if (err)
		bpfu_host_clear(t->host);
	return err && want ? err : 0;
}

/* Make the function lead to what its attachments need. */
static int point_site(struct bpfu_tramp *t)
{
	enum bpfu_thunk_form form = form_of(t);
	const void *old;
	int err;

	if (t->host)
		return point_host(t);
	old = t->hook->tramp_thunk;
	if (t->link_cnt && !t->thunks[form]) {
		err = thunk_new(t, form);
		if (err)
			return err;
	}
	t->hook->tramp_thunk = t->link_cnt ? t->thunks[form] : NULL;
	err = bpfu_hook_point(&t->hook, 1);
	if (err)
		t->hook->tramp_thunk = old;
	return err;
}

/* Publish what the links say. Programs first when there are more, the code first when less. */
static int update(struct bpfu_tramp *t, bool more)
{
	struct progs *p = t->link_cnt ? progs_new(t) : &nothing, *old;
	int err;

	if (!p)
		return -ENOMEM;
	if (!more) {
		point_site(t);
		progs_set(t, p);
		return 0;
	}
	old = atomic_exchange(&t->progs, p);
	err = point_site(t);
	if (err)
		progs_set(t, old);
	else if (old != &nothing)
		bpfu_call_rcu(&old->rcu, progs_free);
	return err;
}

static void unlink_from(struct tramp_link *l)
{
	struct tramp_link **at = &l->tramp->links[l->kind];

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->tramp->link_cnt--;
}

static int tramp_get(struct bpfu_func *func, struct bpfu_tramp **out)
{
	struct bpfu_hook *hook;
	int err = bpfu_hook_get(func, &hook);

	if (err)
		return err;
	if (!hook->tramp) {
		hook->tramp = calloc(1, sizeof(*hook->tramp));
		if (!hook->tramp)
			return -ENOMEM;
		hook->tramp->func = func;
		hook->tramp->hook = hook;
		atomic_init(&hook->tramp->progs, &nothing);
	}
	*out = hook->tramp;
	return 0;
}

/* ---- links ---- */

static struct tramp_link *tramp_link_of(const struct bpfu_link *link)
{
	return (struct tramp_link *)bpfu_container_of(link, struct tramp_link, link);
}

static void link_unlink(struct bpfu_link *link)
{
	struct tramp_link *l = tramp_link_of(link);

	pthread_mutex_lock(&bpfu_hook_lock);
	unlink_from(l);
	/* Without memory for a shorter list the old one must go all the same: run nothing then. */
	if (update(l->tramp, false)) {
		bpfu_warn("function '%s': out of memory: all its programs are off until the next "
			  "one is attached or detached", l->tramp->func->decl.name);
		progs_set(l->tramp, &nothing);
	}
	pthread_mutex_unlock(&bpfu_hook_lock);
}

static void link_free(struct bpfu_link *link)
{
	bpfu_prog_put(tramp_link_of(link)->dst);
	free(tramp_link_of(link));
}

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	const struct tramp_link *l = tramp_link_of(link);

	static const uint32_t types[] = { BPF_TRACE_FENTRY, BPF_MODIFY_RETURN, BPF_TRACE_FEXIT };

	info->tracing.attach_type = types[l->kind];
	info->tracing.target_obj_id = l->dst ? l->dst->obj.id : link->prog->attach_btf_obj_id;
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

	if (t->link_cnt == BPFU_TRAMP_LINKS_MAX)
		return -E2BIG;
	l->tramp = t;
	l->next = t->links[l->kind];
	t->links[l->kind] = l;
	t->link_cnt++;
	err = update(t, true);
	if (err)
		unlink_from(l);
	return err;
}

static int link_new(struct bpfu_prog *prog, uint64_t cookie, struct tramp_link **out)
{
	struct tramp_link *l = calloc(1, sizeof(*l));
	int err = l ? bpfu_run_prepare(prog) : -ENOMEM;

	if (err) {
		free(l);
		return err;
	}
	bpfu_link_init(&l->link, BPF_LINK_TYPE_TRACING, &tramp_ops, prog);
	l->kind = kind_of(prog);
	l->cookie = cookie;
	*out = l;
	return 0;
}

int bpfu_tramp_attach(struct bpfu_prog *prog, uint64_t cookie, struct bpfu_link **out)
{
	const char *reason = NULL;
	struct tramp_link *l;
	struct bpfu_tramp *t;
	int err = link_new(prog, cookie, &l);

	if (err)
		return err;
	pthread_mutex_lock(&bpfu_hook_lock);
	err = tramp_get(prog->target, &t);
	if (!err && is_attached(t, prog, l->kind)) {
		reason = "the program is attached to it already";
		err = -EBUSY;
	} else if (!err) {
		err = attach(t, l);
	}
	pthread_mutex_unlock(&bpfu_hook_lock);
	if (!err) {
		*out = &l->link;
		return 0;
	}
	if (err == -E2BIG)
		reason = "it has as many programs as a function can have (38)";
	else if (!reason)
		reason = bpfu_hook_reason(err);
	if (reason)
		bpfu_warn("prog '%s': cannot attach to function '%s': %s", prog->name,
			  prog->target->decl.name, reason);
	free(l);
	return err;
}

/* ---- functions of BPF programs ---- */

static int host_tramp_get(struct bpfu_host *host, uint32_t subprog, const struct bpfu_prog *prog,
			  struct bpfu_tramp **out)
{
	struct bpfu_tramp *t = host->tramp[subprog];

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (t)
			t->func = malloc(sizeof(*t->func));
		if (!t || !t->func) {
			free(t);
			return -ENOMEM;
		}
		/* The program's description of it may not outlive the program. */
		memcpy(t->func, prog->target, sizeof(*t->func));
		t->host = host;
		t->subprog = subprog;
		atomic_init(&t->progs, &nothing);
		host->tramp[subprog] = t;
	}
	*out = t;
	return 0;
}

int bpfu_tramp_attach_host(struct bpfu_host *host, uint32_t subprog, struct bpfu_prog *prog,
			   uint64_t cookie, struct bpfu_link **out)
{
	struct bpfu_tramp *t;
	struct tramp_link *l;
	int err;

	if (host->func[subprog].replacement)
		return -EBUSY;
	err = host_tramp_get(host, subprog, prog, &t);
	if (!err && is_attached(t, prog, kind_of(prog)))
		err = -EBUSY;
	if (!err)
		err = link_new(prog, cookie, &l);
	if (err)
		return err;
	err = attach(t, l);
	if (err) {
		free(l);
		return err;
	}
	l->dst = host->prog;
	bpfu_obj_get(&l->dst->obj);
	*out = &l->link;
	return 0;
}

void bpfu_tramp_free(struct bpfu_tramp *t)
{
	struct progs *progs;

	if (!t)
		return;
	progs = atomic_load(&t->progs);
	if (progs != &nothing)
		free(progs);
	free(t->func);
	free(t);
}
