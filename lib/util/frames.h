/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walking the stack of the calling thread, frame by frame: through code of files by their unwind tables,
 * through generated code by its frame pointers, through signal handlers by the registers that were
 * saved. Any thread at any time, signal handlers included: no lock is taken, and memory that is not there
 * ends the walk. What a table says of an address is kept, so that a frame costs a few nanoseconds.
 */
#ifndef BPFU_UTIL_FRAMES_H
#define BPFU_UTIL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct bpfu_frame {
	uint64_t pc, sp, fp;
	uint64_t lr; /* arm64, with exact: where the caller goes on */
	bool exact;  /* @pc is the next instruction, not the one behind a call */
};

enum bpfu_frame_code {
	BPFU_CODE_OTHER,     /* of a file */
	BPFU_CODE_INNER,     /* of libbpfu */
	BPFU_CODE_GENERATED, /* of no file: programs, thunks of trampolines */
	BPFU_CODE_HIDDEN,    /* generated, and not to be shown */
};

/* Which of these @frame executes. */
enum bpfu_frame_code bpfu_frame_code(const struct bpfu_frame *frame);

/* Go to the caller. False: there is none, or nothing tells where. */
bool bpfu_frame_next(struct bpfu_frame *frame);

/*
 * Note the addresses of @from and its callers, but for hidden code: the @cnt-th and so on, as far as there are
 * less than @max, of which the first @skip are left out of @ips. The new count; @cnt < @max.
 */
uint32_t bpfu_frames_put(const struct bpfu_frame *from, uint64_t *ips, uint32_t cnt, uint32_t skip, uint32_t max);

/* Where the thunk begins that @frame executes; its address if that is no thunk. */
uint64_t bpfu_frame_thunk_start(const struct bpfu_frame *frame);

/* A thunk: where it begins, how far above the frame pointer its caller's frame does. */
struct bpfu_frame_thunk {
	uint64_t start;
	uint32_t size;
	bool hidden; /* not to be shown */
};

/*
 * What others know of generated code; each may be called from signal handlers. @thunk_at: the thunk around
 * @pc; false if there is none. @true_return: where a return to @pc leads in the end, @pc itself if it is
 * an ordinary address.
 */
void bpfu_frames_ask_thunk(bool (*thunk_at)(uint64_t pc, struct bpfu_frame_thunk *out));
void bpfu_frames_ask_return(uint64_t (*true_return)(uint64_t pc));

/* The frame that called the function that this is expanded in, which gets a frame pointer by it. */
#define BPFU_FRAME_OF_CALLER()                                                                     \
	((struct bpfu_frame){                                                                      \
		.pc = (uint64_t)(uintptr_t)__builtin_return_address(0),                            \
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),                                  \
		.fp = *(uint64_t *)__builtin_frame_address(0),                                     \
	})

#endif
