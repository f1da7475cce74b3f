// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames, and the rules that lead from one to the next. Rules are kept in a table of two words per
 * address:
 *
 *      word[0]  address ^ rule
 *      word[1]  rule: kind 3 | code 2 | cfa 24 | fp 16 | ra 16 bits
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

#define RULES 2048 /* a power of two */
#define THUNKS 256

static struct {
	_Atomic uint64_t word[2];
} rules[RULES];

static struct {
	_Atomic uint64_t word[2]; /* address ^ start, start */
} thunks[THUNKS];

static uint64_t (*_Atomic ask_thunk)(uint64_t pc, bool *hidden);
static uint64_t (*_Atomic ask_return)(uint64_t pc);

void bpfu_frames_ask_thunk(uint64_t (*thunk_at)(uint64_t pc, bool *hidden))
{
	atomic_store(&ask_thunk, thunk_at);
}

void bpfu_frames_ask_return(uint64_t (*true_return)(uint64_t pc))
{
	atomic_store(&ask_return, true_return);
}

/* ---- rules ---- */

struct rule {
	struct bpfu_cfi cfi;
	uint8_t code; /* enum bpfu_frame_code */
};

#define CFA_BITS 24

static uint64_t pack(const struct rule *r)
{
	return (uint64_t)r->cfi.kind | (uint64_t)r->code << 3 |
	       (uint64_t)(r->cfi.cfa & ((1 << CFA_BITS) - 1)) << 8 |
	       (uint64_t)(uint16_t)r->cfi.fp << 32 | (uint64_t)(uint16_t)r->cfi.ra << 48;
}

static struct rule unpack(uint64_t word)
{
	return (struct rule){
		.cfi = {
			.kind = word & 7,
			.cfa = (int32_t)(uint32_t)word >> (32 - CFA_BITS),
			.fp = (int16_t)(word >> 32),
			.ra = (int16_t)(word >> 48),
		},
		.code = word >> 3 & 3,
	};
}

/* Generated code that calls anything has a frame pointer, and the two words at it. */
static const struct bpfu_cfi by_frame_pointer = { .kind = BPFU_CFI_FP, .cfa = 16, .fp = -2, .ra = -1 };

static struct rule look_up(uint64_t pc)
{
	uint64_t (*thunk_at)(uint64_t pc, bool *hidden) = atomic_load(&ask_thunk);
	struct rule r = { .code = BPFU_CODE_OTHER };
	bool hidden = false;

	if (!bpfu_cfi_find(pc, &r.cfi)) {
		r.cfi = by_frame_pointer;
		if (thunk_at)
			thunk_at(pc, &hidden);
		r.code = hidden ? BPFU_CODE_HIDDEN : BPFU_CODE_GENERATED;
	} else if (bpfu_is_inner(pc)) {
		r.code = BPFU_CODE_INNER;
	}
	if (r.cfi.cfa >> (CFA_BITS - 1) != r.cfi.cfa >> 31)
		r.cfi.kind = BPFU_CFI_END;
	return r;
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

static struct rule rule_of(const struct bpfu_frame *f)
{
	/* The call belongs to the frame; what is behind it may be another function. */
	uint64_t pc = f->exact ? f->pc : f->pc - 1, word;
	_Atomic uint64_t *at = rules[(pc ^ pc >> 11) % RULES].word;
	struct rule r;

	word = get(at, pc);
	if (bpfu_likely(word))
		return unpack(word);
	r = look_up(pc);
	put(at, pc, pack(&r));
	return r;
}

uint64_t bpfu_frame_thunk(const struct bpfu_frame *frame)
{
	uint64_t (*thunk_at)(uint64_t pc, bool *hidden) = atomic_load(&ask_thunk);
	_Atomic uint64_t *at = thunks[frame->pc % THUNKS].word;
	uint64_t start = get(at, frame->pc);
	bool hidden;

	if (bpfu_unlikely(!start)) {
		start = thunk_at ? thunk_at(frame->pc, &hidden) : 0;
		if (!start)
			start = frame->pc;
		put(at, frame->pc, start);
	}
	return start;
}

enum bpfu_frame_code bpfu_frame_code(const struct bpfu_frame *frame)
{
	return rule_of(frame).code;
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

static bool caller_begins_at(const struct bpfu_frame *f, const struct bpfu_cfi *cfi, uint64_t *cfa)
{
	uint64_t word;

	switch (cfi->kind) {
	case BPFU_CFI_SP:
		*cfa = f->sp + (uint64_t)(int64_t)cfi->cfa;
		break;
	case BPFU_CFI_FP:
		*cfa = f->fp + (uint64_t)(int64_t)cfi->cfa;
		break;
	case BPFU_CFI_DEREF:
		if (!read_words(&word, f->fp + (uint64_t)(int64_t)cfi->cfa, 1))
			return false;
		*cfa = word;
		break;
	default:
		return false;
	}
	/* Stacks grow downwards; only a leaf of arm64 has no part of one. */
	return !(*cfa % 8) && (*cfa > f->sp || (*cfa == f->sp && cfi->ra == BPFU_CFI_SAME));
}

static uint64_t slot(uint64_t cfa, int16_t words)
{
	return cfa + (uint64_t)((int64_t)words * 8);
}

bool bpfu_frame_next(struct bpfu_frame *f)
{
	const struct bpfu_cfi cfi = rule_of(f).cfi;
	uint64_t (*true_return)(uint64_t pc) = atomic_load_explicit(&ask_return, memory_order_relaxed);
	uint64_t cfa, words[2] = { f->fp, f->lr };

	if (cfi.kind == BPFU_CFI_SIGNAL)
		return leave_signal(f);
	if (!caller_begins_at(f, &cfi, &cfa))
		return false;
	if (cfi.ra == BPFU_CFI_SAME && !f->exact)
		return false;
	if (cfi.fp != BPFU_CFI_SAME && cfi.ra == cfi.fp + 1) { /* as a rule */
		if (!read_words(words, slot(cfa, cfi.fp), 2))
			return false;
	} else if ((cfi.fp != BPFU_CFI_SAME && !read_words(&words[0], slot(cfa, cfi.fp), 1)) ||
		   (cfi.ra != BPFU_CFI_SAME && !read_words(&words[1], slot(cfa, cfi.ra), 1))) {
		return false;
	}
	words[1] = strip(words[1]);
	if (true_return)
		words[1] = true_return(words[1]);
	*f = (struct bpfu_frame){ .pc = words[1], .sp = cfa, .fp = words[0] };
	return f->pc;
}
