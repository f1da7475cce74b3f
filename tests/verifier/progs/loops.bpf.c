// SPDX-License-Identifier: BSD-2-Clause
/* Loops of ordinary C, callbacks, and loops that do not end. */
#include "../expect.h"

#define noinline __attribute__((noinline))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 16);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 16);
} h SEC(".maps");

__u32 in[1024];
__u32 out[1024];
__u8 sieve[2048];
const volatile __u32 limit = 100;

/* ---- bounded loops ---- */

SEC("raw_tp") __success __retval(0) int loop_array_sum(void *ctx)
{
	__u32 sum = 0;

	for (int i = 0; i < 1024; i++)
		sum += in[i];
	return sum;
}

SEC("raw_tp") __success __retval(0) int loop_array_count(void *ctx)
{
	__u32 cnt = 0;

	for (int i = 0; i < 1024; i++)
		if (in[i] > 100)
			cnt++;
	return cnt;
}

SEC("raw_tp") __success __retval(0) int loop_copy(void *ctx)
{
	for (int i = 0; i < 1024; i++)
		out[i] = in[1023 - i] * 3 + 1;
	return 0;
}

SEC("raw_tp") __success int loop_sieve(void *ctx)
{
	__u32 cnt = 0;

	for (__u32 i = 2; i < 400; i++) {
		if (sieve[i])
			continue;
		cnt++;
		for (__u32 j = i * 2; j < 400; j += i)
			sieve[j] = 1;
	}
	return cnt;
}

SEC("raw_tp") __success int loop_state_machine(void *ctx)
{
	__u32 state = 0;

	for (int i = 0; i < 512; i++) {
		__u32 c = in[i] & 3;

		switch (state) {
		case 0:
			state = c == 1 ? 1 : 0;
			break;
		case 1:
			state = c == 2 ? 2 : c == 1 ? 1 : 0;
			break;
		default:
			state = c == 3 ? 3 : 0;
			break;
		}
	}
	return state;
}

SEC("raw_tp") __success int loop_nested(void *ctx)
{
	__u32 sum = 0;

	for (int i = 0; i < 32; i++)
		for (int j = 0; j < 32; j++)
			sum += in[i * 32 + j];
	return sum;
}

SEC("raw_tp") __success int loop_limit_from_rodata(void *ctx)
{
	__u32 sum = 0;

	for (__u32 i = 0; i < limit; i++)
		sum += in[i & 1023];
	return sum;
}

SEC("raw_tp") __success int loop_with_lookup(void *ctx)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < 16; i++) {
		__u32 key = i, *v = bpf_map_lookup_elem(&m, &key);

		if (v)
			sum += *v;
	}
	return (int)sum;
}

/* The counter itself lives in memory whose value is not followed. */
SEC("raw_tp") __failure(EFAULT) __log_level(4) __msg("The sequence of 8193 jumps is too complex.")
int loop_counter_in_memory(void *ctx)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < 16; i++) {
		__u32 *v = bpf_map_lookup_elem(&m, &i);

		if (v)
			sum += *v;
	}
	return (int)sum;
}

SEC("raw_tp") __success int loop_random_exit(void *ctx)
{
	int i;

	for (i = 0; i < 100; i++)
		if (bpf_get_prandom_u32() == 7)
			break;
	return i;
}

SEC("raw_tp") __success int loop_bubble_sort(void *ctx)
{
	__u32 a[12];

	for (int i = 0; i < 12; i++)
		a[i] = in[i];
	for (int i = 0; i < 12; i++)
		for (int j = 0; j < 11 - i; j++)
			if (a[j] > a[j + 1]) {
				__u32 t = a[j];

				a[j] = a[j + 1];
				a[j + 1] = t;
			}
	return a[0];
}

SEC("xdp") __success __retval(2) int loop_packet_sum(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 sum = 0;

	for (int i = 0; i < 64; i++) {
		if (data + i + 1 > end)
			break;
		sum += data[i];
	}
	return sum ? XDP_PASS : XDP_DROP;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to map value, value_size=") __naked void loop_off_by_one(void)
{
	ASM("r6 = %[out] ll; r1 = 0; 1: r2 = r6; r3 = r1; r3 <<= 2; r2 += r3; *(u32 *)(r2 + 0) = r1;"
	    "r1 += 1; if r1 <= 4096 goto 1b; r0 = 0; exit;", ADDR(out));
}

SEC("raw_tp") __success __naked void loop_exact(void)
{
	ASM("r6 = %[out] ll; r1 = 0; 1: r2 = r6; r3 = r1; r3 <<= 2; r2 += r3; *(u32 *)(r2 + 0) = r1;"
	    "r1 += 1; if r1 < 1024 goto 1b; r0 = 0; exit;", ADDR(out));
}

SEC("raw_tp") __failure(EINVAL) __msg("infinite loop detected at insn") __naked void loop_forever(void)
{
	ASM("r0 = 0; 1: r0 = 0; if r0 == 0 goto 1b; exit;");
}

SEC("raw_tp") __failure(EINVAL) __msg("infinite loop detected at insn") __naked void loop_unknown_exit(void)
{
	ASM("1: call 7; if r0 != 5 goto 1b; r0 = 0; exit;");
}

SEC("raw_tp") __failure(E2BIG) __log_level(4) __msg("BPF program is too large. Processed 1000001 insn") __naked
void loop_too_long(void)
{
	ASM("r1 = 0; r2 = 0x10000000; 1: r1 += 1; if r1 < r2 goto 1b; r0 = 0; exit;");
}

SEC("raw_tp") __failure(EINVAL) __msg("unreachable insn 2") __naked void loop_goto_self(void)
{
	ASM("r0 = 0; 1: goto 1b; exit;");
}

SEC("raw_tp") __success __naked void loop_backward_layout(void)
{
	ASM("r0 = 0; goto 3f; 1: exit; 2: r0 += 1; goto 4f; 3: goto 2b; 4: goto 1b;");
}

/* Values that do not matter must not keep states apart: 2^40 paths otherwise. */
SEC("raw_tp") __success int loop_irrelevant_flags(void *ctx)
{
	__u64 flags = 0;

	for (int i = 0; i < 40; i++)
		if (bpf_get_prandom_u32() & 1)
			flags |= 1ULL << (i & 31);
	return (int)flags;
}

SEC("raw_tp") __success int branches_irrelevant_stack(void *ctx)
{
	volatile __u64 slots[4] = {};

	for (int i = 0; i < 200; i++)
		if (bpf_get_prandom_u32() & 1)
			slots[i & 3] = i;
	return (int)slots[0];
}

/* ---- callbacks ---- */

struct state {
	__u64 i;
	__u64 sum;
	__u32 *ptr;
};

static int cb_count(__u32 i, __u64 *cnt)
{
	*cnt += 1;
	return 0;
}

SEC("raw_tp") __success __retval(1000) int callback_count(void *ctx)
{
	__u64 cnt = 0;

	bpf_loop(1000, cb_count, &cnt, 0);
	return (int)cnt;
}

static int cb_index(__u32 i, struct state *s)
{
	if (s->i >= 1024)
		return 1;
	s->sum += in[s->i];
	s->i += 2;
	return 0;
}

SEC("raw_tp") __success __retval(0) int callback_checked_index(void *ctx)
{
	struct state s = {};

	bpf_loop(5000, cb_index, &s, 0);
	return (int)s.sum;
}

static int cb_unchecked(__u32 i, struct state *s)
{
	s->sum += in[s->i];
	s->i += 1;
	return 0;
}

SEC("raw_tp") __failure(EINVAL) __kernel(EACCES) int callback_unchecked_index(void *ctx)
{
	struct state s = {};

	bpf_loop(5000, cb_unchecked, &s, 0);
	return (int)s.sum;
}

static int cb_pointer(__u32 i, struct state *s)
{
	s->sum += *s->ptr;
	return 0;
}

SEC("raw_tp") __success __retval(0) int callback_pointer_in_ctx(void *ctx)
{
	struct state s = {};

	s.ptr = &in[5];
	barrier_var(s.i);

	bpf_loop(10, cb_pointer, &s, 0);
	return (int)s.sum;
}

static int cb_moves_pointer(__u32 i, struct state *s)
{
	s->sum += *s->ptr;
	s->ptr++;
	return 0;
}

SEC("raw_tp") __failure(EACCES) int callback_moves_pointer(void *ctx)
{
	struct state s = {};

	s.ptr = in;
	barrier_var(s.i);

	bpf_loop(10000, cb_moves_pointer, &s, 0);
	return (int)s.sum;
}

static int cb_ruins_pointer(__u32 i, struct state *s)
{
	__u64 sum = *s->ptr;

	s->ptr = (void *)(long)i;
	s->sum += sum;
	return 0;
}

SEC("raw_tp") __failure(EACCES) int callback_ruins_pointer(void *ctx)
{
	struct state s = {};

	s.ptr = in;
	barrier_var(s.i);

	bpf_loop(10, cb_ruins_pointer, &s, 0);
	return (int)s.sum;
}

static int cb_nulls_pointer(__u32 i, struct state *s)
{
	if (s->ptr)
		s->sum += *s->ptr;
	s->ptr = NULL;
	return 0;
}

SEC("raw_tp") __success __retval(0) int callback_nulls_pointer(void *ctx)
{
	struct state s = {};

	s.ptr = in;
	barrier_var(s.i);

	bpf_loop(10, cb_nulls_pointer, &s, 0);
	return (int)s.sum;
}

static int cb_after(__u32 i, struct state *s)
{
	s->i = 5000;
	return 0;
}

SEC("raw_tp") __failure(EACCES) int callback_changes_are_seen_after(void *ctx)
{
	struct state s = {};

	bpf_loop(10, cb_after, &s, 0);
	return in[s.i];
}

SEC("raw_tp") __success int callback_changes_checked_after(void *ctx)
{
	struct state s = {};

	bpf_loop(10, cb_after, &s, 0);
	return s.i < 1024 ? in[s.i] : 0;
}

static int cb_zero_iterations(__u32 i, struct state *s)
{
	s->i = 3;
	return 0;
}

SEC("raw_tp") __failure(EACCES) int callback_may_not_run(void *ctx)
{
	struct state s = { .i = 5000 };

	bpf_loop(bpf_get_prandom_u32() & 3, cb_zero_iterations, &s, 0);
	return in[s.i];
}

static int cb_returns_two(__u32 i, void *ctx)
{
	return 2;
}

SEC("raw_tp") __failure(EINVAL) __msg("At callback return the register R0 has smin=2 smax=2 should have been in [0, 1]")
int callback_return_range(void *ctx)
{
	bpf_loop(10, cb_returns_two, NULL, 0);
	return 0;
}

static int cb_inner(__u32 i, __u64 *sum)
{
	*sum += i;
	return *sum > 1000;
}

static int cb_outer(__u32 i, __u64 *sum)
{
	bpf_loop(10, cb_inner, sum, 0);
	return 0;
}

SEC("raw_tp") __success __retval(450) int callback_nested(void *ctx)
{
	__u64 sum = 0;

	bpf_loop(10, cb_outer, &sum, 0);
	return (int)sum;
}

static int cb_recursive(__u32 i, void *ctx)
{
	if (i > 3)
		return 1;
	bpf_loop(2, cb_recursive, NULL, 0);
	return 0;
}

SEC("raw_tp") __failure(E2BIG) __msg("the call stack of 9 frames is too deep") int callback_recursion(void *ctx)
{
	bpf_loop(2, cb_recursive, NULL, 0);
	return 0;
}

static __naked noinline int cb_clobbers(void)
{
	ASM("r6 = 5; r7 = 5; r8 = 5; r9 = 5; r0 = 0; exit;");
}

SEC("raw_tp") __success __retval(3) __naked void callback_saves_r6(void)
{
	ASM("r6 = 3; r1 = 4; r2 = %[cb_clobbers] ll; r3 = 0; r4 = 0; call 181; r0 = r6; exit;", ADDR(cb_clobbers));
}

SEC("raw_tp") __failure(EACCES) __msg("R1 !read_ok") __naked void callback_loses_r1(void)
{
	ASM("r1 = 4; r2 = %[cb_clobbers] ll; r3 = 0; r4 = 0; call 181; r0 = r1; exit;", ADDR(cb_clobbers));
}

static __naked noinline int cb_keeps_stack_pointer(void)
{
	ASM("r3 = r10; r3 += -8; *(u64 *)(r2 + 0) = r3; r0 = 0; exit;");
}

SEC("raw_tp") __failure(EINVAL) __msg("cannot spill pointers to stack into stack frame of the caller")
__naked void callback_dangling_stack_pointer(void)
{
	ASM("*(u64 *)(r10 - 8) = 0; r1 = 4; r2 = %[cb_keeps_stack_pointer] ll; r3 = r10; r3 += -8; r4 = 0; call 181; r0 = 0; exit;",
	    ADDR(cb_keeps_stack_pointer));
}

SEC("raw_tp") __failure(EACCES) __naked void callback_ctx_not_stack(void)
{
	ASM("r3 = r1; r1 = 4; r2 = %[cb_clobbers] ll; r4 = 0; call 181; r0 = 0; exit;", ADDR(cb_clobbers));
}

SEC("raw_tp") __failure(EACCES) __msg("R2 type=scalar expected=func") __naked void callback_number(void)
{
	ASM("r1 = 4; r2 = 4; r3 = 0; r4 = 0; call 181; r0 = 0; exit;");
}

static long each(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	*sum += *key + *value;
	*value = 1;
	return 0;
}

SEC("raw_tp") __success __retval(0) int for_each_hash(void *ctx)
{
	__u64 sum = 0;

	bpf_for_each_map_elem(&h, each, &sum, 0);
	return (int)sum;
}

static long each_writes_key(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	*key = 1;
	return 0;
}

SEC("raw_tp") __failure(EACCES) __msg("write to change key R2 not allowed") int for_each_writes_key(void *ctx)
{
	bpf_for_each_map_elem(&h, each_writes_key, NULL, 0);
	return 0;
}

static long each_past_value(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	return value[1] & 1;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to map value, value_size=8 off=8 size=") int for_each_past_value(void *ctx)
{
	bpf_for_each_map_elem(&h, each_past_value, NULL, 0);
	return 0;
}

static long each_past_key(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	return key[1] & 1;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to map key, key_size=4 off=4 size=") int for_each_past_key(void *ctx)
{
	bpf_for_each_map_elem(&h, each_past_key, NULL, 0);
	return 0;
}

static long each_deletes(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	__u32 k = *key;

	bpf_map_delete_elem(&h, &k);
	return 0;
}

SEC("raw_tp") __success __retval(0) int for_each_deletes(void *ctx)
{
	bpf_for_each_map_elem(&h, each_deletes, NULL, 0);
	return 0;
}

/* A callback in an ordinary loop, and two loops in a row. */
SEC("raw_tp") __success __retval(60) int callback_in_loop(void *ctx)
{
	__u64 cnt = 0;

	for (int i = 0; i < 3; i++)
		bpf_loop(10, cb_count, &cnt, 0);
	bpf_loop(30, cb_count, &cnt, 0);
	return (int)cnt;
}

/* Sums that nothing depends on must not make the 2^24 paths to the loop differ, in a register and on the stack. */
SEC("raw_tp") __success int callback_after_branches(void *ctx)
{
	__u64 cnt = 0, sum = 0;
	volatile __u64 kept = 0;

	for (int i = 0; i < 24; i++) {
		if (bpf_get_prandom_u32() & 1) {
			sum += 1 << i;
			asm volatile("" : "+r"(sum));
		}
	}
	kept = sum;
	bpf_loop(10, cb_count, &cnt, 0);
	return (int)(sum + kept);
}

/* … but what the callback reads of it does. */
static int cb_index_of(__u32 i, __u64 *idx)
{
	return (int)in[*idx] & 1;
}

SEC("raw_tp") __failure(EACCES) int callback_after_branches_reads(void *ctx)
{
	__u64 idx = 3;

	for (int i = 0; i < 4; i++) {
		if (bpf_get_prandom_u32() & 1) {
			idx += 1 << 14;
			asm volatile("" : "+r"(idx));
		}
	}
	bpf_loop(10, cb_index_of, &idx, 0);
	return 0;
}

struct late {
	__u64 round;
	__u64 idx;
};

/* The first round does not read the index, the second one does. */
static int cb_late(__u32 i, struct late *c)
{
	if (c->round == 0) {
		bpf_get_prandom_u32();
		if (bpf_get_prandom_u32() & 1)
			bpf_get_prandom_u32();
		c->round = 1;
		return 0;
	}
	return (int)in[c->idx] & 1;
}

static int cb_rounds(__u32 i, struct late *c)
{
	bpf_get_prandom_u32();
	if (bpf_get_prandom_u32() & 1)
		bpf_get_prandom_u32();
	c->round += 1;
	return 0;
}

/*
 * Two indices reach one call: that a first round is as another one does not make the second one so, nor what
 * follows the loop. Either is explored first.
 */
#define LATE(name, first, second)                                                                  \
	SEC("raw_tp") __failure(EACCES) int callback_reads_later_##name(void *ctx)                 \
	{                                                                                          \
		struct late c = { .idx = first };                                                  \
												   \
		if (bpf_get_prandom_u32() & 1) {                                                   \
			asm volatile("" ::: "memory");                                             \
			c.idx = second;                                                            \
		}                                                                                  \
		asm volatile("" : : "r"(&c) : "memory");                                           \
		bpf_loop(10, cb_late, &c, 0);                                                      \
		return 0;                                                                          \
	}                                                                                          \
												   \
	SEC("raw_tp") __failure(EACCES) int callback_used_after_##name(void *ctx)                  \
	{                                                                                          \
		struct late c = { 0 };                                                             \
		__u64 idx = first;                                                                 \
												   \
		if (bpf_get_prandom_u32() & 1) {                                                   \
			asm volatile("" ::: "memory");                                             \
			idx = second;                                                              \
		}                                                                                  \
		asm volatile("" : "+r"(idx) : "r"(&c) : "memory");                                 \
		bpf_loop(10, cb_rounds, &c, 0);                                                    \
		return c.round == 2 ? (int)in[idx] : 0;                                            \
	}

LATE(safe_first, 5, 1 << 20)
LATE(safe_last, 1 << 20, 5)

/* A call that is as one before, in rounds of loops that are not alike: its body is explored once for each. */
static noinline int branch_and_loop(int x)
{
	__u64 cnt = 0;

	if (bpf_get_prandom_u32() & 1)
		asm volatile("" : "+r"(x));
	bpf_loop(3, cb_count, &cnt, 0);
	return 0;
}

SEC("raw_tp") __success int callback_in_rounds(void *ctx)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < 5; i++) {
#pragma clang loop unroll(disable)
		for (int j = 0; j < 3; j++)
			branch_and_loop(j);
	}
	return 0;
}

/* Exactly three iterations: only counting iterations can tell that this is safe. */
SEC("raw_tp") __failure(EINVAL) __kernel(0) int callback_counted_iterations(void *ctx)
{
	struct state s = { .i = 1021 };

	bpf_loop(3, cb_unchecked, &s, 0);
	return (int)s.sum;
}

/*
 * One call of a helper with different arguments for the callback: what was found of one is not true of
 * the other, even if what the callbacks leave on the stack is the same. The second time, *(r2 + 0) is 1.
 */
static __naked noinline int cb_reads_pointer_then(void)
{
	ASM("r3 = *(u64 *)(r2 + 8); if r3 != 0 goto 1f; r3 = 1; *(u64 *)(r2 + 8) = r3; r0 = 0;"
	    "goto 2f; 2: exit; 1: r1 = *(u64 *)(r2 + 0); r0 = *(u64 *)(r1 - 8); r0 = 0; exit;");
}

SEC("raw_tp") __failure(EACCES) __flags(8) __naked void callback_ctx_differs(void)
{
	ASM("call 7; *(u64 *)(r10 - 24) = r10; r2 = %[cb_reads_pointer_then] ll; r4 = 0; r1 = 2;"
	    "r3 = r10; r3 += -24; r5 = 0; *(u64 *)(r10 - 16) = r5; r5 = 1; *(u64 *)(r10 - 8) = r5;"
	    "if r0 == 0 goto 1f; goto 2f; 1: r3 += 8; r5 = 1; *(u64 *)(r10 - 16) = r5; r5 = 0;"
	    "*(u64 *)(r10 - 8) = r5; 2: call 181; r0 = 0; exit;",
	    ADDR(cb_reads_pointer_then));
}

static __naked noinline int cb_reads_value_then(void)
{
	ASM("r0 = *(u64 *)(r4 + 0); if r0 != 0 goto 1f; r0 = 1; *(u64 *)(r4 + 0) = r0; r0 = 0;"
	    "goto 2f; 2: exit; 1: r0 = *(u64 *)(r3 + 0); r0 = 0; exit;");
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to map value, value_size=4 off=0 size=8") __flags(8)
__naked void callback_map_differs(void)
{
	ASM("call 7; r5 = 0; *(u64 *)(r10 - 8) = r5; r1 = %[m] ll; if r0 != 0 goto 1f; r1 = %[h] ll; 1:"
	    "r2 = %[cb_reads_value_then] ll; r3 = r10; r3 += -8; r4 = 0; call 164; r0 = 0; exit;",
	    ADDR(cb_reads_value_then), ADDR(h), ADDR(m));
}

/* Called for no iteration: what is never called is not there. */
static __naked noinline int cb_never_called(void)
{
	ASM("r0 = 0; exit;");
}

SEC("raw_tp") __success __retval(7) __naked void callback_never_called(void)
{
	ASM("r1 = 0; r2 = %[cb_never_called] ll; r3 = 0; r4 = 0; call 181; r0 += 7; exit;",
	    ADDR(cb_never_called));
}
