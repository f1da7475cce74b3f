// SPDX-License-Identifier: BSD-2-Clause
/* The target `host`: the running kernel. It has no variants that a program could choose. */
#include <errno.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "machine/procfs.h"
#include "target.h"

static int host_check(struct target *t, struct errline *e)
{
	if (!t->nr_variants)
		return 0;
	return errline_set(e, -EINVAL, "target '%s': the running kernel has no option '%s' to set; "
			   "user:%s=%s has", t->spec, t->variants[0].name, t->variants[0].name,
			   t->variants[0].value);
}

static int host_enter(const struct target *t, struct errline *e)
{
	bpfu_route_set(BPFU_ROUTE_KERNEL);
	return 0;
}

static int host_probe(const struct target *t, struct errline *e)
{
	const char *step;
	int err = target_probe_bpf(&step);
	char disabled[16];

	if (!err)
		return 0;
	procfs_read("/proc/sys/kernel/unprivileged_bpf_disabled", disabled, sizeof(disabled));
	if (err == -EPERM)
		return errline_set(e, err, "the kernel refuses bpf(2) (%s: %s; "
				   "kernel.unprivileged_bpf_disabled=%s): run as root or with CAP_BPF and "
				   "CAP_PERFMON, or use the target 'user'", step, strerror(-err),
				   disabled[0] ? disabled : "?");
	if (err == -ENOSYS)
		return errline_set(e, err, "the kernel has no bpf(2), or a seccomp filter hides it (%s: "
				   "%s): use the target 'user'", step, strerror(-err));
	if (err == -EPROTO)
		return errline_set(e, err, "a probe program ran and returned the wrong value");
	return errline_set(e, err, "%s fails: %s", step, strerror(-err));
}

const struct target_kind target_kind_host = {
	.name = "host",
	.summary = "the running kernel",
	.check = host_check,
	.enter = host_enter,
	.probe = host_probe,
};
