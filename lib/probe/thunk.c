// SPDX-License-Identifier: BSD-2-Clause
/* From the description of a thunk to code that can run. */
#include "probe/thunk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btf/func.h"
#include "jit/backend.h"
#include "jit/gdb.h"
#include "jit/image.h"
#include "probe/unwind.h"
#include "util/frames.h"
#include "util/options.h"

/* ---- which there are ---- */

struct known {
	uint64_t start, end;
	const void *func;
	uint32_t frame_size; /* above the frame pointer */
	bool has_regs;
	struct known *next;
};

static _Atomic(struct known *) known_first; /* only grows, so it is read without a lock */

static const struct known *find(uint64_t addr)
{
	const struct known *k = atomic_load(&known_first);

	while (k && (addr < k->start || addr >= k->end))
		k = k->next;
	return k;
}

/* Trampolines are seen in stacks, as the kernel's are. */
static bool thunk_at(uint64_t pc, struct bpfu_frame_thunk *out)
{
	const struct known *k = find(pc);

	if (k)
		*out = (struct bpfu_frame_thunk){ k->start, k->frame_size, k->has_regs };
	return k;
}

static void remember(const void *code, uint32_t size, const struct bpfu_thunk *thunk,
		     const struct bpfu_thunk_frame *frame)
{
	struct known *k = malloc(sizeof(*k));

	if (!k)
		return; /* it stays without a name */
	*k = (struct known){
		.start = bpfu_u64(code),
		.end = bpfu_u64(code) + size,
		.func = thunk->func,
#if defined(__aarch64__)
		.frame_size = frame->size,
#else
		.frame_size = 16,
#endif
		.has_regs = thunk->has_regs,
		.next = atomic_load(&known_first),
	};
	while (!atomic_compare_exchange_weak(&known_first, &k->next, k))
		;
	bpfu_frames_ask_thunk(thunk_at);
}

int bpfu_code_symbol(uint64_t addr, char *buf, size_t size)
{
	const struct known *k = find(addr);
	const struct bpfu_func *func;

	if (!k)
		return -ENOENT;
	func = bpfu_func_by_addr(k->func);
	snprintf(buf, size, "trampoline of %s", func ? func->decl.name : "a function");
	return 0;
}

/* For good, as the code. */
static void tell_debuggers(const struct bpfu_thunk *thunk, const void *code, uint32_t size,
			   const struct bpfu_thunk_frame *frame)
{
	const struct bpfu_func *traced = bpfu_func_by_addr(thunk->func);
	char name[BPFU_FUNC_NAME_MAX + 16];
	const struct bpfu_gdb_func func = { bpfu_u64(code), size, name };
	struct bpfu_bytes table;
	const struct bpfu_gdb_image image = {
		.code = code, .size = size, .funcs = &func, .func_cnt = 1, .frames = &table,
	};

	snprintf(name, sizeof(name), "bpf_trampoline_%s", traced ? traced->decl.name : "");
	bpfu_unwind_table(&table, code, size, frame);
	bpfu_gdb_add(&image);
	free(table.data);
}

/* ---- making them ---- */

int bpfu_thunk_make(const struct bpfu_thunk *thunk, const void **out)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(NULL);
	bool gdb = bpfu_options_self()->gdb;
	struct bpfu_codebuf cb;
	struct bpfu_thunk_frame frame;
	struct bpfu_image image;
	uint32_t size;
	int err;

	if (!backend)
		return -ENOTSUP;
	bpfu_codebuf_init(&cb, 512);
	bpfu_thunk_emit(&cb, thunk, 0, &frame);
	size = cb.len;
	err = cb.err ? cb.err : bpfu_image_alloc(&image, size, gdb ? BPFU_IMAGE_ANONYMOUS : 0,
						 backend->writer.fill);
	if (!err) {
		cb.len = 0;
		bpfu_thunk_emit(&cb, thunk, bpfu_u64(image.rx), &frame);
		memcpy(image.rw, cb.data, size);
		err = bpfu_image_seal(&image);
		*out = image.rx;
	}
	if (!err) {
		bpfu_unwind_register(image.rx, size, &frame);
		remember(image.rx, size, thunk, &frame);
		if (gdb)
			tell_debuggers(thunk, image.rx, size, &frame);
	}
	bpfu_codebuf_release(&cb);
	return err;
}
