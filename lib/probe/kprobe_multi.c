// SPDX-License-Identifier: BSD-2-Clause
/* From names or addresses to a set of probes (kprobe.h), and the link that holds it. */
#include "probe/kprobe_multi.h"

#include <errno.h>
#include <stdlib.h>

#include "obj/prog.h"
#include "probe/hook.h"
#include "probe/kprobe.h"
#include "util/log.h"
#include "util/uaccess.h"

struct target;

struct multi_link {
	struct bpfu_link link;
	struct bpfu_probe_set *set;
	struct target *targets; /* sorted */
	uint32_t cnt, flags;
};

/* A function and its cookie, to be sorted together. */
struct target {
	struct bpfu_func *func;
	uint64_t cookie;
};

static int cmp_target(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return x->func < y->func ? -1 : x->func > y->func;
}

static int find_by_name(uint64_t uname, struct bpfu_func **func)
{
	char name[BPFU_FUNC_NAME_MAX];
	const char *near;
	int n = bpfu_strncpy_from_user(name, uname, sizeof(name));

	if (n < 0)
		return n;
	name[sizeof(name) - 1] = '\0';
	*func = bpfu_func_by_name(name);
	if (*func)
		return 0;
	near = bpfu_func_near(name);
	bpfu_warn("no function '%s' to attach to%s%s%s", name, near ? "; is it '" : "",
		  near ? near : "", near ? "'?" : "");
	return -ESRCH;
}

static int find_target(const struct bpfu_kprobe_multi *multi, uint32_t idx, struct target *target)
{
	uint64_t where = (multi->syms ? multi->syms : multi->addrs) + idx * sizeof(uint64_t), value;
	int err = bpfu_copy_from_user(&value, where, sizeof(value));

	if (!err && multi->cookies)
		err = bpfu_copy_from_user(&target->cookie, multi->cookies + idx * sizeof(uint64_t),
					  sizeof(uint64_t));
	if (err)
		return err;
	if (multi->syms)
		return find_by_name(value, &target->func);
	target->func = bpfu_func_by_addr((void *)(uintptr_t)value);
	return target->func ? 0 : -EINVAL;
}

/* Sorted, each function once. */
static int find_targets(const struct bpfu_kprobe_multi *multi, struct target *targets, uint32_t *cnt)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < multi->cnt; i++) {
		int err = find_target(multi, i, &targets[i]);

		if (err)
			return err;
	}
	qsort(targets, multi->cnt, sizeof(*targets), cmp_target);
	for (uint32_t i = 0; i < multi->cnt; i++)
		if (!kept || targets[kept - 1].func != targets[i].func)
			targets[kept++] = targets[i];
	*cnt = kept;
	return 0;
}

/* ---- the link ---- */

static struct multi_link *multi_link_of(const struct bpfu_link *link)
{
	return (struct multi_link *)bpfu_container_of(link, struct multi_link, link);
}

static void link_unlink(struct bpfu_link *link)
{
	bpfu_probe_detach(multi_link_of(link)->set);
}

static void link_free(struct bpfu_link *link)
{
	struct multi_link *l = multi_link_of(link);

	free(l->targets);
	free(l);
}

/* struct bpf_link_info.kprobe_multi of newer headers, which this host's may lack. */
struct multi_info {
	uint64_t addrs;
	uint32_t count, flags;
	uint64_t missed, cookies;
};

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	struct multi_info *out = (struct multi_info *)((char *)info +
						       offsetof(struct bpf_link_info, raw_tracepoint));
	const struct multi_link *l = multi_link_of(link);
	uint32_t room = out->count;
	int err = 0;

	if (!out->addrs != !out->count || (out->cookies && !out->count))
		return -EINVAL;
	out->count = l->cnt;
	out->flags = l->flags;
	out->missed = 0;
	if (room && room < l->cnt)
		return -ENOSPC;
	for (uint32_t i = 0; i < l->cnt && room && !err; i++) {
		uint64_t addr = bpfu_u64(l->targets[i].func->addr);

		err = bpfu_copy_to_user(out->addrs + i * sizeof(addr), &addr, sizeof(addr));
		if (!err && out->cookies)
			err = bpfu_copy_to_user(out->cookies + i * sizeof(uint64_t),
						&l->targets[i].cookie, sizeof(uint64_t));
	}
	return err;
}

static const struct bpfu_link_ops multi_ops = {
	.unlink = link_unlink,
	.free = link_free,
	.fill_info = link_fill_info,
};

static int check(const struct bpfu_kprobe_multi *multi)
{
	if (multi->flags & ~BPF_F_KPROBE_MULTI_RETURN)
		return -EINVAL;
	if (!multi->syms == !multi->addrs || !multi->cnt)
		return -EINVAL;
	return multi->cnt > BPFU_KPROBE_MULTI_MAX ? -E2BIG : 0;
}

static int attach(const struct bpfu_kprobe_multi *multi, struct bpfu_prog *prog,
		  const struct target *targets, uint32_t cnt, struct bpfu_probe_set **set)
{
	struct bpfu_func **funcs = malloc(cnt * sizeof(*funcs));
	uint64_t *cookies = malloc(cnt * sizeof(*cookies));
	struct bpfu_probe_spec spec = {
		.prog = prog,
		.when = bpfu_when_of(prog, multi->flags & BPF_F_KPROBE_MULTI_RETURN),
		.cnt = cnt,
		.funcs = funcs,
		.cookies = cookies,
	};
	const struct bpfu_func *failed = NULL;
	int err = -ENOMEM;

	for (uint32_t i = 0; funcs && cookies && i < cnt; i++) {
		funcs[i] = targets[i].func;
		cookies[i] = targets[i].cookie;
	}
	if (funcs && cookies)
		err = bpfu_probe_attach(&spec, set, &failed);
	if (err && bpfu_hook_reason(err))
		bpfu_warn("prog '%s': cannot attach to %s%s%s: %s", prog->name,
			  failed ? "function '" : "its functions", failed ? failed->decl.name : "",
			  failed ? "'" : "", bpfu_hook_reason(err));
	free(funcs);
	free(cookies);
	return err;
}

int bpfu_kprobe_multi_create(const struct bpfu_kprobe_multi *multi, struct bpfu_prog *prog,
			     struct bpfu_link **out)
{
	struct multi_link *l;
	int err = check(multi);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->targets = calloc(multi->cnt, sizeof(*l->targets));
	err = l->targets ? find_targets(multi, l->targets, &l->cnt) : -ENOMEM;
	if (!err)
		err = attach(multi, prog, l->targets, l->cnt, &l->set);
	if (err) {
		free(l->targets);
		free(l);
		return err;
	}
	bpfu_link_init(&l->link, BPF_LINK_TYPE_KPROBE_MULTI, &multi_ops, prog);
	l->flags = multi->flags;
	*out = &l->link;
	return 0;
}
