// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of each kind that is attached to something, for functions and tracepoints that libbpfu and the
 * kernel both have, and for places of the test (sides.c). Each writes down what it is told.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "../sides.h"

char LICENSE[] SEC("license") = "GPL";

struct seen entry, leave;
struct seen each[SIDES_MANY]; /* of the multi kinds, by cookie */
struct stack_seen stack;
__u64 strays;                 /* … and runs with none of their cookies */
int only_tgid, modified;
__u64 uninterested; /* which place's session does not want to see returns */
const volatile bool cookies = true; /* whether the kind has some */

/* Functions of the kernel are everybody's. */
static __always_inline bool is_other(void)
{
	return bpf_get_current_pid_tgid() >> 32 != (__u32)only_tgid;
}

static __always_inline void note(struct seen *s, void *ctx)
{
	s->hits++;
	if (cookies)
		s->cookie = bpf_get_attach_cookie(ctx);
}

/* ---- kprobes: bpf_fentry_test5(11, (void *)12, 13, 14, 15) is 65 ---- */

SEC("?kprobe/bpf_fentry_test5")
int BPF_KPROBE(on_kprobe, __u64 a, void *b, short c, int d, __u64 e)
{
	if (is_other())
		return 0;
	note(&entry, ctx);
	entry.ip = bpf_get_func_ip(ctx);
	entry.args[0] = a;
	entry.args[1] = (__u64)b;
	entry.args[2] = c;
	entry.args[3] = d;
	entry.args[4] = e;
	return 0;
}

SEC("?kretprobe/bpf_fentry_test5")
int BPF_KRETPROBE(on_kretprobe, int ret)
{
	if (is_other())
		return 0;
	note(&leave, ctx);
	leave.ip = bpf_get_func_ip(ctx);
	leave.ret = ret;
	return 0;
}

static __always_inline void note_one(struct pt_regs *ctx, bool returns)
{
	__u64 n = bpf_get_attach_cookie(ctx) - SIDES_COOKIE;

	if (is_other())
		return;
	if (n >= SIDES_MANY) {
		strays++;
		return;
	}
	each[n].hits++;
	each[n].ip = bpf_get_func_ip(ctx);
	if (returns)
		each[n].ret = (int)PT_REGS_RC(ctx);
	else
		each[n].args[0] = PT_REGS_PARM1(ctx);
}

/* Also for uprobe.multi. */
SEC("?kprobe.multi")
int on_each(struct pt_regs *ctx)
{
	note_one(ctx, false);
	return 0;
}

SEC("?kretprobe.multi")
int on_each_return(struct pt_regs *ctx)
{
	note_one(ctx, true);
	return 0;
}

/*
 * Sessions; what they keep is the first argument. The numbers stand for kernel functions, which sides.c puts
 * in: kernels declare them differently, with the context and without.
 */
#define session_is_return(ctx) ((bool (*)(void *))SIDES_IS_RETURN)(ctx)
#define session_cookie(ctx) ((__u64 *(*)(void *))SIDES_COOKIE_OF)(ctx)

SEC("?kprobe.multi")
int on_session(struct pt_regs *ctx)
{
	__u64 n = bpf_get_attach_cookie(ctx) - SIDES_COOKIE;
	__u64 *kept;

	if (is_other())
		return 1;
	if (n >= SIDES_MANY) {
		strays++;
		return 1;
	}
	kept = session_cookie(ctx);
	if (session_is_return(ctx)) {
		each[n].returns++;
		each[n].kept = *kept;
		each[n].ret = (int)PT_REGS_RC(ctx);
		each[n].left_ip = bpf_get_func_ip(ctx);
		return 0;
	}
	each[n].hits++;
	each[n].dirty += *kept != 0;
	each[n].args[0] = PT_REGS_PARM1(ctx);
	each[n].ip = bpf_get_func_ip(ctx);
	*kept = each[n].args[0];
	return n == uninterested;
}

/* ---- trampolines: bpf_fentry_test6(16, (void *)17, 18, 19, (void *)20, 21) is 111 ---- */

static __always_inline void note_six(struct seen *s, unsigned long long *ctx, __u64 a, void *b, short c, int d,
				     void *e, __u64 f)
{
	note(s, ctx);
	s->ip = bpf_get_func_ip(ctx);
	s->arg_cnt = bpf_get_func_arg_cnt(ctx);
	s->args[0] = a;
	s->args[1] = (__u64)b;
	s->args[2] = c;
	s->args[3] = d;
	s->args[4] = (__u64)e;
	s->args[5] = f;
}

SEC("?fentry/bpf_fentry_test6")
int BPF_PROG(on_fentry, __u64 a, void *b, short c, int d, void *e, __u64 f)
{
	if (!is_other())
		note_six(&entry, ctx, a, b, c, d, e, f);
	return 0;
}

SEC("?fexit/bpf_fentry_test6")
int BPF_PROG(on_fexit, __u64 a, void *b, short c, int d, void *e, __u64 f, int ret)
{
	if (is_other())
		return 0;
	note_six(&leave, ctx, a, b, c, d, e, f);
	leave.ret = ret;
	bpf_get_func_ret(ctx, &leave.ret_by_helper);
	return 0;
}

/* bpf_modify_return_test(1, &b) increments b, which is 2, and returns the sum: 4. */
SEC("?fmod_ret/bpf_modify_return_test")
int BPF_PROG(on_fmod_ret, int a, int *b, int ret)
{
	int value = 0;

	if (is_other())
		return 0;
	note(&entry, ctx);
	bpf_probe_read_kernel(&value, sizeof(value), b);
	entry.args[0] = a;
	entry.args[1] = value;
	entry.ret = ret;
	return modified;
}

SEC("?fexit/bpf_modify_return_test")
int BPF_PROG(on_modified, int a, int *b, int ret)
{
	int value = 0;

	if (is_other())
		return 0;
	note(&leave, ctx);
	bpf_probe_read_kernel(&value, sizeof(value), b);
	leave.args[0] = a;
	leave.args[1] = value;
	leave.ret = ret;
	return 0;
}

/* ---- tracepoints: bpf_test_finish, at the end of a test run, with the address of what that returns ---- */

static __always_inline void note_error(void *ctx, void *err)
{
	int value = 1;

	if (is_other())
		return;
	note(&entry, ctx);
	bpf_probe_read_kernel(&value, sizeof(value), err);
	entry.args[0] = value;
}

SEC("?raw_tp/bpf_test_finish")
int on_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	note_error(ctx, (void *)ctx->args[0]);
	return 0;
}

SEC("?tp_btf/bpf_test_finish")
int BPF_PROG(on_tp_btf, int *err)
{
	note_error(ctx, err);
	return 0;
}

struct finish_record {
	__u64 hidden;
	int err; /* the value */
};

SEC("?tp/bpf_test_run/bpf_test_finish")
int on_tp(struct finish_record *r)
{
	if (is_other())
		return 0;
	note(&entry, r);
	entry.args[0] = r->err;
	return 0;
}

SEC("?tc")
int packet(struct __sk_buff *skb)
{
	return 7;
}

/* ---- places of the test ---- */

SEC("?uprobe")
int BPF_KPROBE(on_uprobe, long a, int b, short c)
{
	note(&entry, ctx);
	entry.ip = bpf_get_func_ip(ctx);
	entry.args[0] = a;
	entry.args[1] = b;
	entry.args[2] = c;
	return 0;
}

SEC("?uretprobe")
int BPF_KRETPROBE(on_uretprobe, long ret)
{
	note(&leave, ctx);
	leave.ip = bpf_get_func_ip(ctx);
	leave.ret = ret;
	return 0;
}

SEC("?usdt")
int BPF_USDT(on_usdt, long a, int b, short c)
{
	entry.hits++;
	entry.cookie = (__u64)bpf_usdt_cookie(ctx);
	entry.arg_cnt = (__u64)bpf_usdt_arg_cnt(ctx);
	entry.args[0] = a;
	entry.args[1] = b;
	entry.args[2] = c;
	return 0;
}

/* ---- stacks ---- */

static __always_inline int note_stack(void *ctx, __u64 flags)
{
	stack.size = bpf_get_stack(ctx, stack.ips, sizeof(stack.ips), flags);
	stack.ip = bpf_get_func_ip(ctx);
	return 0;
}

SEC("?kprobe/bpf_fentry_test5")
int stack_of_kprobe(struct pt_regs *ctx)
{
	return is_other() ? 0 : note_stack(ctx, 0);
}

SEC("?kprobe.multi/bpf_fentry_test5")
int stack_of_multi(struct pt_regs *ctx)
{
	return is_other() ? 0 : note_stack(ctx, 0);
}

SEC("?fentry/bpf_fentry_test6")
int stack_of_fentry(void *ctx)
{
	return is_other() ? 0 : note_stack(ctx, 0);
}

SEC("?fexit/bpf_fentry_test6")
int stack_of_fexit(void *ctx)
{
	return is_other() ? 0 : note_stack(ctx, 0);
}

SEC("?uprobe")
int stack_of_uprobe(struct pt_regs *ctx)
{
	return note_stack(ctx, BPF_F_USER_STACK);
}
