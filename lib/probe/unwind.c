// SPDX-License-Identifier: BSD-2-Clause
/*
 * The DWARF tables of one thunk: a CIE, an FDE, and the four zero bytes that end a list of them.
 *
 *      offset          code               where the caller's frame begins (CFA)
 *      0               push rbp           rsp + 8
 *      1               mov rbp, rsp       rsp + 16, and rbp is saved at CFA - 16
 *      4               …                  rbp + 16
 *      frame->left     ret, or jmp        rsp + 8, and rbp is the caller's again
 *      frame->again    …                  rbp + 16, and rbp is saved at CFA - 16
 *
 *      0               stp x29, x30, …    sp
 *      4               mov x29, sp        sp + size, and x29 and x30 are saved at CFA - size
 *      8               …                  x29 + size
 *      frame->left     ret, or b          sp, and x29 and x30 are the caller's again
 *      frame->again    …                  x29 + size, and x29 and x30 are saved at CFA - size
 *
 * DWARF 5, 6.4, and the register numbers of the two ABIs; the augmentation "zR" is of the Linux Standard
 * Base. Pointers are absolute.
 */
#include "probe/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*register_fn)(const void *begin);

extern void __register_frame(const void *begin) __attribute__((weak));

static register_fn register_frame;

/* A program may get its unwinder only when it first needs it. */
static void find_unwinder(void)
{
	void *lib;

	register_frame = __register_frame;
	if (register_frame)
		return;
	lib = dlopen("libgcc_s.so.1", RTLD_LAZY);
	if (lib)
		*(void **)&register_frame = dlsym(lib, "__register_frame");
}

enum {
	ADVANCE_LOC = 0x40, OFFSET = 0x80, RESTORE = 0xc0, ADVANCE_LOC4 = 0x04,
	DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e, ABSOLUTE = 0,
};

#if defined(__x86_64__)
enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16 };
#elif defined(__aarch64__)
enum { X29 = 29, RETURN_ADDRESS = 30, SP = 31 };
#endif

/* A growing table; all of them are of the same size. */
struct table {
	uint8_t bytes[128];
	uint32_t len;
};

static void put(struct table *t, const void *data, uint32_t size)
{
	memcpy(t->bytes + t->len, data, size);
	t->len += size;
}

static void put8(struct table *t, uint8_t v)
{
	put(t, &v, 1);
}

static void put32(struct table *t, uint32_t v)
{
	put(t, &v, 4);
}

static void put64(struct table *t, uint64_t v)
{
	put(t, &v, 8);
}

static void put_advance(struct table *t, uint32_t bytes)
{
	put8(t, ADVANCE_LOC4);
	put32(t, bytes);
}

/* Fill up with DW_CFA_nop, and put the length of what began at @start in front of it. */
static void end_entry(struct table *t, uint32_t start)
{
	uint32_t len;

	while ((t->len - start) % 8)
		put8(t, 0);
	len = t->len - start - 4;
	memcpy(t->bytes + start, &len, 4);
}

#if defined(__x86_64__)

static void put_initial(struct table *t)
{
	static const uint8_t insns[] = { DEF_CFA, RSP, 8, OFFSET | RETURN_ADDRESS, 1 };

	put(t, insns, sizeof(insns));
}

static void put_frame(struct table *t, const struct bpfu_thunk_frame *frame)
{
	static const uint8_t begin[] = {
		ADVANCE_LOC | 1, DEF_CFA_OFFSET, 16, OFFSET | RBP, 2,
		ADVANCE_LOC | 3, DEF_CFA_REGISTER, RBP,
	};
	static const uint8_t left[] = { DEF_CFA, RSP, 8, RESTORE | RBP };
	static const uint8_t again[] = { DEF_CFA, RBP, 16, OFFSET | RBP, 2 };

	put(t, begin, sizeof(begin));
	put_advance(t, frame->left - 4);
	put(t, left, sizeof(left));
	put_advance(t, frame->again - frame->left);
	put(t, again, sizeof(again));
}

#elif defined(__aarch64__)

static void put_initial(struct table *t)
{
	static const uint8_t insns[] = { DEF_CFA, SP, 0 };

	put(t, insns, sizeof(insns));
}

static void put_frame(struct table *t, const struct bpfu_thunk_frame *frame)
{
	/* Offsets are in units of -8; that of the frame is an LEB128 number. */
	const uint8_t begin[] = {
		ADVANCE_LOC | 4, DEF_CFA_OFFSET, (uint8_t)(0x80 | (frame->size & 0x7f)),
		(uint8_t)(frame->size >> 7), OFFSET | X29, (uint8_t)(frame->size / 8),
		OFFSET | RETURN_ADDRESS, (uint8_t)(frame->size / 8 - 1),
		ADVANCE_LOC | 4, DEF_CFA_REGISTER, X29,
	};
	static const uint8_t left[] = { DEF_CFA, SP, 0, RESTORE | X29, RESTORE | RETURN_ADDRESS };
	const uint8_t again[] = {
		DEF_CFA, X29, begin[2], begin[3], begin[4], begin[5], begin[6], begin[7],
	};

	put(t, begin, sizeof(begin));
	put_advance(t, frame->left - 8);
	put(t, left, sizeof(left));
	put_advance(t, frame->again - frame->left);
	put(t, again, sizeof(again));
}

#endif

static void put_cie(struct table *t)
{
	static const uint8_t cie[] = {
		1, 'z', 'R', 0,       /* version, augmentation */
		1, 0x78,              /* units of code and (-8) of data */
		RETURN_ADDRESS, 1, ABSOLUTE,
	};

	put32(t, 0); /* length */
	put32(t, 0); /* it is a CIE */
	put(t, cie, sizeof(cie));
	put_initial(t);
	end_entry(t, 0);
}

static void put_fde(struct table *t, const void *code, uint32_t size,
		    const struct bpfu_thunk_frame *frame)
{
	uint32_t start = t->len;

	put32(t, 0);
	put32(t, t->len); /* distance to the CIE */
	put64(t, bpfu_u64(code));
	put64(t, size);
	put8(t, 0); /* no augmentation data */
	put_frame(t, frame);
	end_entry(t, start);
}

void bpfu_unwind_register(const void *code, uint32_t size, const struct bpfu_thunk_frame *frame)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct table *t;

	pthread_once(&once, find_unwinder);
	t = register_frame ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return;
	put_cie(t);
	put_fde(t, code, size, frame);
	put32(t, 0);
	register_frame(t->bytes);
}
