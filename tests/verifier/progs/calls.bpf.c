// SPDX-License-Identifier: BSD-2-Clause
/* Functions: frames, arguments, what survives a call, depth of stack and calls, global functions. */
#include "../expect.h"

#define noinline __attribute__((noinline))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, char[64]);
	__uint(max_entries, 1);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 4);
} jmp SEC(".maps");

static __naked noinline void clobber(void)
{
	ASM("r1 = 0; r2 = 0; r3 = 0; r6 = 77; r7 = 77; r8 = 77; r9 = 77; r0 = 5; exit;");
}

static __naked noinline void no_result(void)
{
	ASM("exit;");
}

static __naked noinline void returns_stack(void)
{
	ASM("r0 = r10; r0 += -8; exit;");
}

static __naked noinline void returns_arg(void)
{
	ASM("r0 = r1; exit;");
}

static __naked noinline void writes_arg(void)
{
	ASM("*(u64 *)(r1 + 0) = 9; r0 = 0; exit;");
}

static __naked noinline void writes_arg_32(void)
{
	ASM("*(u32 *)(r1 + 4) = 9; r0 = 0; exit;");
}

static __naked noinline void stores_own_stack(void)
{
	ASM("r2 = r10; r2 += -8; *(u64 *)(r1 + 0) = r2; r0 = 0; exit;");
}

static __naked noinline void reads_r6(void)
{
	ASM("r0 = r6; exit;");
}

static __naked noinline void deref_arg(void)
{
	ASM("r0 = *(u8 *)(r1 + 0); exit;");
}

static __naked noinline void bounded_arg(void)
{
	ASM("if r1 > 63 goto 1f; r2 += r1; r0 = *(u8 *)(r2 + 0); exit; 1: r0 = 0; exit;");
}

#define CASE(name_, verdict, body, ...)                                                            \
	SEC("raw_tp") verdict __VA_ARGS__ __naked void name_(void)                                 \
	{                                                                                          \
		ASM(body, ADDR(m), ADDR(jmp), ADDR(clobber), ADDR(no_result), ADDR(returns_stack), \
		    ADDR(returns_arg), ADDR(writes_arg), ADDR(writes_arg_32),                      \
		    ADDR(stores_own_stack), ADDR(reads_r6), ADDR(deref_arg), ADDR(bounded_arg));   \
	}

#define LOOKUP                                                                                     \
	"*(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1;"                         \
	"if r0 != 0 goto 9f; r0 = 0; exit; 9: "

CASE(call_result, __success, "call %[clobber]; exit;", __retval(5))
CASE(call_saves_r6, __success, "r6 = 1; r7 = 2; r8 = 3; r9 = 4; call %[clobber]; r0 = r6; r0 += r7; r0 += r8; r0 += r9; exit;",
     __retval(10))
CASE(call_loses_r1, __failure(EACCES), "r1 = 1; call %[clobber]; r0 = r1; exit;", __msg("R1 !read_ok"))
CASE(call_loses_r5, __failure(EACCES), "r5 = 1; call %[clobber]; r0 = r5; exit;", __msg("R5 !read_ok"))
CASE(call_without_result, __failure(EACCES), "call %[no_result]; exit;", __msg("R0 !read_ok"))
CASE(call_callee_does_not_see_r6, __failure(EACCES), "r6 = 1; call %[reads_r6]; exit;", __msg("R6 !read_ok"))
CASE(call_returns_stack, __failure(EINVAL), "call %[returns_stack]; r0 = 0; exit;",
     __msg("cannot return stack pointer to the caller"))
CASE(call_returns_callers_stack, __failure(EINVAL), "r1 = r10; call %[returns_arg]; r0 = 0; exit;",
     __msg("cannot return stack pointer to the caller"))
CASE(call_writes_callers_stack, __success,
     "*(u64 *)(r10 - 8) = 1; r1 = r10; r1 += -8; call %[writes_arg]; r0 = *(u64 *)(r10 - 8); exit;", __retval(9))
CASE(call_write_kills_spilled_pointer, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = r10; r1 += -16; call %[writes_arg]; r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(call_half_write_kills_spilled_pointer, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = r10; r1 += -16; call %[writes_arg_32]; r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;")
CASE(call_dangling_stack_pointer, __failure(EINVAL),
     "*(u64 *)(r10 - 8) = 1; r1 = r10; r1 += -8; call %[stores_own_stack]; r0 = 0; exit;",
     __msg("cannot spill pointers to stack into stack frame of the caller"))
CASE(call_pointer_arg, __success, LOOKUP "r1 = r0; call %[deref_arg]; exit;", __retval(0))
CASE(call_bad_pointer_arg, __failure(EACCES), "r1 = 5; call %[deref_arg]; exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(call_nullable_arg, __failure(EACCES),
     "call 7; r0 &= 1; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; r1 = r0; call %[deref_arg]; exit;",
     __msg("R1 invalid mem access 'map_value_or_null'"))
CASE(call_same_function_twice, __failure(EACCES),
     LOOKUP "r1 = r0; call %[deref_arg]; r1 = 5; call %[deref_arg]; exit;")
CASE(call_bounds_in_callee, __success,
     LOOKUP "r6 = r0; call 7; r1 = r0; r2 = r6; call %[bounded_arg]; exit;", __retval(0))
CASE(call_returned_pointer, __success, LOOKUP "r1 = r0; call %[returns_arg]; r0 = *(u8 *)(r0 + 63); exit;",
     __retval(0))
CASE(call_null_check_by_copy_in_caller, __success,
     "call 7; r0 &= 1; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; r6 = r0; r1 = r0; call %[returns_arg];"
     "if r0 == 0 goto 1f; r0 = *(u8 *)(r6 + 0); exit; 1: r0 = 0; exit;")

/* ---- stack and depth ---- */

static __naked noinline void uses_256(void)
{
	ASM("*(u64 *)(r10 - 256) = 0; r0 = 0; exit;");
}

static __naked noinline void uses_200_calls_256(void)
{
	ASM("*(u64 *)(r10 - 200) = 0; call %[uses_256]; exit;", ADDR(uses_256));
}

static __naked noinline void void_tail_calls(void)
{
	ASM("r2 = %[jmp] ll; r3 = 0; call 12; r0 = 0; exit;", ADDR(jmp));
}

static __naked noinline int tail_calls(void)
{
	ASM("r2 = %[jmp] ll; r3 = 0; call 12; r0 = 0; exit;", ADDR(jmp));
}

SEC("xdp") __success __naked void stack_two_frames(void)
{
	ASM("*(u64 *)(r10 - 256) = 0; call %[uses_256]; exit;", ADDR(uses_256));
}

SEC("xdp") __failure(EACCES) __msg("combined stack size of 2 calls is 528. Too large")
__naked void stack_two_frames_too_big(void)
{
	ASM("*(u64 *)(r10 - 264) = 0; call %[uses_256]; exit;", ADDR(uses_256));
}

SEC("xdp") __failure(EACCES) __msg("combined stack size of 3 calls is") __naked void stack_three_frames_too_big(void)
{
	ASM("*(u64 *)(r10 - 64) = 0; call %[f]; exit;", [f] "i"(uses_200_calls_256));
}

SEC("raw_tp") __success __naked void stack_private_for_tracing(void)
{
	ASM("*(u64 *)(r10 - 264) = 0; call %[uses_256]; exit;", ADDR(uses_256));
}

static __naked noinline void uses_512(void)
{
	ASM("*(u64 *)(r10 - 512) = 0; r0 = 0; exit;");
}

static __naked noinline void uses_512_calls_512(void)
{
	ASM("*(u64 *)(r10 - 512) = 0; call %[uses_512]; exit;", ADDR(uses_512));
}

SEC("raw_tp") __success __naked void stack_private_full_frames(void)
{
	ASM("*(u64 *)(r10 - 512) = 0; call %[f]; exit;", [f] "i"(uses_512_calls_512));
}

SEC("raw_tp") __failure(EACCES) __msg("invalid write to stack R10 off=-520 size=8")
__naked void stack_private_frame_too_big(void)
{
	ASM("*(u64 *)(r10 - 520) = 0; r0 = 0; exit;");
}

SEC("raw_tp") __failure(EACCES) __msg("combined stack size of 2 calls is 528. Too large")
__naked void stack_not_private_with_tail_calls(void)
{
	ASM("*(u64 *)(r10 - 264) = 0; r6 = r1; call %[uses_256]; r1 = r6; r2 = %[jmp] ll; r3 = 0;"
	    "call 12; r0 = 0; exit;",
	    ADDR(uses_256), ADDR(jmp));
}

SEC("xdp") __failure(EINVAL) __msg("tail_call is only allowed in functions that return 'int'.")
__naked void tail_call_in_void_function(void)
{
	ASM("call %[void_tail_calls]; exit;", ADDR(void_tail_calls));
}

SEC("xdp") __success __naked void tail_call_in_function(void)
{
	ASM("*(u64 *)(r10 - 240) = 0; call %[tail_calls]; exit;", ADDR(tail_calls));
}

SEC("xdp") __failure(EACCES)
__msg("tail_calls are not allowed when call stack of previous frames is 256 bytes. Too large")
__naked void tail_call_in_function_too_deep(void)
{
	ASM("*(u64 *)(r10 - 256) = 0; call %[tail_calls]; exit;", ADDR(tail_calls));
}

static noinline int depth7(int x) { return x + bpf_get_prandom_u32(); }
static noinline int depth6(int x) { return depth7(x) + 1; }
static noinline int depth5(int x) { return depth6(x) + 2; }
static noinline int depth4(int x) { return depth5(x) + 3; }
static noinline int depth3(int x) { return depth4(x) + 4; }
static noinline int depth2(int x) { return depth3(x) + 5; }
static noinline int depth1(int x) { return depth2(x) + 6; }
static noinline int depth0(int x) { return depth1(x) + 7; }

SEC("raw_tp") __success int calls_eight_frames(void *ctx)
{
	return depth1(1);
}

SEC("raw_tp") __failure(E2BIG) __msg("the call stack of 9 frames is too deep")
int calls_nine_frames(void *ctx)
{
	return depth0(1);
}

static __naked noinline void recursive(void)
{
	ASM("call 7; if w0 > 5 goto 1f; call %[recursive]; 1: r0 = 0; exit;", ADDR(recursive));
}

SEC("raw_tp") __failure(E2BIG) __msg("the call stack of 9 frames is too deep") __naked void recursion(void)
{
	ASM("call %[recursive]; exit;", ADDR(recursive));
}

/* ---- global functions ---- */

struct pair {
	__u64 a, b;
};

noinline __attribute__((weak)) int global_add(int a, int b)
{
	return a + b;
}

noinline __attribute__((weak)) int global_sum(struct pair *p)
{
	return p ? (int)(p->a + p->b) : -1;
}

noinline __attribute__((weak)) int global_sum_unchecked(struct pair *p)
{
	return (int)(p->a + p->b);
}

noinline __attribute__((weak)) int global_too_far(struct pair *p)
{
	return p ? (int)(&p->b)[1] : -1;
}

noinline __attribute__((weak)) int global_writes(struct pair *p)
{
	if (p)
		p->a = 7;
	return 0;
}

noinline __attribute__((weak)) int global_ctx(struct xdp_md *ctx)
{
	return (int)ctx->ingress_ifindex;
}

noinline __attribute__((weak)) int global_moves_packet(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, 0);
}

noinline __attribute__((weak)) int global_void_pointer(void *p)
{
	return p ? 1 : (int)bpf_get_prandom_u32();
}

noinline __attribute__((weak)) int global_unbounded(__u64 i)
{
	char buf[8] = { 1 };

	barrier_var(i);
	return buf[i];
}

noinline __attribute__((weak)) int global_infinite(int x)
{
	while (bpf_get_prandom_u32() != 12345)
		asm volatile("");
	return x;
}

SEC("raw_tp") __success __retval(3) int global_call(void *ctx)
{
	return global_add(1, 2);
}

SEC("raw_tp") __success __retval(11) int global_call_memory(void *ctx)
{
	struct pair p = { 5, 6 };

	return global_sum(&p);
}

SEC("raw_tp") __success __retval(0xffffffff) int global_call_null(void *ctx)
{
	return global_sum(NULL);
}

SEC("raw_tp") __failure(EACCES) __msg("invalid mem access 'mem_or_null'") int global_null_unchecked(void *ctx)
{
	struct pair p = { 5, 6 };

	return global_sum_unchecked(&p);
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to memory, mem_size=16 off=16 size=") int global_past_argument(void *ctx)
{
	struct pair p = { 5, 6 };

	return global_too_far(&p);
}

SEC("raw_tp") __success __retval(7) int global_call_writes(void *ctx)
{
	struct pair p = { 5, 6 };

	global_writes(&p);
	barrier_var(p.a);
	return (int)p.a;
}

SEC("raw_tp") __failure(EINVAL) __msg("Caller passes invalid args into func") __naked
void global_small_memory(void)
{
	ASM("*(u64 *)(r10 - 8) = 0; r1 = r10; r1 += -8; call %[global_sum]; r0 = 0; exit;", ADDR(global_sum));
}

SEC("raw_tp") __failure(EINVAL) __msg("R1 is not a scalar") __msg("Caller passes invalid args into func")
__naked void global_pointer_for_number(void)
{
	ASM("r1 = r10; r2 = 0; call %[global_add]; r0 = 0; exit;", ADDR(global_add));
}

SEC("xdp") __success __retval(1) int global_call_ctx(struct xdp_md *ctx)
{
	return global_ctx(ctx) ? 1 : 1;
}

SEC("xdp") __failure(EACCES) int global_packet_moved(struct xdp_md *ctx)
{
	char *data = (char *)(long)ctx->data, *end = (char *)(long)ctx->data_end;

	if (data + 1 > end)
		return XDP_DROP;
	global_moves_packet(ctx);
	return data[0] ? XDP_PASS : XDP_DROP;
}

SEC("xdp") __success __retval(2) int global_packet_not_moved(struct xdp_md *ctx)
{
	char *data = (char *)(long)ctx->data, *end = (char *)(long)ctx->data_end;

	if (data + 1 > end)
		return XDP_DROP;
	global_ctx(ctx);
	return data[0] ? XDP_PASS : XDP_DROP;
}

SEC("raw_tp") __failure(EINVAL) int global_unknown_size(void *ctx)
{
	return global_void_pointer(ctx);
}

SEC("raw_tp") __failure(EINVAL) int global_body_is_checked(void *ctx)
{
	return global_unbounded(3);
}

SEC("raw_tp") __failure(EINVAL) __msg("infinite loop detected") int global_never_ends(void *ctx)
{
	return global_infinite(3);
}

/* ---- tail calls ---- */

CASE(tail_call, __success, "r2 = %[jmp] ll; r3 = 0; call 12; r0 = 4; exit;", __retval(4))
CASE(tail_call_wrong_map, __failure(EINVAL), "r2 = %[m] ll; r3 = 0; call 12; r0 = 4; exit;",
     __msg("expected prog array map for tail call"))
CASE(tail_call_no_ctx, __failure(EACCES), "r1 = r10; r2 = %[jmp] ll; r3 = 0; call 12; r0 = 4; exit;",
     __msg("R1 type=fp expected=ctx"))
CASE(tail_call_result, __failure(EACCES), "r2 = %[jmp] ll; r3 = 0; call 12; exit;", __msg("R0 !read_ok"))

/* Who is called and makes a tail call returns with whatever the next program leaves. */
SEC("xdp") __success __retval(2) __naked void tail_call_below(void)
{
	ASM("call %[tail_calls]; if r0 != 0 goto +0; r0 = 2; exit;", ADDR(tail_calls));
}

SEC("xdp") __failure(EACCES) __msg("R6 !read_ok") __naked void tail_call_below_result(void)
{
	ASM("call %[tail_calls]; if r0 != 0 goto 1f; r0 = 2; exit; 1: r0 = r6; exit;", ADDR(tail_calls));
}

SEC("xdp") __failure(EACCES) __msg("R7 invalid mem access 'scalar'") __naked void tail_call_below_packet(void)
{
	ASM("r7 = *(u32 *)(r1 + 0); r3 = *(u32 *)(r1 + 4); r4 = r7; r4 += 14; if r4 > r3 goto 1f;"
	    "call %[tail_calls]; r0 = *(u8 *)(r7 + 0); 1: r0 = 2; exit;",
	    ADDR(tail_calls));
}

int noinline global_tail_calls(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &jmp, 0);
	return 0;
}

SEC("xdp") __failure(EACCES) __msg("invalid mem access 'scalar'") int tail_call_below_global(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return 2;
	global_tail_calls(ctx);
	return data[0];
}

CASE(prog_array_lookup, __failure(EINVAL),
     "*(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[jmp] ll; call 1; r0 = 0; exit;",
     __msg("cannot pass map_type 3 into func bpf_map_lookup_elem#1"))
