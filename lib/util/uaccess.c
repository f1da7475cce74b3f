// SPDX-License-Identifier: BSD-2-Clause
/*
 * User memory that may not be there. Two parts:
 *
 * 1. A copy routine in assembly whose every memory access has a row in an exception table, and a
 *    SIGSEGV/SIGBUS handler that looks the faulting instruction up and continues at its fixup:
 *
 *        copy:  mov (%rsi),%rax   <- faults          handler: pc found in a table?
 *               ...                                    yes: pc = fixup, return
 *        fixup: return -EFAULT    <- continues         no:  previous handler
 *
 *    It is assembly because the compiler must neither move nor instrument the accesses.
 *
 * 2. The set of tables. Readers are signal handlers, possibly on every thread at once, so they take
 *    no lock: slots live in chunks that are never freed, and a reader announces itself in one of two
 *    counters. A writer that removes a table flips the counters twice and waits for each to drain,
 *    which bounds the wait although new readers keep arriving (the scheme of SRCU).
 */
#include "util/uaccess.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "util/bits.h"

/* ---- the copy routine ---- */

/* 0 or -EFAULT. The bpfu_uaccess_eN labels are its accesses, in address order. */
int bpfu_uaccess_copy(void *dst, const void *src, size_t n);
extern const char bpfu_uaccess_fault[] __attribute__((visibility("hidden")));
extern const char bpfu_uaccess_e1[] __attribute__((visibility("hidden")));
extern const char bpfu_uaccess_e2[] __attribute__((visibility("hidden")));
extern const char bpfu_uaccess_e3[] __attribute__((visibility("hidden")));
extern const char bpfu_uaccess_e4[] __attribute__((visibility("hidden")));

/* clang-format off */
#define ASM_BEGIN(name)                                                                            \
	".text\n.balign 16\n.globl " name "\n.hidden " name "\n.type " name ",@function\n" name ":\n\t.cfi_startproc\n"
#define ASM_LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n\t"
#define ASM_END(name) "\t.cfi_endproc\n.size " name ", . - " name "\n"

#if defined(__x86_64__)

#define BULK_ACCESSES 1
extern const char bpfu_uaccess_e5[] __attribute__((visibility("hidden")));

__asm__(ASM_BEGIN("bpfu_uaccess_copy")
	"	cmpq $128, %rdx\n"
	"	jae 3f\n"
	"1:	subq $8, %rdx\n"                 /* words */
	"	jb 2f\n"
	ASM_LABEL("bpfu_uaccess_e1") "movq (%rsi), %rax\n"
	ASM_LABEL("bpfu_uaccess_e2") "movq %rax, (%rdi)\n"
	"	addq $8, %rsi\n"
	"	addq $8, %rdi\n"
	"	jmp 1b\n"
	"2:	addq $8, %rdx\n"                 /* the last 0 … 7 bytes */
	"	jz 4f\n"
	"5:\n\t"
	ASM_LABEL("bpfu_uaccess_e3") "movb (%rsi), %al\n"
	ASM_LABEL("bpfu_uaccess_e4") "movb %al, (%rdi)\n"
	"	incq %rsi\n"
	"	incq %rdi\n"
	"	decq %rdx\n"
	"	jnz 5b\n"
	"	jmp 4f\n"
	"3:	movq %rdx, %rcx\n"               /* long copies: the CPU's own routine */
	ASM_LABEL("bpfu_uaccess_e5") "rep movsb\n"
	"4:	xorl %eax, %eax\n"
	"	ret\n"
	ASM_LABEL("bpfu_uaccess_fault") "movl $-14, %eax\n" /* -EFAULT */
	"	ret\n"
	ASM_END("bpfu_uaccess_copy"));

#elif defined(__aarch64__)

__asm__(ASM_BEGIN("bpfu_uaccess_copy")
	"1:	subs x2, x2, #8\n"               /* words */
	"	b.lo 2f\n"
	ASM_LABEL("bpfu_uaccess_e1") "ldr x3, [x1], #8\n"
	ASM_LABEL("bpfu_uaccess_e2") "str x3, [x0], #8\n"
	"	b 1b\n"
	"2:	adds x2, x2, #8\n"               /* the last 0 … 7 bytes */
	"	b.eq 4f\n"
	"3:\n\t"
	ASM_LABEL("bpfu_uaccess_e3") "ldrb w3, [x1], #1\n"
	ASM_LABEL("bpfu_uaccess_e4") "strb w3, [x0], #1\n"
	"	subs x2, x2, #1\n"
	"	b.ne 3b\n"
	"4:	mov w0, #0\n"
	"	ret\n"
	ASM_LABEL("bpfu_uaccess_fault") "mov w0, #-14\n" /* -EFAULT */
	"	ret\n"
	ASM_END("bpfu_uaccess_copy"));

#else
#error "no copy routine for this architecture"
#endif
/* clang-format on */

#ifdef BULK_ACCESSES
#define COPY_ACCESSES 5
#else
#define COPY_ACCESSES 4
#endif

static struct bpfu_extable_entry copy_table[COPY_ACCESSES];

static void copy_table_init(void)
{
	const char *const access[COPY_ACCESSES] = {
		bpfu_uaccess_e1, bpfu_uaccess_e2, bpfu_uaccess_e3, bpfu_uaccess_e4,
#ifdef BULK_ACCESSES
		bpfu_uaccess_e5,
#endif
	};

	for (int i = 0; i < COPY_ACCESSES; i++)
		copy_table[i] = (struct bpfu_extable_entry){ bpfu_u64(access[i]),
							     bpfu_u64(bpfu_uaccess_fault) };
}

/* ---- the set of tables ---- */

#define CHUNK_SLOTS 62

/* Readers: slots and next are read locklessly. Writers hold tables_lock. */
struct table_slot {
	_Atomic(const struct bpfu_extable_entry *) table; /* NULL: free */
	_Atomic size_t cnt;
};

struct table_chunk {
	struct table_slot slots[CHUNK_SLOTS];
	_Atomic(struct table_chunk *) next;
};

static struct table_chunk first_chunk;
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned int readers_idx;  /* which counter new readers use */
static _Atomic unsigned int readers[2];

static const struct bpfu_extable_entry *table_search(const struct bpfu_extable_entry *table,
						     size_t cnt, uint64_t pc)
{
	size_t lo = 0, hi = cnt;

	if (!cnt || pc < table[0].insn || pc > table[cnt - 1].insn)
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table[mid].insn == pc)
			return &table[mid];
		if (table[mid].insn < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Async-signal-safe. 0: no fixup. */
static uint64_t extable_fixup(uint64_t pc)
{
	unsigned int idx = atomic_load(&readers_idx) & 1;
	uint64_t fixup = 0;

	atomic_fetch_add(&readers[idx], 1);
	for (struct table_chunk *chunk = &first_chunk; chunk && !fixup;
	     chunk = atomic_load(&chunk->next)) {
		for (int i = 0; i < CHUNK_SLOTS && !fixup; i++) {
			const struct bpfu_extable_entry *table = atomic_load(&chunk->slots[i].table);
			const struct bpfu_extable_entry *hit;

			if (!table)
				continue;
			hit = table_search(table, atomic_load(&chunk->slots[i].cnt), pc);
			if (hit)
				fixup = hit->fixup;
		}
	}
	atomic_fetch_sub(&readers[idx], 1);
	return fixup;
}

/* Wait until no reader can still see a table that was taken out before. Holds tables_lock. */
static void readers_wait(void)
{
	for (int flip = 0; flip < 2; flip++) {
		unsigned int old = atomic_fetch_add(&readers_idx, 1) & 1;

		while (atomic_load(&readers[old]))
			sched_yield();
	}
}

static struct table_slot *slot_find(const struct bpfu_extable_entry *table)
{
	for (struct table_chunk *chunk = &first_chunk; chunk; chunk = atomic_load(&chunk->next))
		for (int i = 0; i < CHUNK_SLOTS; i++)
			if (atomic_load(&chunk->slots[i].table) == table)
				return &chunk->slots[i];
	return NULL;
}

static struct table_slot *slot_new(void)
{
	struct table_chunk *last = &first_chunk;
	struct table_slot *slot = slot_find(NULL);
	struct table_chunk *chunk;

	if (slot)
		return slot;
	while (atomic_load(&last->next))
		last = atomic_load(&last->next);
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	atomic_store(&last->next, chunk);
	return &chunk->slots[0];
}

static int table_add(const struct bpfu_extable_entry *table, size_t cnt)
{
	struct table_slot *slot;
	int err = 0;

	pthread_mutex_lock(&tables_lock);
	slot = slot_new();
	if (slot) {
		atomic_store(&slot->cnt, cnt);
		atomic_store(&slot->table, table);
	} else {
		err = -ENOMEM;
	}
	pthread_mutex_unlock(&tables_lock);
	return err;
}

/* ---- the handler ---- */

/*
 * Handlers we stand in front of, newest first. An application (or a test framework) that installs
 * its own later replaces ours; bpfu_uaccess_init() then puts ours back in front and adds a row. If
 * that application's handler itself chains to ours, the fault comes round a second time and goes to
 * the next older row. Rows are written under arm_lock before they are published in prev_top.
 */
#define PREV_MAX 8

struct prev_handlers {
	struct sigaction segv, bus;
	_Atomic bool segv_used, bus_used; /* SA_RESETHAND did its work */
	struct prev_handlers *older;
};

static struct prev_handlers prev_pool[PREV_MAX];
static unsigned int prev_cnt;                     /* under arm_lock */
static _Atomic(struct prev_handlers *) prev_top;
static pthread_mutex_t arm_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool init_done;

/* The chain call in progress on this thread; stale after the callee has left by siglongjmp(). */
static __thread struct {
	const void *uc;
	const void *frame;
	struct prev_handlers *at;
} chaining;

/* What the kernel would have done without our handler. */
static void default_action(int sig, bool sent)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	sigaction(sig, &dfl, NULL);
	/* A fault happens again on return; a signal somebody sent has to be sent again. */
	if (sent)
		raise(sig);
}

/* Run @handler as the kernel would have: the mask it asked for; sigreturn restores the old one. */
static void call_handler(const struct sigaction *handler, int sig, siginfo_t *info, void *uc)
{
	pthread_sigmask(SIG_BLOCK, &handler->sa_mask, NULL);
	if (handler->sa_flags & SA_NODEFER) {
		sigset_t own;

		sigemptyset(&own);
		sigaddset(&own, sig);
		pthread_sigmask(SIG_UNBLOCK, &own, NULL);
	}
	if (handler->sa_flags & SA_SIGINFO)
		handler->sa_sigaction(sig, info, uc);
	else
		handler->sa_handler(sig);
}

/*
 * Our own frame is below the one that called the previous handler only if that handler called us: a
 * new signal with the same @uc (the last one was left by siglongjmp) starts at the same depth.
 */
static bool came_round(const void *uc, const void *frame)
{
	return chaining.uc == uc && (uintptr_t)frame < (uintptr_t)chaining.frame;
}

static void chain(int sig, siginfo_t *info, void *uc, const void *frame)
{
	struct prev_handlers *prev = came_round(uc, frame) ? chaining.at->older :
							     atomic_load(&prev_top);
	bool sent = info->si_code <= 0;
	const struct sigaction *handler;

	if (!prev) {
		default_action(sig, sent);
		return;
	}
	handler = sig == SIGSEGV ? &prev->segv : &prev->bus;
	if (!(handler->sa_flags & SA_SIGINFO)) {
		if (handler->sa_handler == SIG_IGN && sent)
			return;
		if (handler->sa_handler == SIG_DFL || handler->sa_handler == SIG_IGN) {
			default_action(sig, sent);
			return;
		}
	}
	if ((handler->sa_flags & SA_RESETHAND) &&
	    atomic_exchange(sig == SIGSEGV ? &prev->segv_used : &prev->bus_used, true)) {
		default_action(sig, sent);
		return;
	}
	chaining.uc = uc;
	chaining.frame = frame;
	chaining.at = prev;
	call_handler(handler, sig, info, uc);
	chaining.uc = NULL;
}

static void on_fault(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;
	int saved_errno = errno;
	uint64_t fixup;

#if defined(__x86_64__)
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];
#else
	unsigned long long *pc = &uc->uc_mcontext.pc;
#endif
	fixup = extable_fixup(*pc);
	if (fixup)
		*pc = fixup;
	else
		chain(sig, info, uc, __builtin_frame_address(0));
	errno = saved_errno;
}

static bool is_ours(const struct sigaction *sa)
{
	return (void *)sa->sa_sigaction == (void *)on_fault;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
	return (void *)a->sa_sigaction == (void *)b->sa_sigaction && a->sa_flags == b->sa_flags;
}

/* Remember the current handlers as the ones to chain to. False if there is no room. */
static bool prev_push(void)
{
	struct prev_handlers *top = atomic_load(&prev_top);
	struct prev_handlers *prev;
	struct sigaction segv, bus;

	sigaction(SIGSEGV, NULL, &segv);
	sigaction(SIGBUS, NULL, &bus);
	if (top && (is_ours(&segv) || is_same(&segv, &top->segv)) &&
	    (is_ours(&bus) || is_same(&bus, &top->bus)))
		return true;
	if (prev_cnt == PREV_MAX)
		return false;
	prev = &prev_pool[prev_cnt++];
	prev->segv = top && is_ours(&segv) ? top->segv : segv;
	prev->bus = top && is_ours(&bus) ? top->bus : bus;
	prev->older = top;
	/* Known before ours can run: a fault in between must find where to go. */
	atomic_store(&prev_top, prev);
	return true;
}

/*
 * A child must find the locks free and no reader counted of threads that it does not have. Registered
 * early, hence taken late: nobody who holds one of these waits for another lock.
 */
static void fork_prepare(void)
{
	pthread_mutex_lock(&arm_lock);
	pthread_mutex_lock(&tables_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&tables_lock);
	pthread_mutex_unlock(&arm_lock);
}

static void fork_child(void)
{
	atomic_store(&readers[0], 0);
	atomic_store(&readers[1], 0);
	fork_parent();
}

static void arm(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	pthread_mutex_lock(&arm_lock);
	if (!atomic_load(&init_done)) {
		copy_table_init();
		pthread_atfork(fork_prepare, fork_parent, fork_child);
		table_add(copy_table, COPY_ACCESSES); /* a slot of the static chunk: cannot fail */
	}
	sigemptyset(&sa.sa_mask);
	if (prev_push()) {
		sigaction(SIGSEGV, &sa, NULL);
		sigaction(SIGBUS, &sa, NULL);
	}
	atomic_store_explicit(&init_done, true, memory_order_release);
	pthread_mutex_unlock(&arm_lock);
}

void bpfu_uaccess_init(void)
{
	struct sigaction cur;

	/* SA_SIGINFO is lost where somebody restored our handler by signal(2). */
	if (bpfu_likely(atomic_load_explicit(&init_done, memory_order_acquire)) &&
	    !sigaction(SIGSEGV, NULL, &cur) && is_ours(&cur) && (cur.sa_flags & SA_SIGINFO))
		return;
	arm();
}

static void init_once(void)
{
	if (bpfu_unlikely(!atomic_load_explicit(&init_done, memory_order_acquire)))
		arm();
}

int bpfu_extable_register(const struct bpfu_extable_entry *table, size_t cnt)
{
	init_once();
	return table_add(table, cnt);
}

void bpfu_extable_unregister(const struct bpfu_extable_entry *table)
{
	struct table_slot *slot;

	pthread_mutex_lock(&tables_lock);
	slot = slot_find(table);
	if (slot) {
		atomic_store(&slot->table, NULL);
		readers_wait();
	}
	pthread_mutex_unlock(&tables_lock);
}

/* ---- copies ---- */

int bpfu_copy_from_user(void *dst, uint64_t src, size_t n)
{
	init_once();
	return bpfu_uaccess_copy(dst, bpfu_ptr(src), n);
}

int bpfu_copy_to_user(uint64_t dst, const void *src, size_t n)
{
	init_once();
	return bpfu_uaccess_copy(bpfu_ptr(dst), src, n);
}

int bpfu_strncpy_from_user(char *dst, uint64_t src, size_t size)
{
	char piece[256];
	size_t done = 0;

	while (done < size) {
		/* Up to the next page, so that nothing after the NUL is touched needlessly. */
		size_t n = BPFU_MIN(size - done, 4096 - ((src + done) & 4095));
		char *nul;

		/* By way of our own memory: what follows the NUL is not the caller's string. */
		n = BPFU_MIN(n, sizeof(piece));
		if (bpfu_copy_from_user(piece, src + done, n))
			return -EFAULT;
		nul = memchr(piece, '\0', n);
		if (nul) {
			memcpy(dst + done, piece, nul - piece + 1);
			return done + (nul - piece) + 1;
		}
		memcpy(dst + done, piece, n);
		done += n;
	}
	return size;
}
