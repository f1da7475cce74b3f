// SPDX-License-Identifier: BSD-2-Clause
/*
 * The DWARF table of one thunk.
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
 */
#include "probe/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"

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

/* Rows of a thunk, see above; as many on both machines but for what is saved. */
#define ROWS_MAX 12

#if defined(__x86_64__)

static uint32_t rows_of(const struct bpfu_thunk_frame *frame, struct bpfu_cfi rows[ROWS_MAX])
{
	const struct bpfu_cfi all[] = {
		{ 1, BPFU_CFI_CFA, BPFU_CFI_SP, 16 }, { 1, BPFU_CFI_SAVED, BPFU_CFI_FP, 16 },
		{ 4, BPFU_CFI_CFA, BPFU_CFI_FP, 16 },
		{ frame->left, BPFU_CFI_REMEMBER },   { frame->left, BPFU_CFI_START },
		{ frame->again, BPFU_CFI_AGAIN },
	};

	memcpy(rows, all, sizeof(all));
	return BPFU_ARRAY_SIZE(all);
}

#elif defined(__aarch64__)

#define LR 30

static uint32_t rows_of(const struct bpfu_thunk_frame *frame, struct bpfu_cfi rows[ROWS_MAX])
{
	int32_t size = (int32_t)frame->size;
	const struct bpfu_cfi all[] = {
		{ 4, BPFU_CFI_CFA, BPFU_CFI_SP, size }, { 4, BPFU_CFI_SAVED, BPFU_CFI_FP, size },
		{ 4, BPFU_CFI_SAVED, LR, size - 8 },
		{ 8, BPFU_CFI_CFA, BPFU_CFI_FP, size },
		{ frame->left, BPFU_CFI_REMEMBER },	{ frame->left, BPFU_CFI_START },
		{ frame->again, BPFU_CFI_AGAIN },
	};

	memcpy(rows, all, sizeof(all));
	return BPFU_ARRAY_SIZE(all);
}

#endif

void bpfu_unwind_table(struct bpfu_bytes *table, const void *code, uint32_t size,
		       const struct bpfu_thunk_frame *frame)
{
	struct bpfu_cfi rows[ROWS_MAX];

	bpfu_cfi_begin(table);
	bpfu_cfi_func(table, bpfu_u64(code), 0, size, rows, rows_of(frame, rows));
	bpfu_cfi_end(table);
}

void bpfu_unwind_register(const void *code, uint32_t size, const struct bpfu_thunk_frame *frame)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct bpfu_bytes table;

	pthread_once(&once, find_unwinder);
	if (!register_frame)
		return;
	bpfu_unwind_table(&table, code, size, frame);
	if (table.failed)
		free(table.data);
	else
		register_frame(table.data);
}
