// SPDX-License-Identifier: BSD-2-Clause
/*
 * Probes: programs whose context is the registers at a function's entry or return. As with
 * trampolines (tramp.c) the code of a function is generated once, in two forms, and what changes
 * is an array that its handlers walk:
 *
 *      site: jmp thunk ---> enter() ---> probes[] | program, cookie, is_return, when attached | …
 *                           leave() -----^
 *
 * A call is watched to its end by calling the body from the thunk; the thunk's frame is what is kept
 * per call, so that there is no list of open calls which a longjmp(), an exception or the end of a
 * thread could leave in disorder. The frame remembers when the call began: a probe that was attached
 * later does not see its return. For sessions (obj/session.h) the frame has room, too.
 */
#include "probe/kprobe.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "obj/run.h"
#include "percpu/rcu.h"
#include "probe/hook.h"
#include "probe/places.h"
#include "probe/thunk.h"
#include "util/bits.h"

/* Sessions that a thunk has room for: as few as will do, since a frame grows with them. */
static const uint32_t rooms[] = { 1, 4, BPFU_SESSIONS_MAX };

#define ROOMS BPFU_ARRAY_SIZE(rooms)

/* One program on one function. */
struct probe {
	struct bpfu_run run;
	struct bpfu_probe_set *set;
	struct bpfu_hook *hook;     /* NULL: not on it */
	struct bpfu_places *places; /* of a return probe with max_active */
	uint32_t number;            /* of a session, among those on the function */
	uint64_t since;             /* epoch of the attachment */
	struct probe *next;         /* in probes->first, under the lock */
};

struct bpfu_probe_set {
	struct bpfu_rcu_head rcu;
	enum bpfu_when when;
	bool is_session;
	uint32_t cnt;
	struct bpfu_hook **hooks;   /* room for remove_all() */
	struct probe probes[];
};

/*
 * What the handlers walk: entry probes, then return probes, sessions among both. Freed after a grace
 * period.
 */
struct list {
	struct bpfu_rcu_head rcu;
	struct bpfu_run single[2]; /* at the entry, at the return: the thunk's */
	uint64_t since;            /* of the latter */
	uint64_t epoch;
	uint32_t entry_cnt, cnt;
	struct probe *probes[];
};

/* What thunks with room for so many sessions are about. */
struct session_thunk {
	struct bpfu_probes *probes;
	uint32_t room;           /* sessions */
	const void *code[2];     /* [lean]; never freed */
};

struct bpfu_probes {
	struct bpfu_hook *hook;
	_Atomic(struct list *) list;
	_Atomic uint64_t epoch;     /* list->epoch, also readable outside of sections */
	const void *thunks[BPFU_THUNK_FORMS][2][2]; /* [] [lean] [direct]; never freed */
	struct session_thunk session_thunks[ROOMS];
	struct probe *first;        /* latest first */
	uint32_t cnt, return_cnt;   /* sessions are among the latter */
	uint32_t place_cnt;         /* of the latter, those with places */
	uint32_t session_cnt;       /* all programs loaded as such */
	uint32_t sessions;          /* the numbers that are taken */
};

static struct list nothing;   /* what the thunks find where nothing is attached */
static uint64_t epoch; /* counts attachments, under the lock */

/* The thread runs a kprobe program: others on what it calls are missed, as in the kernel. */
static __thread volatile bool running __attribute__((tls_model("initial-exec")));

static int64_t running_tpoff(void)
{
	char *flag = (char *)&running, *self = (char *)&bpfu_cpu_self;

	/* Or the compiler makes one address from the other, in a way that linkers do not know. */
	__asm__("" : "+r"(flag), "+r"(self));
	return bpfu_cpu_self_tpoff() + (flag - self);
}

/* ---- at run time ---- */

/* What the program returns; 1, as who does not want to see the return, if the run was missed. */
static uint64_t run_probe(const struct probe *probe, void *regs)
{
	const struct bpfu_run *run = &probe->run;
	uint64_t ret;

	if (bpfu_unlikely(running)) {
		bpfu_run_missed(run);
		return 1;
	}
	/* A signal in between finds false and leaves false. */
	running = true;
	if (bpfu_unlikely(bpfu_attach_cookie != run->cookie ||
			  atomic_load_explicit(&bpfu_stats_users, memory_order_relaxed)))
		ret = bpfu_run_slow(run, regs);
	else
		ret = run->func(regs, run->prog);
	running = false;
	return ret;
}

static uint64_t run_session(const struct probe *probe, void *regs, struct bpfu_session *session,
			    bool is_return)
{
	struct bpfu_session_run outer = bpfu_session_begin(session, is_return);
	uint64_t ret = run_probe(probe, regs);

	bpfu_session_end(outer);
	return ret;
}

/* What the call keeps for @probe; NULL: the thunk was made for fewer, the probe is being attached. */
static struct bpfu_session *session_of(const struct probe *probe, uint64_t *regs, uint32_t room)
{
	struct bpfu_session *end = (struct bpfu_session *)(regs - BPFU_THUNK_ROOM_END);

	return probe->number < room ? end - 1 - probe->number : NULL;
}

static void enter_session(const struct probe *probe, uint64_t *regs, uint32_t room)
{
	struct bpfu_session *session = session_of(probe, regs, room);

	if (!session)
		return;
	session->cookie = 0;
	session->due = !run_session(probe, regs, session, false);
}

static void leave_session(const struct probe *probe, uint64_t *regs, uint32_t room)
{
	struct bpfu_session none = { 0 };
	struct bpfu_session *session = &none;

	if (probe->set->when == BPFU_WHEN_BOTH) {
		session = session_of(probe, regs, room);
		if (!session || !session->due)
			return;
	}
	run_session(probe, regs, session, true);
}

/* @room: sessions that the thunk's frame can hold. */
static void enter(struct bpfu_probes *p, uint64_t *regs, uint32_t room)
{
	bool entered = bpfu_run_enter();
	struct list *list = atomic_load_explicit(&p->list, memory_order_acquire);
	struct bpfu_call *call = bpfu_call_of(regs);

	call->epoch = list->epoch;
	for (uint32_t i = 0; i < list->entry_cnt; i++) {
		if (list->probes[i]->set->is_session)
			enter_session(list->probes[i], regs, room);
		else
			run_probe(list->probes[i], regs);
	}
	for (uint32_t i = list->entry_cnt; i < list->cnt; i++)
		if (list->probes[i]->places)
			bpfu_place_take(list->probes[i]->places, call);
	bpfu_run_leave(entered);
}

static void leave(struct bpfu_probes *p, uint64_t *regs, uint32_t room)
{
	struct bpfu_call *call = bpfu_call_of(regs);
	bool entered = bpfu_run_enter();
	struct list *list = atomic_load_explicit(&p->list, memory_order_acquire);

	for (uint32_t i = list->entry_cnt; i < list->cnt; i++) {
		const struct probe *probe = list->probes[i];

		if (probe->since > call->epoch ||
		    (probe->places && !bpfu_place_leave(probe->places, call)))
			continue;
		if (probe->set->is_session)
			leave_session(probe, regs, room);
		else
			run_probe(probe, regs);
	}
	bpfu_run_leave(entered);
}

static uint64_t on_enter(void *arg, uint64_t *regs)
{
	enter(arg, regs, 0);
	return 0;
}

static uint64_t on_leave(void *arg, uint64_t *regs)
{
	leave(arg, regs, 0);
	return 0;
}

static uint64_t on_enter_session(void *arg, uint64_t *regs)
{
	const struct session_thunk *thunk = arg;

	enter(thunk->probes, regs, thunk->room);
	return 0;
}

static uint64_t on_leave_session(void *arg, uint64_t *regs)
{
	const struct session_thunk *thunk = arg;

	leave(thunk->probes, regs, thunk->room);
	return 0;
}

/* ---- changes, with the lock held ---- */

static void list_free(struct bpfu_rcu_head *head)
{
	free(bpfu_container_of(head, struct list, rcu));
}

/* Places and sessions are the handlers' business. */
static bool is_direct(const struct bpfu_probes *p)
{
	return !p->place_cnt && !p->session_cnt;
}

static void choose_single(struct list *list)
{
	if (list->entry_cnt == 1)
		list->single[0] = bpfu_run_single(&list->probes[0]->run);
	if (list->cnt - list->entry_cnt == 1) {
		list->single[1] = bpfu_run_single(&list->probes[list->entry_cnt]->run);
		list->since = list->probes[list->entry_cnt]->since;
	}
}

static struct list *list_new(const struct bpfu_probes *p)
{
	struct list *list = calloc(1, sizeof(*list) + 2 * p->cnt * sizeof(list->probes[0]));
	uint32_t cnt = 0;

	if (!list)
		return NULL;
	for (enum bpfu_when when = BPFU_WHEN_ENTERED; when <= BPFU_WHEN_LEFT; when++) {
		for (struct probe *probe = p->first; probe; probe = probe->next)
			if (probe->set->when & when)
				list->probes[cnt++] = probe;
		if (when == BPFU_WHEN_ENTERED)
			list->entry_cnt = cnt;
	}
	list->cnt = cnt;
	list->epoch = epoch;
	if (is_direct(p))
		choose_single(list);
	return list;
}

static void list_set(struct bpfu_probes *p, struct list *list)
{
	struct list *old = atomic_exchange(&p->list, list);

	if (old != &nothing)
		bpfu_call_rcu(&old->rcu, list_free);
}

/* Publish what p->first says. 0 or -ENOMEM. */
static int publish(struct bpfu_probes *p)
{
	struct list *list = p->cnt ? list_new(p) : &nothing;

	if (!list)
		return -ENOMEM;
	list_set(p, list);
	atomic_store(&p->epoch, epoch);
	return 0;
}

static uint32_t arg_cnt_of(const struct bpfu_probes *p)
{
	const struct bpfu_func *func = p->hook->func;

	return func->btf_id ? func->decl.arg_cnt : BPFU_THUNK_ANY_ARGS;
}

static struct bpfu_thunk thunk_of(struct bpfu_probes *p, enum bpfu_thunk_form form, bool lean,
				  bool direct)
{
	return (struct bpfu_thunk){
		.func = p->hook->func->addr,
		.after = bpfu_site_after(&p->hook->site),
		.after_cell = &p->hook->after_probe,
		.arg_cnt = arg_cnt_of(p),
		.form = form,
		.has_regs = true,
		.lean = lean,
		.arg = p,
		.enter = on_enter,
		.leave = on_leave,
		.epoch = &p->epoch,
		.single = {
			.list = direct ? &p->list : NULL,
			.run = { offsetof(struct list, single[0]), offsetof(struct list, single[1]) },
			.since = offsetof(struct list, since),
			.running_tpoff = running_tpoff(),
		},
	};
}

static int session_thunk_get(struct bpfu_probes *p, bool lean, const void **out)
{
	struct session_thunk *session = p->session_thunks;
	const void **code;
	uint32_t i = 0;
	int err = 0;

	while (rooms[i] < bpfu_session_room(p->sessions))
		i++;
	session += i;
	code = &session->code[lean];
	if (!*code) {
		struct bpfu_thunk thunk = thunk_of(p, BPFU_THUNK_BOTH, lean, false);

		session->probes = p;
		session->room = rooms[i];
		thunk.room = rooms[i] * sizeof(struct bpfu_session);
		thunk.arg = session;
		thunk.enter = on_enter_session;
		thunk.leave = on_leave_session;
		err = bpfu_thunk_make(&thunk, code);
	}
	*out = *code;
	return err;
}

/* A tail call may lead to a program that reads other registers. */
static uint64_t words_read(const struct bpfu_prog *prog)
{
	for (uint32_t i = 0; i < prog->subprog_cnt; i++)
		if (prog->subprogs[i].has_tail_call)
			return ~0ull;
	return prog->ctx_words;
}

/* Return probes whose calls are not counted have nothing to do at the entry. */
static enum bpfu_thunk_form form_of(const struct bpfu_probes *p)
{
	if (!p->return_cnt)
		return BPFU_THUNK_ENTRY;
	return p->cnt == p->return_cnt && !p->place_cnt ? BPFU_THUNK_EXIT : BPFU_THUNK_BOTH;
}

static int thunk_get(struct bpfu_probes *p, bool lean, const void **out)
{
	enum bpfu_thunk_form form = form_of(p);
	bool direct = is_direct(p);
	const void **thunk = &p->thunks[form][lean][direct];
	int err = 0;

	if (!*thunk) {
		struct bpfu_thunk new = thunk_of(p, form, lean, direct);

		err = bpfu_thunk_make(&new, thunk);
	}
	*out = *thunk;
	return err;
}

/* Choose the thunk that the probes of @p need. */
static int choose_thunk(struct bpfu_probes *p)
{
	const void *thunk = NULL;
	uint64_t words = 0;
	bool lean;
	int err = 0;

	for (struct probe *probe = p->first; probe; probe = probe->next)
		words |= words_read(probe->run.prog);
	lean = !(words & ~bpfu_thunk_lean_words(arg_cnt_of(p), p->return_cnt));
	if (p->sessions)
		err = session_thunk_get(p, lean, &thunk);
	else if (p->cnt)
		err = thunk_get(p, lean, &thunk);
	if (!err)
		p->hook->probe_thunk = thunk;
	return err;
}

static int probes_get(struct bpfu_func *func, struct bpfu_probes **out)
{
	struct bpfu_hook *hook;
	int err = bpfu_hook_get(func, &hook);

	if (err)
		return err;
	if (!hook->probes) {
		hook->probes = calloc(1, sizeof(*hook->probes));
		if (!hook->probes)
			return -ENOMEM;
		hook->probes->hook = hook;
		atomic_init(&hook->probes->list, &nothing);
	}
	*out = hook->probes;
	return 0;
}

/* 0 or -E2BIG. */
static int probe_add(struct bpfu_probes *p, struct probe *probe)
{
	int number = 0;

	if (probe->set->when == BPFU_WHEN_BOTH)
		number = bpfu_session_number(&p->sessions);
	if (number < 0)
		return -E2BIG;
	probe->number = (uint32_t)number;
	probe->hook = p->hook;
	probe->since = epoch;
	probe->next = p->first;
	p->first = probe;
	p->cnt++;
	p->return_cnt += !!(probe->set->when & BPFU_WHEN_LEFT);
	p->place_cnt += probe->places != NULL;
	p->session_cnt += probe->set->is_session;
	return 0;
}

static void probe_del(struct probe *probe)
{
	struct bpfu_probes *p = probe->hook->probes;
	struct probe **at = &p->first;

	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
	p->cnt--;
	p->return_cnt -= !!(probe->set->when & BPFU_WHEN_LEFT);
	p->place_cnt -= probe->places != NULL;
	p->session_cnt -= probe->set->is_session;
	if (probe->set->when == BPFU_WHEN_BOTH)
		p->sessions &= ~(1u << probe->number);
	probe->hook = NULL;
}

static int add_one(struct probe *probe, struct bpfu_func *func)
{
	struct bpfu_probes *p;
	int err = probes_get(func, &p);

	if (!err)
		err = probe_add(p, probe);
	if (err)
		return err;
	err = publish(p);
	if (!err)
		err = choose_thunk(p);
	return err;
}

/* Take the probes of @set that are on a function off again, and point the entries elsewhere. */
static void remove_all(struct bpfu_probe_set *set, struct bpfu_hook **hooks)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < set->cnt; i++) {
		struct probe *probe = &set->probes[i];
		struct bpfu_hook *hook = probe->hook;

		if (!hook)
			continue;
		probe_del(probe);
		choose_thunk(hook->probes);
		hooks[cnt++] = hook;
	}
	bpfu_hook_point(hooks, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		struct bpfu_probes *p = hooks[i]->probes;

		/* Without memory for a shorter list: none at all, until the next change. */
		if (publish(p))
			list_set(p, &nothing);
	}
}

/* ---- sets ---- */

static void set_free(struct bpfu_rcu_head *head)
{
	struct bpfu_probe_set *set = bpfu_container_of(head, struct bpfu_probe_set, rcu);

	for (uint32_t i = 0; i < set->cnt; i++)
		bpfu_places_free(set->probes[i].places);
	free(set->hooks);
	free(set);
}

static struct bpfu_probe_set *set_new(const struct bpfu_probe_spec *spec)
{
	bool has_places = spec->max_active && spec->when == BPFU_WHEN_LEFT;
	struct bpfu_probe_set *set = calloc(1, sizeof(*set) + spec->cnt * sizeof(set->probes[0]));

	if (!set)
		return NULL;
	set->when = spec->when;
	set->is_session = bpfu_prog_is_session(spec->prog);
	set->cnt = spec->cnt;
	set->hooks = calloc(spec->cnt, sizeof(struct bpfu_hook *));
	for (uint32_t i = 0; i < spec->cnt && set->hooks; i++) {
		struct probe *probe = &set->probes[i];

		probe->set = set;
		probe->run = bpfu_run_of(spec->prog, spec->cookies ? spec->cookies[i] : 0);
		if (!has_places)
			continue;
		probe->places = bpfu_places_new(spec->max_active);
		if (!probe->places)
			break;
	}
	if (set->hooks && (!has_places || set->probes[spec->cnt - 1].places))
		return set;
	set_free(&set->rcu);
	return NULL;
}

int bpfu_probe_attach(const struct bpfu_probe_spec *spec, struct bpfu_probe_set **out,
		      const struct bpfu_func **failed)
{
	struct bpfu_probe_set *set = set_new(spec);
	uint32_t i = 0;
	int err = 0;

	if (failed)
		*failed = NULL;
	if (!set)
		return -ENOMEM;
	pthread_mutex_lock(&bpfu_hook_lock);
	epoch++;
	for (; i < spec->cnt && !err; i++) {
		err = add_one(&set->probes[i], spec->funcs[i]);
		if (err && failed)
			*failed = spec->funcs[i];
		else
			set->hooks[i] = set->probes[i].hook;
	}
	if (!err)
		err = bpfu_hook_point(set->hooks, spec->cnt);
	if (err)
		remove_all(set, set->hooks);
	pthread_mutex_unlock(&bpfu_hook_lock);
	if (err)
		bpfu_call_rcu(&set->rcu, set_free);
	else
		*out = set;
	return err;
}

void bpfu_probe_detach(struct bpfu_probe_set *set)
{
	pthread_mutex_lock(&bpfu_hook_lock);
	remove_all(set, set->hooks);
	pthread_mutex_unlock(&bpfu_hook_lock);
	bpfu_call_rcu(&set->rcu, set_free);
	bpfu_rcu_poll();
}

uint64_t bpfu_probe_missed(const struct bpfu_probe_set *set)
{
	uint64_t missed = 0;

	for (uint32_t i = 0; i < set->cnt; i++)
		if (set->probes[i].places)
			missed += bpfu_places_missed(set->probes[i].places);
	return missed;
}
