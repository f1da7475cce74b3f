// SPDX-License-Identifier: BSD-2-Clause
/*
 * Points: what happens at one, and who is attached to which (point.h). The code of a point, and
 * whether an address may be one, is place.c's.
 *
 * At run time a breakpoint costs a signal; nothing in the way to the programs may call into a
 * library, since that may be probed itself. A thread that meets a point while it runs the programs of
 * another one (a helper called a probed function) runs nothing and counts a miss, as in the kernel.
 */
#include "probe/point.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "obj/prog.h"
#include "obj/run.h"
#include "percpu/rcu.h"
#include "probe/hook.h"
#include "probe/place.h"
#include "probe/returns.h"
#include "probe/stub.h"
#include "probe/trap.h"
#include "util/bits.h"

/* One program on one point. */
struct point_probe {
	struct bpfu_run run;
	struct bpfu_point_set *set;
	struct bpfu_point *point; /* NULL: not on it */
	uint64_t func_ip;
	uint64_t since;           /* epoch of the attachment */
	uint16_t *ref_ctr;
	_Atomic uint64_t missed;
	uint32_t number;          /* of a session, among those of the point */
	struct point_probe *next; /* in point->first, under the lock */
};

struct bpfu_point_set {
	struct bpfu_rcu_head rcu;
	enum bpfu_when when;
	bool is_session;
	uint32_t cnt;
	struct bpfu_point **changed; /* room for those whose code changes */
	struct point_probe probes[];
};

/*
 * What the handlers walk: entry probes, then return probes, sessions among both. Freed after a grace
 * period.
 */
struct bpfu_point_list {
	struct bpfu_rcu_head rcu;
	uint64_t epoch;
	uint32_t entry_cnt, cnt;
	uint32_t room;       /* what a call keeps of sessions */
	struct point_probe *probes[];
};

static uint64_t epoch; /* counts attachments, under the lock */

/* The thread runs programs of a point. */
static __thread volatile bool running __attribute__((tls_model("initial-exec")));

/* ---- at run time ---- */

static uint64_t run_probe(const struct point_probe *probe, struct bpfu_regs *regs)
{
	const struct bpfu_run *run = &probe->run;

	regs->func_ip = probe->func_ip;
	if (bpfu_attach_cookie != run->cookie ||
	    atomic_load_explicit(&bpfu_stats_users, memory_order_relaxed))
		return bpfu_run_slow(run, regs->word);
	return run->func(regs->word, run->prog);
}

static uint64_t run_session(const struct point_probe *probe, struct bpfu_regs *regs,
			    struct bpfu_session *session, bool is_return)
{
	struct bpfu_session_run outer = bpfu_session_begin(session, is_return);
	uint64_t ret = run_probe(probe, regs);

	bpfu_session_end(outer);
	return ret;
}

static void miss_return(struct point_probe *probe)
{
	atomic_fetch_add_explicit(&probe->missed, 1, memory_order_relaxed);
	bpfu_run_missed(&probe->run);
}

/* Misses of the entry, and of the returns that will not be waited for; of a session that is one. */
static void miss_all(const struct bpfu_point_list *list)
{
	for (uint32_t i = 0; i < list->cnt; i++) {
		if (i < list->entry_cnt)
			bpfu_run_missed(&list->probes[i]->run);
		else if (list->probes[i]->set->when == BPFU_WHEN_LEFT)
			miss_return(list->probes[i]);
	}
}

/* Does @probe, one at returns, see that of a call that is as @sessions say? */
static bool is_due(const struct point_probe *probe, const struct bpfu_session *sessions)
{
	return probe->set->when == BPFU_WHEN_LEFT || sessions[probe->number].due;
}

/* Run what is to be run at the entry; true if somebody wants to see the return. */
static bool run_each_entry(const struct bpfu_point_list *list, struct bpfu_regs *regs,
			   struct bpfu_session *sessions)
{
	bool wanted = false;

	for (uint32_t i = 0; i < list->entry_cnt; i++) {
		const struct point_probe *probe = list->probes[i];
		struct bpfu_session *session = &sessions[probe->number];

		if (!probe->set->is_session) {
			run_probe(probe, regs);
			continue;
		}
		session->cookie = 0;
		session->due = !run_session(probe, regs, session, false);
	}
	for (uint32_t i = list->entry_cnt; i < list->cnt && !wanted; i++)
		wanted = is_due(list->probes[i], sessions);
	return wanted;
}

/*
 * Not inline: errno is a call into the C library that the compiler would move in front of running = true,
 * and a probe on it would then never end.
 */
__attribute__((noinline)) static void run_entries(const struct bpfu_point_list *list,
						  struct bpfu_point *point, struct bpfu_regs *regs)
{
	struct bpfu_session sessions[BPFU_SESSIONS_MAX];
	int saved_errno = errno;

	if (run_each_entry(list, regs, sessions) &&
	    !bpfu_return_take(point, &point->pending, list->epoch, sessions, list->room, regs))
		for (uint32_t i = list->entry_cnt; i < list->cnt; i++)
			if (is_due(list->probes[i], sessions))
				miss_return(list->probes[i]);
	errno = saved_errno;
}

static void enter_point(struct bpfu_point *point, struct bpfu_regs *regs)
{
	bool entered = bpfu_run_enter();
	struct bpfu_point_list *list = atomic_load_explicit(&point->list, memory_order_acquire);

	if (list && running) {
		miss_all(list);
	} else if (list) {
		running = true;
		run_entries(list, point, regs);
		running = false;
	}
	bpfu_run_leave(entered);
}

/* Is the call waited for by @probe? */
static bool is_waiting(const struct point_probe *probe, const struct bpfu_return *call,
		       const struct bpfu_session *sessions)
{
	return probe->since <= call->epoch && is_due(probe, sessions);
}

static void run_return(const struct point_probe *probe, struct bpfu_regs *regs,
		       struct bpfu_session *sessions)
{
	struct bpfu_session none = { 0 };

	if (!probe->set->is_session)
		run_probe(probe, regs);
	else
		run_session(probe, regs,
			    probe->set->when == BPFU_WHEN_BOTH ? &sessions[probe->number] : &none, true);
}

__attribute__((noinline)) static void run_returns(const struct bpfu_point_list *list,
						  const struct bpfu_return *call,
						  struct bpfu_regs *regs, struct bpfu_session *sessions)
{
	int saved_errno = errno;

	for (uint32_t i = list->entry_cnt; i < list->cnt; i++)
		if (is_waiting(list->probes[i], call, sessions))
			run_return(list->probes[i], regs, sessions);
	errno = saved_errno;
}

static void leave_function(const struct bpfu_return *call, struct bpfu_regs *regs,
			   struct bpfu_session *sessions)
{
	bool entered = bpfu_run_enter();
	struct bpfu_point_list *list =
		atomic_load_explicit(&call->point->list, memory_order_acquire);

	if (list && running) {
		for (uint32_t i = list->entry_cnt; i < list->cnt; i++)
			if (is_waiting(list->probes[i], call, sessions))
				miss_return(list->probes[i]);
	} else if (list) {
		running = true;
		run_returns(list, call, regs, sessions);
		running = false;
	}
	bpfu_run_leave(entered);
}

static bool trap_of_return(struct bpfu_regs *regs, uintptr_t at)
{
	struct bpfu_session sessions[BPFU_SESSIONS_MAX];
	int idx = bpfu_return_at(at);
	struct bpfu_return call;

	if (idx < 0)
		return false;
	bpfu_return_leave((uint32_t)idx, &call, sessions);
	regs->word[BPFU_REG_PC] = call.ret;
	leave_function(&call, regs, sessions);
	return true;
}

bool bpfu_point_trap(ucontext_t *uc, bool sync)
{
	struct bpfu_point *point;
	struct bpfu_regs regs;
	uintptr_t at;

	bpfu_regs_of(&regs, uc);
	at = (uintptr_t)regs.word[BPFU_REG_PC] - BPFU_TRAP_SIZE;
	point = bpfu_point_find(at);
	if (!point || !bpfu_point_is_trap(point, sync)) {
		if (!sync || !trap_of_return(&regs, at))
			return false;
	} else {
		regs.word[BPFU_REG_PC] = at;
		enter_point(point, &regs);
		bpfu_point_step(point, &regs);
	}
	bpfu_regs_put(&regs, uc);
	return true;
}

#if defined(__x86_64__)

#define RED_ZONE 128

void bpfu_point_event(struct bpfu_regs *regs, uint64_t *word)
{
	struct bpfu_point *point = bpfu_ptr(*word);

	regs->word[BPFU_REG_SP] = bpfu_u64(word + 1) + RED_ZONE;
	regs->word[BPFU_REG_PC] = point->at;
	enter_point(point, regs);
}

void bpfu_return_event(struct bpfu_regs *regs, uint64_t *word)
{
	struct bpfu_session sessions[BPFU_SESSIONS_MAX];
	struct bpfu_return call;

	bpfu_return_leave((uint32_t)*word, &call, sessions);
	*word = call.ret;
	regs->word[BPFU_REG_SP] = bpfu_u64(word + 1);
	regs->word[BPFU_REG_PC] = call.ret;
	leave_function(&call, regs, sessions);
}

#endif

/* ---- changes, with the lock of hook.c held ---- */

static void list_free(struct bpfu_rcu_head *head)
{
	free(bpfu_container_of(head, struct bpfu_point_list, rcu));
}

static struct bpfu_point_list *list_new(const struct bpfu_point *point)
{
	struct bpfu_point_list *list = malloc(sizeof(*list) + 2 * point->cnt * sizeof(list->probes[0]));
	uint32_t cnt = 0;

	if (!list)
		return NULL;
	for (enum bpfu_when when = BPFU_WHEN_ENTERED; when <= BPFU_WHEN_LEFT; when++) {
		for (struct point_probe *probe = point->first; probe; probe = probe->next)
			if (probe->set->when & when)
				list->probes[cnt++] = probe;
		if (when == BPFU_WHEN_ENTERED)
			list->entry_cnt = cnt;
	}
	list->cnt = cnt;
	list->room = bpfu_session_room(point->sessions);
	list->epoch = epoch;
	return list;
}

static void put_list(struct bpfu_point *point, struct bpfu_point_list *list)
{
	struct bpfu_point_list *old = atomic_exchange(&point->list, list);

	if (old)
		bpfu_call_rcu(&old->rcu, list_free);
}

/* Publish what point->first says. 0 or -ENOMEM. */
static int publish(struct bpfu_point *point)
{
	struct bpfu_point_list *list = point->cnt ? list_new(point) : NULL;

	if (point->cnt && !list)
		return -ENOMEM;
	put_list(point, list);
	return 0;
}

static int add_one(struct point_probe *probe, const struct bpfu_point_place *place)
{
	struct bpfu_point *point;
	int err = bpfu_point_get(place->addr, &point), number = 0;

	if (!err && probe->set->when == BPFU_WHEN_BOTH)
		number = bpfu_session_number(&point->sessions);
	if (number < 0)
		err = -E2BIG;
	if (err)
		return err;
	probe->number = (uint32_t)number;
	probe->point = point;
	probe->since = epoch;
	probe->next = point->first;
	point->first = probe;
	point->cnt++;
	probe->ref_ctr = place->ref_ctr;
	if (place->ref_ctr)
		__atomic_fetch_add(place->ref_ctr, 1, __ATOMIC_SEQ_CST);
	return publish(point);
}

static struct bpfu_point *del_one(struct point_probe *probe)
{
	struct bpfu_point *point = probe->point;
	struct point_probe **at = &point->first;

	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
	point->cnt--;
	if (probe->set->when == BPFU_WHEN_BOTH)
		point->sessions &= ~(1u << probe->number);
	probe->point = NULL;
	if (probe->ref_ctr)
		__atomic_fetch_sub(probe->ref_ctr, 1, __ATOMIC_SEQ_CST);
	return point;
}

static void remove_all(struct bpfu_point_set *set)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < set->cnt; i++)
		if (set->probes[i].point)
			set->changed[cnt++] = del_one(&set->probes[i]);
	bpfu_points_arm(set->changed, cnt);
	/* Without memory for a shorter list: none at all, until the next change. */
	for (uint32_t i = 0; i < cnt; i++)
		if (publish(set->changed[i]))
			put_list(set->changed[i], NULL);
}

/* ---- sets ---- */

static void set_free(struct bpfu_rcu_head *head)
{
	struct bpfu_point_set *set = bpfu_container_of(head, struct bpfu_point_set, rcu);

	free(set->changed);
	free(set);
}

static struct bpfu_point_set *set_new(const struct bpfu_point_spec *spec)
{
	struct bpfu_point_set *set = calloc(1, sizeof(*set) + spec->cnt * sizeof(set->probes[0]));

	if (!set)
		return NULL;
	set->when = spec->when;
	set->is_session = bpfu_prog_is_session(spec->prog);
	set->cnt = spec->cnt;
	set->changed = calloc(spec->cnt, sizeof(struct bpfu_point *));
	if (!set->changed) {
		free(set);
		return NULL;
	}
	for (uint32_t i = 0; i < spec->cnt; i++) {
		set->probes[i].set = set;
		set->probes[i].func_ip = spec->places[i].func_ip;
		set->probes[i].run = bpfu_run_of(spec->prog, spec->places[i].cookie);
	}
	return set;
}

/* With the lock held; *@failed as bpfu_point_attach(). */
static int add_all(struct bpfu_point_set *set, const struct bpfu_point_spec *spec, uint32_t *failed)
{
	int err = spec->when & BPFU_WHEN_LEFT ? bpfu_returns_init() : 0;

	*failed = spec->cnt;
	epoch++;
	for (uint32_t i = 0; i < spec->cnt && !err; i++) {
		err = add_one(&set->probes[i], &spec->places[i]);
		if (err)
			*failed = i;
		else
			set->changed[i] = set->probes[i].point;
	}
	return err ? err : bpfu_points_arm(set->changed, spec->cnt);
}

int bpfu_point_attach(const struct bpfu_point_spec *spec, struct bpfu_point_set **out,
		      uint32_t *failed)
{
	struct bpfu_point_set *set = set_new(spec);
	uint32_t ignored;
	int err;

	if (!set)
		return -ENOMEM;
	bpfu_trap_init();
	pthread_mutex_lock(&bpfu_hook_lock);
	bpfu_hook_watch_forks();
	err = add_all(set, spec, failed ? failed : &ignored);
	if (err)
		remove_all(set);
	pthread_mutex_unlock(&bpfu_hook_lock);
	if (err)
		bpfu_call_rcu(&set->rcu, set_free);
	else
		*out = set;
	return err;
}

void bpfu_point_detach(struct bpfu_point_set *set)
{
	pthread_mutex_lock(&bpfu_hook_lock);
	remove_all(set);
	pthread_mutex_unlock(&bpfu_hook_lock);
	bpfu_call_rcu(&set->rcu, set_free);
	bpfu_rcu_poll();
}

uint64_t bpfu_point_missed(const struct bpfu_point_set *set)
{
	uint64_t missed = 0;

	for (uint32_t i = 0; i < set->cnt; i++)
		missed += set->probes[i].missed;
	return missed;
}

const char *bpfu_point_reason(int err)
{
	switch (-err) {
	case EINVAL:
		return "there is no text of this process";
	case EILSEQ:
		return "no instruction begins there";
	case EOPNOTSUPP:
		return "the instruction there cannot be executed elsewhere";
	case EPERM:
		return "it is libbpfu's own code, which probes need";
	case EBUSY:
		return "that instruction is changed by somebody else: another probe on the function's "
		       "entry, or a debugger";
	case E2BIG:
		return "as many programs of this kind as one place can have are there already";
	case ERANGE:
		return "there is no free memory near it";
	case EACCES:
		return "the text of this process cannot be changed";
	default:
		return NULL;
	}
}
