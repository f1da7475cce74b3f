// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames, and the rules that lead from one to the next. Rules are kept in sets of four entries, of two words
 * each; the latest is the first of its set, so that one look is enough as a rule:
 *
 *      word[0]  address ^ rule
 *      word[1]  rule: kind 3 | code 2 | 3 | cfa 24 | fp 16 | ra 16 bits
 *
 * Who reads words that two others have written at the same time finds an address that does not fit, and looks
 * the rule up. Rules stay: what has been unloaded, and something else loaded in its place, may be walked
 * wrongly until another address takes the place in the table; no memory outside of the stack is believed.
 */
#include "util/frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <ucontext.h>

#include "util/bits.h"
#include "util/cfi.h"
#include "util/inner.h"
#include "util/uaccess.h"

#define SETS 1024 /* of rules, a power of two */
#define WAYS 4    /* a cache line */
#define THUNKS 256

static struct {
	_Atomic uint64_t word[2];
} rules[SETS][WAYS] __attribute__((aligned(64)));
static _Atomic uint32_t next_way;

static struct {
	_Atomic uint64_t word[2]; /* address ^ start, start */
} thunks[THUNKS];

static bool (*_Atomic ask_thunk)(uint64_t pc, struct bpfu_frame_thunk *out);
static uint64_t (*_Atomic ask_return)(uint64_t pc);

void bpfu_frames_ask_thunk(bool (*thunk_at)(uint64_t pc, struct bpfu_frame_thunk *out))
{
	atomic_store(&ask_thunk, thunk_at);
}

void bpfu_frames_ask_return(uint64_t (*true_return)(uint64_t pc))
{
	atomic_store(&ask_return, true_return);
}

/* ---- rules ---- */

#define CFA_BITS 24

static uint64_t pack(const struct bpfu_cfi *cfi, enum bpfu_frame_code code)
{
	return (uint64_t)cfi->kind | (uint64_t)code << 3 |
	       (uint64_t)(cfi->cfa & ((1 << CFA_BITS) - 1)) << 8 |
	       (uint64_t)(uint16_t)cfi->fp << 32 | (uint64_t)(uint16_t)cfi->ra << 48;
}

static enum bpfu_cfi_kind kind_of(uint64_t rule)
{
	return rule & 7;
}

static enum bpfu_frame_code code_of(uint64_t rule)
{
	return rule >> 3 & 3;
}

static int64_t cfa_of(uint64_t rule)
{
	return (int32_t)(uint32_t)rule >> (32 - CFA_BITS);
}

static int64_t fp_of(uint64_t rule)
{
	return (int16_t)(rule >> 32);
}

static int64_t ra_of(uint64_t rule)
{
	return (int64_t)rule >> 48;
}

static bool find_thunk(uint64_t pc, struct bpfu_frame_thunk *out)
{
	bool (*thunk_at)(uint64_t pc, struct bpfu_frame_thunk *out) = atomic_load(&ask_thunk);

	return thunk_at && thunk_at(pc, out);
}

/*
 * Generated code that calls anything has a frame pointer, at two words: the caller's, and the return address.
 * They are the last of a program's frame, but on arm64 the first of a thunk's.
 */
static enum bpfu_frame_code look_up_generated(uint64_t pc, struct bpfu_cfi *cfi)
{
	struct bpfu_frame_thunk thunk = { .size = 16 };

	find_thunk(pc, &thunk);
	cfi->kind = BPFU_CFI_FP;
	cfi->cfa = (int32_t)thunk.size;
	cfi->fp = (int16_t)-(int32_t)(thunk.size / 8);
	cfi->ra = (int16_t)(cfi->fp + 1);
	return thunk.hidden ? BPFU_CODE_HIDDEN : BPFU_CODE_GENERATED;
}

static uint64_t look_up(uint64_t pc)
{
	enum bpfu_frame_code code = BPFU_CODE_OTHER;
	struct bpfu_cfi cfi;

	if (!bpfu_cfi_find(pc, &cfi))
		code = look_up_generated(pc, &cfi);
	else if (bpfu_is_inner(pc))
		code = BPFU_CODE_INNER;
	if (cfi.cfa >> (CFA_BITS - 1) != cfi.cfa >> 31)
		cfi.kind = BPFU_CFI_END;
	return pack(&cfi, code);
}

/*
 * The word that goes with @pc in the entry @word of a table, 0: none. Written by put() in an order that does
 * not matter.
 */
static uint64_t get(_Atomic uint64_t *word, uint64_t pc)
{
	uint64_t value = atomic_load_explicit(&word[1], memory_order_relaxed);

	return (atomic_load_explicit(&word[0], memory_order_relaxed) ^ value) == pc ? value : 0;
}

static void put(_Atomic uint64_t *word, uint64_t pc, uint64_t value)
{
	atomic_store_explicit(&word[0], pc ^ value, memory_order_relaxed);
	atomic_store_explicit(&word[1], value, memory_order_relaxed);
}

/* What is first in a set goes to one of the other places. */
static void make_room(size_t set)
{
	uint32_t way = 1 + atomic_fetch_add_explicit(&next_way, 1, memory_order_relaxed) % (WAYS - 1);
	uint64_t rule = atomic_load_explicit(&rules[set][0].word[1], memory_order_relaxed);
	uint64_t pc = atomic_load_explicit(&rules[set][0].word[0], memory_order_relaxed) ^ rule;

	put(rules[set][way].word, pc, rule);
}

/* Not inline: hardly ever needed. */
static __attribute__((noinline)) uint64_t look_further(uint64_t pc, size_t set)
{
	uint64_t rule;

	for (int way = 1; way < WAYS; way++) {
		rule = get(rules[set][way].word, pc);
		if (rule)
			return rule;
	}
	rule = look_up(pc);
	make_room(set);
	put(rules[set][0].word, pc, rule);
	return rule;
}

static inline uint64_t rule_of(const struct bpfu_frame *f)
{
	/* The call belongs to the frame; what is behind it may be another function. */
	uint64_t pc = f->exact ? f->pc : f->pc - 1, rule;
	size_t set = (pc * 0x9e3779b97f4a7c15u >> 32) % SETS;

	rule = get(rules[set][0].word, pc);
	return bpfu_likely(rule) ? rule : look_further(pc, set);
}

enum bpfu_frame_code bpfu_frame_code(const struct bpfu_frame *frame)
{
	return code_of(rule_of(frame));
}

uint64_t bpfu_frame_thunk_start(const struct bpfu_frame *frame)
{
	_Atomic uint64_t *at = thunks[frame->pc % THUNKS].word;
	uint64_t start = get(at, frame->pc);
	struct bpfu_frame_thunk thunk;

	if (bpfu_unlikely(!start)) {
		start = find_thunk(frame->pc, &thunk) ? thunk.start : frame->pc;
		put(at, frame->pc, start);
	}
	return start;
}

/* ---- steps ---- */

static bool read_words(uint64_t *out, uint64_t addr, size_t cnt)
{
	return !bpfu_copy_from_user(out, addr, cnt * sizeof(*out));
}

#if defined(__x86_64__)

/* The kernel leaves a ucontext_t at the stack pointer of the return from a handler. */
static bool leave_signal(struct bpfu_frame *f)
{
	const uint64_t at = f->sp + offsetof(ucontext_t, uc_mcontext.gregs);
	uint64_t regs[REG_RIP + 1];

	if (!read_words(regs, at, REG_RIP + 1))
		return false;
	*f = (struct bpfu_frame){
		.pc = regs[REG_RIP], .sp = regs[REG_RSP], .fp = regs[REG_RBP], .exact = true,
	};
	return f->pc;
}

static uint64_t strip(uint64_t pc)
{
	return pc;
}

#else

#define SIGINFO_SIZE 128 /* in front of it */

static bool leave_signal(struct bpfu_frame *f)
{
	const uint64_t at = f->sp + SIGINFO_SIZE + offsetof(ucontext_t, uc_mcontext.regs[29]);
	uint64_t regs[4]; /* x29, x30, sp, pc */

	if (!read_words(regs, at, 4))
		return false;
	*f = (struct bpfu_frame){
		.pc = regs[3], .sp = regs[2], .fp = regs[0], .lr = regs[1], .exact = true,
	};
	return f->pc;
}

/* Return addresses may carry a signature above the 48 bits of an address. */
static uint64_t strip(uint64_t pc)
{
	return pc & ((1ull << 48) - 1);
}

#endif

static inline bool caller_begins_at(const struct bpfu_frame *f, uint64_t rule, uint64_t *cfa)
{
	enum bpfu_cfi_kind kind = kind_of(rule);

	*cfa = (kind == BPFU_CFI_SP ? f->sp : f->fp) + (uint64_t)cfa_of(rule);
	if (bpfu_unlikely(kind > BPFU_CFI_FP) &&
	    (kind != BPFU_CFI_DEREF || !read_words(cfa, *cfa, 1)))
		return false;
	/* Stacks grow downwards; only a leaf of arm64 has no part of one. */
	return !(*cfa % 8) && (*cfa > f->sp || (*cfa == f->sp && ra_of(rule) == BPFU_CFI_SAME));
}

static uint64_t slot(uint64_t cfa, int64_t words)
{
	return cfa + (uint64_t)(words * 8);
}

static inline __attribute__((always_inline)) bool next(struct bpfu_frame *f, uint64_t rule)
{
	uint64_t (*true_return)(uint64_t pc) = atomic_load_explicit(&ask_return, memory_order_relaxed);
	int64_t fp = fp_of(rule), ra = ra_of(rule);
	uint64_t cfa, words[2] = { f->fp, f->lr };

	if (bpfu_unlikely(kind_of(rule) == BPFU_CFI_SIGNAL))
		return leave_signal(f);
	if (!caller_begins_at(f, rule, &cfa))
		return false;
	if (ra == BPFU_CFI_SAME && !f->exact)
		return false;
	if (fp != BPFU_CFI_SAME && ra == fp + 1) {
		if (!read_words(words, slot(cfa, fp), 2))
			return false;
	} else if ((fp != BPFU_CFI_SAME && !read_words(&words[0], slot(cfa, fp), 1)) ||
		   (ra != BPFU_CFI_SAME && !read_words(&words[1], slot(cfa, ra), 1))) {
		return false;
	}
	words[1] = strip(words[1]);
	if (true_return)
		words[1] = true_return(words[1]);
	*f = (struct bpfu_frame){ .pc = words[1], .sp = cfa, .fp = words[0] };
	return f->pc;
}

bool bpfu_frame_next(struct bpfu_frame *f)
{
	return next(f, rule_of(f));
}

uint32_t bpfu_frames_put(const struct bpfu_frame *from, uint64_t *ips, uint32_t cnt, uint32_t skip, uint32_t max)
{
	struct bpfu_frame f = *from; /* in registers */
	uint64_t rule;

	do {
		rule = rule_of(&f);
		if (code_of(rule) == BPFU_CODE_HIDDEN)
			continue;
		if (cnt >= skip)
			ips[cnt - skip] = f.pc;
		cnt++;
	} while (cnt < max && next(&f, rule));
	return cnt;
}
