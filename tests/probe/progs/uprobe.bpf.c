// SPDX-License-Identifier: BSD-2-Clause
/* Programs on any place of the process (uprobe.c, point_stress.c). */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 hits, returns, cookies, ip, pc, sp, first_arg, ret;
__u64 steady, come_and_go, steady_returns;
__u64 places[256]; /* by cookie */

SEC("uprobe")
int on_entry(struct pt_regs *ctx)
{
	ip = bpf_get_func_ip(ctx);
	pc = PT_REGS_IP(ctx);
	sp = PT_REGS_SP(ctx);
	first_arg = PT_REGS_PARM1(ctx);
	__sync_fetch_and_add(&cookies, bpf_get_attach_cookie(ctx));
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *ctx)
{
	ip = bpf_get_func_ip(ctx);
	ret = PT_REGS_RC(ctx);
	sp = PT_REGS_SP(ctx);
	pc = PT_REGS_IP(ctx);
	__sync_fetch_and_add(&cookies, bpf_get_attach_cookie(ctx));
	__sync_fetch_and_add(&returns, 1);
	return 0;
}

/* Loaded for uprobe.multi. */
SEC("kprobe")
int on_place(struct pt_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);

	if (place < 256)
		__sync_fetch_and_add(&places[place], 1);
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

SEC("kprobe")
int on_place_return(struct pt_regs *ctx)
{
	ret = PT_REGS_RC(ctx);
	__sync_fetch_and_add(&cookies, bpf_get_attach_cookie(ctx));
	__sync_fetch_and_add(&returns, 1);
	return 0;
}

SEC("uprobe")
int on_steady(void *ctx)
{
	__sync_fetch_and_add(&steady, 1);
	return 0;
}

SEC("uretprobe")
int on_steady_return(void *ctx)
{
	__sync_fetch_and_add(&steady_returns, 1);
	return 0;
}

SEC("uprobe")
int on_toggled(void *ctx)
{
	__sync_fetch_and_add(&come_and_go, 1);
	return 0;
}
