// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose frames a debugger has to find its way through (gdb.c), each of another kind; what they end in
 * is a helper. Their lines are looked for in the output by the comments at them.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 sum;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} jumps SEC(".maps");

static __noinline int innermost(int a)
{
	return bpf_get_numa_node_id() + a; /* innermost */
}

/* Stacks: private ones, as the program's is larger than 64 bytes and it makes no tail calls. */
static __noinline int with_stack(int a)
{
	volatile long words[32];

	words[a & 31] = a;
	return innermost(a + 1) + (int)words[a & 31]; /* with_stack */
}

SEC("fentry/gdb_traced")
int on_stack(void *ctx)
{
	volatile long words[16];

	words[0] = 1;
	sum += with_stack((int)words[0]) + words[0]; /* on_stack */
	return 0;
}

struct loop {
	long words[16];
};

static long on_turn(__u32 i, struct loop *loop)
{
	volatile long words[20];

	words[i & 15] = i + 1;
	loop->words[i & 15] += innermost((int)i) + words[i & 15]; /* on_turn */
	return 0;
}

SEC("fexit/gdb_traced")
int on_loop(void *ctx)
{
	struct loop loop = { 0 };

	bpf_loop(2, on_turn, &loop, 0); /* on_loop */
	sum += loop.words[0];
	return 0;
}

SEC("fexit/gdb_traced")
int landing(void *ctx)
{
	sum += innermost(7); /* landing */
	return 0;
}

static __noinline int jumping(void *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return 1;
}

/* Only after a tail call within a function is there something above it. */
SEC("fexit/gdb_traced")
int on_jump(void *ctx)
{
	sum += jumping(ctx); /* on_jump */
	return 0;
}

SEC("kprobe/gdb_probed")
int on_kprobe(void *ctx)
{
	sum += innermost(1); /* on_kprobe */
	return 0;
}
