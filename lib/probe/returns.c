// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records of calls whose return is waited for (returns.h). They are taken and given back in signal
 * handlers, so there are no locks: a stack of free ones with a counter against its being changed and
 * changed back in between.
 *
 * A record may be left behind by a call that never returns. It is free again if
 *   - its thread has ended, or
 *   - another value is where its return address was: the stack has been used for something else
 *     since (x86-64), or
 *   - the same thread calls with the same stack pointer and another return address (the others).
 * Neither can be true of a call that goes on.
 */
#include "probe/returns.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "percpu/sys.h"
#include "probe/patch.h"
#include "probe/stub.h"
#include "util/frames.h"
#include "util/uaccess.h"

#define STUB_SIZE 16
#define CHAIN_MAX 64
#define STUBS_SIZE ((size_t)STUB_SIZE * (BPFU_RETURNS_MAX + 1)) /* the first is a cell */

struct record {
	struct bpfu_return call;
	uint64_t sp;                     /* at the entry */
	_Atomic(_Atomic uint32_t *) pending; /* NULL: the record is free */
	_Atomic int32_t tid;
	uint32_t next_free;              /* number + 1; 0: the last */
};

static uint8_t *stubs; /* written before the first is used */
static struct record records[BPFU_RETURNS_MAX];
static struct bpfu_session kept[BPFU_RETURNS_MAX][BPFU_SESSIONS_MAX]; /* untouched without sessions */
static _Atomic uint64_t free_head; /* a counter, and the number + 1 of the first free record */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int32_t own_tid __attribute__((tls_model("initial-exec")));

/* The number + 1 of the thread's latest record with that stack pointer, of a few. */
#define LATEST_CNT 64
static __thread uint32_t latest[LATEST_CNT] __attribute__((tls_model("initial-exec")));

static int32_t tid_of_self(void)
{
	if (!own_tid)
		own_tid = (int32_t)bpfu_sys6(SYS_gettid, 0, 0, 0, 0, 0, 0);
	return own_tid;
}

/* ---- free records ---- */

static void give(uint32_t idx)
{
	uint64_t head = atomic_load(&free_head), next;

	do {
		records[idx].next_free = (uint32_t)head;
		next = ((head >> 32) + 1) << 32 | (idx + 1);
	} while (!atomic_compare_exchange_weak(&free_head, &head, next));
}

static int take(void)
{
	uint64_t head = atomic_load(&free_head), next;
	uint32_t idx;

	do {
		idx = (uint32_t)head;
		if (!idx)
			return -1;
		next = ((head >> 32) + 1) << 32 | *(volatile uint32_t *)&records[idx - 1].next_free;
	} while (!atomic_compare_exchange_weak(&free_head, &head, next));
	return (int)idx - 1;
}

static uint64_t stub_of(uint32_t idx)
{
	return (uint64_t)(uintptr_t)stubs + (uint64_t)idx * STUB_SIZE;
}

/*
 * True if a return to @addr comes by the stub of @idx: at once, or after those of functions that the
 * first one left by a jump.
 */
static bool leads_to(uint64_t addr, uint32_t idx)
{
	for (int n = 0; n < CHAIN_MAX; n++) {
		int at = bpfu_return_at((uintptr_t)addr);

		if (at < 0)
			return false;
		if (at == (int)idx)
			return true;
		addr = records[at].call.ret;
	}
	return true;
}

/* ---- where the machine keeps the return address at a function's entry ---- */

#if defined(__x86_64__)

static uint64_t *return_address(struct bpfu_regs *regs)
{
	return (uint64_t *)(uintptr_t)regs->word[BPFU_REG_SP];
}

static bool is_left(const struct record *r, uint32_t idx, struct bpfu_regs *regs)
{
	uint64_t now;

	/* A stack that is gone is one of the ways. */
	return bpfu_copy_from_user(&now, r->sp, sizeof(now)) || !leads_to(now, idx);
}

#else

static uint64_t *return_address(struct bpfu_regs *regs)
{
	return &regs->word[BPFU_REG_LR];
}

static bool is_left(const struct record *r, uint32_t idx, struct bpfu_regs *regs)
{
	return r->sp == regs->word[BPFU_REG_SP] && !leads_to(*return_address(regs), idx);
}

#endif

/* Give a record back, unless somebody else does. */
static void release(uint32_t idx, _Atomic uint32_t *pending)
{
	if (!atomic_compare_exchange_strong(&records[idx].pending, &pending, NULL))
		return;
	atomic_fetch_sub(pending, 1);
	give(idx);
}

/* Give back what calls have left behind. */
static void reclaim(struct bpfu_regs *regs)
{
	int32_t pid = (int32_t)bpfu_sys6(SYS_getpid, 0, 0, 0, 0, 0, 0), self = tid_of_self();

	for (uint32_t i = 0; i < BPFU_RETURNS_MAX; i++) {
		struct record *r = &records[i];
		_Atomic uint32_t *pending = atomic_load(&r->pending);
		int32_t tid = atomic_load(&r->tid);

		if (!pending || !tid ||
		    (tid == self ? !is_left(r, i, regs) :
				   bpfu_sys6(SYS_tgkill, pid, tid, 0, 0, 0, 0) != -ESRCH))
			continue;
		release(i, pending);
	}
}

/*
 * The record of the thread's last call with this stack pointer, if that call has been left: the usual
 * case, a loop around something that ends in a longjmp(), never runs out of records.
 */
static void reclaim_latest(const uint32_t *idx_plus_1, struct bpfu_regs *regs)
{
	uint32_t idx = *idx_plus_1 - 1;
	_Atomic uint32_t *pending;

	if (!*idx_plus_1)
		return;
	pending = atomic_load(&records[idx].pending);
	if (pending && atomic_load(&records[idx].tid) == tid_of_self() &&
	    records[idx].sp == regs->word[BPFU_REG_SP] &&
	    !leads_to(*return_address(regs), idx))
		release(idx, pending);
}

static int take_or_reclaim(_Atomic uint32_t *pending, struct bpfu_regs *regs)
{
	int idx = atomic_load(pending) < BPFU_RETURNS_PER_POINT ? take() : -1;

	if (idx < 0) {
		reclaim(regs);
		idx = atomic_load(pending) < BPFU_RETURNS_PER_POINT ? take() : -1;
	}
	return idx;
}

/* Not memcpy(), which the compiler would make of a plain loop: it may have a breakpoint. */
static void copy_sessions(struct bpfu_session *to, const struct bpfu_session *from, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		to[i] = from[i];
		__asm__ volatile("" ::: "memory");
	}
}

bool bpfu_return_take(struct bpfu_point *point, _Atomic uint32_t *pending, uint64_t epoch,
		      const struct bpfu_session *sessions, uint32_t room, struct bpfu_regs *regs)
{
	uint32_t *last = &latest[(regs->word[BPFU_REG_SP] >> 4) % LATEST_CNT];
	uint64_t *at = return_address(regs);
	struct record *r;
	int idx;

	reclaim_latest(last, regs);
	idx = take_or_reclaim(pending, regs);
	if (idx < 0)
		return false;
	*last = (uint32_t)idx + 1;
	r = &records[idx];
	atomic_fetch_add(pending, 1);
	r->call = (struct bpfu_return){ point, epoch, *at, room };
	copy_sessions(kept[idx], sessions, room);
	r->sp = regs->word[BPFU_REG_SP];
	/* Only with its thread known, and when the stack has the stub, can it be found left. */
	atomic_store(&r->tid, 0);
	atomic_store(&r->pending, pending);
	*at = stub_of((uint32_t)idx);
	atomic_store(&r->tid, tid_of_self());
	return true;
}

int bpfu_return_at(uintptr_t pc)
{
	uintptr_t off = pc - (uintptr_t)stubs;

	return stubs && off < STUBS_SIZE - STUB_SIZE ? (int)(off / STUB_SIZE) : -1;
}

/* Where a return to @pc leads in the end. */
static uint64_t true_return(uint64_t pc)
{
	for (int n = 0, at; n < CHAIN_MAX && (at = bpfu_return_at((uintptr_t)pc)) >= 0; n++)
		pc = *(volatile uint64_t *)&records[at].call.ret;
	return pc;
}

void bpfu_return_leave(uint32_t idx, struct bpfu_return *out,
		       struct bpfu_session sessions[BPFU_SESSIONS_MAX])
{
	struct record *r = &records[idx];
	_Atomic uint32_t *pending;

	*out = r->call;
	copy_sessions(sessions, kept[idx], out->room);
	pending = atomic_exchange(&r->pending, NULL);
	if (!pending)
		return;
	atomic_fetch_sub(pending, 1);
	give(idx);
}

/* ---- set up ---- */

/* The calls of the thread that forked go on in the child, under another number. */
static void in_child(void)
{
	int32_t tid = own_tid;

	own_tid = 0;
	for (uint32_t i = 0; i < BPFU_RETURNS_MAX && tid; i++)
		if (records[i].tid == tid)
			records[i].tid = tid_of_self();
}

static int make_stubs(void)
{
	uint64_t common = bpfu_return_common();
	uint8_t *p = mmap(NULL, STUBS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	memcpy(p, &common, sizeof(common));
	for (uint32_t i = 0; i < BPFU_RETURNS_MAX; i++)
		bpfu_return_stub(p + (size_t)(i + 1) * STUB_SIZE, i, p);
	if (mprotect(p, STUBS_SIZE, PROT_READ | PROT_EXEC)) {
		munmap(p, STUBS_SIZE);
		return -EACCES;
	}
	__builtin___clear_cache((char *)p, (char *)p + STUBS_SIZE);
	stubs = p + STUB_SIZE;
	return 0;
}

int bpfu_returns_init(void)
{
	int err = 0;

	pthread_mutex_lock(&init_lock);
	if (!stubs) {
		err = make_stubs();
		for (uint32_t i = BPFU_RETURNS_MAX; !err && i-- > 0;)
			give(i);
		if (!err) {
			pthread_atfork(NULL, NULL, in_child);
			bpfu_frames_ask_return(true_return);
		}
	}
	pthread_mutex_unlock(&init_lock);
	return err;
}
