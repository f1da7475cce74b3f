/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The event of the private-stack benches: a function that writes to its frame and calls three times
 * another one, which writes to its own. Whatever causes it, a loop of its own program or a call of a
 * function that the program is attached to, it is the same code.
 *
 * Frames of 64 bytes and more of tracing programs have private stacks by the kernel's rule, if the
 * program makes no tail calls. So the programs that may not have them have one, which is never
 * reached. In all, the frames have less than 512 bytes, which is what both allow.
 */
#ifndef BPFLAB_PROGS_PRIVATE_STACK_H
#define BPFLAB_PROGS_PRIVATE_STACK_H

#include "bench.bpf.h"

#define EVENT_FRAME 128
#define NOOP_FRAME 256

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} nowhere SEC(".maps");

/* Writes to the far end of a frame of @bytes. clang would make an array as small as what is used. */
#define use_frame(bytes)                                                                           \
	asm volatile("*(u64 *)(r10 - %[off]) = %[zero]"                                            \
		     :                                                                             \
		     : [off] "i"(bytes), [zero] "r"(0ull)                                          \
		     : "memory")

/* Uses its frame; 0, but clang may not know. */
static __attribute__((noinline)) __u64 noop(void)
{
	__u64 zero = 0;

	use_frame(NOOP_FRAME);
	bench_opaque(zero);
	return zero;
}

/* One event, as the program itself counts it: once. */
static __attribute__((noinline)) __u64 event(void)
{
	__u64 count = 1;

	use_frame(EVENT_FRAME);
	count += noop();
	count += noop();
	count += noop();
	return count;
}

#endif
