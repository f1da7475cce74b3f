// SPDX-License-Identifier: BSD-2-Clause
/* fentry, fexit and fmod_ret programs on functions of libbpfu and of the test (tramp.c). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* ---- what a program on a function can see ---- */

__u64 args[12];
__u64 seen, func_ip, arg_cnt, ret, ret_by_helper, cookie;
long no_arg, no_ret;

SEC("fentry/test_twelve")
int twelve_entry(__u64 *ctx)
{
	args[0] = ctx[0];
	args[1] = ctx[1];
	args[5] = ctx[5];
	args[6] = ctx[6];
	args[11] = ctx[11];
	bpf_get_func_arg(ctx, 7, &args[7]);
	no_arg = bpf_get_func_arg(ctx, 12, &args[2]);
	no_ret = bpf_get_func_ret(ctx, &args[2]);
	func_ip = bpf_get_func_ip(ctx);
	arg_cnt = bpf_get_func_arg_cnt(ctx);
	cookie = bpf_get_attach_cookie(ctx);
	seen++;
	return 0;
}

SEC("fexit/test_twelve")
int twelve_exit(__u64 *ctx)
{
	args[11] = ctx[11];
	bpf_get_func_ret(ctx, &ret_by_helper);
	cookie = bpf_get_attach_cookie(ctx);
	seen++;
	return 0;
}

/* Narrow arguments and results as the prototype has them. */
SEC("fexit/test_narrow")
int BPF_PROG(narrow_exit, signed char a, short b, int c, int result)
{
	args[0] = a;
	args[1] = b;
	args[2] = c;
	ret = result;
	return 0;
}

/* ---- order: the latest first, by kind ---- */

char order[16];
__u32 order_len;

static __always_inline void note(char who)
{
	__u32 at = order_len++;

	if (at < sizeof(order))
		order[at] = who;
}

SEC("fentry/test_ordered")
int BPF_PROG(entry_a) { note('a'); return 0; }
SEC("fentry/test_ordered")
int BPF_PROG(entry_b) { note('b'); return 0; }
SEC("fexit/test_ordered")
int BPF_PROG(exit_x) { note('x'); return 0; }
SEC("fexit/test_ordered")
int BPF_PROG(exit_y) { note('y'); return 0; }

int mod_result, mod_result2;
__u64 mod_saw;

SEC("fmod_ret/test_ordered")
int BPF_PROG(mod_m, int a, int result)
{
	note('m');
	mod_saw = result;
	return mod_result;
}

SEC("fmod_ret/test_ordered")
int BPF_PROG(mod_n, int a, int result)
{
	note('n');
	return mod_result2;
}

/* ---- recursion ---- */

__u64 outer_runs;

SEC("fentry/bpf_get_numa_node_id")
int BPF_PROG(recursing)
{
	__sync_fetch_and_add(&outer_runs, 1);
	bpf_get_numa_node_id(); /* would run this program again */
	return 0;
}

SEC("raw_tp")
int driver(void *ctx)
{
	for (int i = 0; i < 100; i++)
		bpf_get_numa_node_id();
	return 0;
}

/* ---- functions made for tests ---- */

__u64 test1_runs, test6_result, modify_runs;
int modify_result;

SEC("fentry/bpf_fentry_test1")
int BPF_PROG(test1, int a)
{
	test1_runs += a == 1;
	return 0;
}

SEC("fexit/bpf_fentry_test6")
int BPF_PROG(test6, __u64 a, void *b, short c, int d, void *e, __u64 f, int result)
{
	if (a == 16 && (long)b == 17 && c == 18 && d == 19 && (long)e == 20 && f == 21)
		test6_result = result;
	return 0;
}

SEC("fmod_ret/bpf_modify_return_test")
int BPF_PROG(modify, int a, int *b, int result)
{
	modify_runs++;
	return modify_result;
}

/* ---- a structure behind an argument ---- */

__u64 pointed_at;

SEC("fentry/test_pointer")
int BPF_PROG(pointer, __u64 *where)
{
	bpf_probe_read_kernel(&pointed_at, sizeof(pointed_at), where);
	return 0;
}
