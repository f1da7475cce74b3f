// SPDX-License-Identifier: BSD-2-Clause
/* BPF programs as targets of others; see host.h. Here are the images, and the links of EXT programs. */
#include "probe/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "jit/jit.h"
#include "obj/prog.h"
#include "probe/hook.h"
#include "probe/tramp.h"
#include "util/log.h"
#include "verifier/verifier.h"

struct ext_link {
	struct bpfu_link link;
	struct bpfu_host *host;
	struct bpfu_prog *dst; /* reference: keeps @host */
	uint32_t subprog;
	uint32_t btf_id;
};

static uint32_t slow_hosts; /* under the lock */

/* ---- the program's images ---- */

static void patches_free(struct bpfu_patches *patches)
{
	bpfu_jit_variant_free(patches->variant);
	free(patches);
}

static void patches_free_rcu(struct bpfu_rcu_head *head)
{
	patches_free(bpfu_container_of(head, struct bpfu_patches, rcu));
}

/* *@out: what is wanted, compiled if the program is; NULL if nothing is. */
static int patches_new(const struct bpfu_host *host, struct bpfu_patches **out)
{
	const struct bpfu_prog *prog = host->prog;
	uint32_t cnt = prog->subprog_cnt;
	struct bpfu_patches *patches;
	bool any = false;
	int err = 0;

	*out = NULL;
	for (uint32_t i = 0; i < cnt; i++)
		any |= bpfu_func_is_patched(&host->func[i]);
	if (!any)
		return 0;
	patches = calloc(1, sizeof(*patches) + cnt * sizeof(patches->func[0]));
	if (!patches)
		return -ENOMEM;
	patches->cnt = cnt;
	memcpy(patches->func, host->func, cnt * sizeof(patches->func[0]));
	if (prog->jited)
		err = bpfu_jit_compile_variant(prog, patches, &patches->variant);
	if (err)
		free(patches);
	else
		*out = patches;
	return err;
}

/* Attachments call func as they found it: as long as there is another one, they have to look. */
static void set_slow(struct bpfu_host *host, bool slow)
{
	switch (host->prog->type) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_TRACING:
		break;
	default:
		return;
	}
	if (slow == host->is_slow)
		return;
	host->is_slow = slow;
	slow_hosts += slow ? 1 : -1;
	if (slow)
		atomic_fetch_or(&bpfu_stats_users, BPFU_STATS_PATCHED);
	else if (!slow_hosts)
		atomic_fetch_and(&bpfu_stats_users, ~BPFU_STATS_PATCHED);
}

static void publish(struct bpfu_host *host, struct bpfu_patches *patches)
{
	const struct bpfu_jit_variant *v = patches ? patches->variant : NULL;
	struct bpfu_prog *prog = host->prog;
	const struct bpfu_patches *old;

	if (v)
		set_slow(host, true);
	old = atomic_exchange(&prog->patches, patches);
	if (prog->jited) {
		bpfu_prog_fn func = v ? (bpfu_prog_fn)(uintptr_t)v->func : prog->own_func;

		__atomic_store_n(&prog->func, func, __ATOMIC_RELEASE);
		__atomic_store_n(&prog->tail_entry, v ? v->tail_entry : host->own_tail_entry,
				 __ATOMIC_RELEASE);
		__atomic_store_n(&prog->direct_entry, v ? v->direct_entry : host->own_direct_entry,
				 __ATOMIC_RELEASE);
	}
	if (!v)
		set_slow(host, false);
	if (old)
		bpfu_call_rcu(&((struct bpfu_patches *)old)->rcu, patches_free_rcu);
}

int bpfu_host_update(struct bpfu_host *host)
{
	struct bpfu_patches *patches;
	int err = patches_new(host, &patches);

	if (!err)
		publish(host, patches);
	return err;
}

void bpfu_host_clear(struct bpfu_host *host)
{
	bpfu_warn("prog '%s': out of memory: all that is attached to its functions is off until "
		  "something is attached or detached", host->prog->name);
	publish(host, NULL);
}

/* With the last reference of the program gone all links are, and what they wanted. */
static void host_release(struct bpfu_host *host)
{
	BPFU_BUG_ON(host->is_slow || atomic_load(&host->prog->patches), "a link has left something");
	for (uint32_t i = 0; i < host->prog->subprog_cnt; i++)
		bpfu_tramp_free(host->tramp[i]);
	free(host->tramp);
	free(host);
}

static uint64_t func_ip(const struct bpfu_prog *prog, uint32_t i)
{
	return prog->jit ? bpfu_u64(prog->jit->code) + prog->jit->subprog_off[i] :
			   bpfu_u64(prog->insns + prog->subprogs[i].start);
}

/* With the lock held. */
static int host_get(struct bpfu_prog *prog, struct bpfu_host **out)
{
	struct bpfu_host *host = prog->host;

	if (!host) {
		bpfu_hook_watch_forks();
		host = calloc(1, sizeof(*host) + prog->subprog_cnt * sizeof(host->func[0]));
		if (host)
			host->tramp = calloc(prog->subprog_cnt, sizeof(host->tramp[0]));
		if (!host || !host->tramp) {
			free(host);
			return -ENOMEM;
		}
		host->prog = prog;
		host->own_tail_entry = prog->tail_entry;
		host->own_direct_entry = prog->direct_entry;
		for (uint32_t i = 0; i < prog->subprog_cnt; i++)
			host->func[i].ip = func_ip(prog, i);
		prog->release_host = host_release;
		prog->host = host;
	}
	*out = host;
	return 0;
}

/* ---- programs that replace a function ---- */

static struct ext_link *ext_link_of(const struct bpfu_link *link)
{
	return (struct ext_link *)bpfu_container_of(link, struct ext_link, link);
}

static void ext_unlink(struct bpfu_link *link)
{
	struct ext_link *l = ext_link_of(link);

	pthread_mutex_lock(&bpfu_hook_lock);
	l->host->func[l->subprog].replacement = NULL;
	if (bpfu_host_update(l->host))
		bpfu_host_clear(l->host);
	bpfu_prog_unextend(l->dst);
	pthread_mutex_unlock(&bpfu_hook_lock);
}

static void ext_free(struct bpfu_link *link)
{
	struct ext_link *l = ext_link_of(link);

	bpfu_prog_put(l->dst);
	free(l);
}

static int ext_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	const struct ext_link *l = ext_link_of(link);

	info->tracing.attach_type = link->prog->expected_attach_type;
	info->tracing.target_obj_id = l->dst->obj.id;
	info->tracing.target_btf_id = l->btf_id;
	return 0;
}

static const struct bpfu_link_ops ext_ops = {
	.unlink = ext_unlink,
	.free = ext_free,
	.fill_info = ext_fill_info,
};

/* Arguments that the function's prototype has: the verifier has seen that there are no more than five. */
static uint32_t arg_cnt(const struct bpfu_prog *prog, uint32_t btf_id)
{
	const struct btf_type *func = bpfu_btf_type(prog->btf, btf_id);

	return bpfu_btf_vlen(bpfu_btf_type(prog->btf, func->type));
}

static int replace(struct bpfu_host *host, uint32_t subprog, struct bpfu_prog *ext, uint32_t btf_id)
{
	struct bpfu_func_patch *patch = &host->func[subprog];
	int err;

	if (patch->replacement || patch->trace)
		return -EBUSY;
	err = bpfu_prog_extend(host->prog);
	if (err)
		return err;
	patch->replacement = ext;
	patch->arg_cnt = arg_cnt(host->prog, btf_id);
	err = bpfu_host_update(host);
	if (err) {
		patch->replacement = NULL;
		bpfu_prog_unextend(host->prog);
	}
	return err;
}

/*
 * What runs the program knows how much of the context it reads, and may have no more. Where all of it is
 * always there that does not matter.
 */
static bool fits_context(const struct bpfu_prog *ext, const struct bpfu_prog *dst)
{
	switch (dst->type) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_TRACING:
	case BPF_PROG_TYPE_SYSCALL:
		return ext->max_ctx_offset <= dst->max_ctx_offset &&
		       !(ext->ctx_words & ~dst->ctx_words);
	default:
		return true;
	}
}

static int ext_attach(struct bpfu_host *host, uint32_t subprog, struct bpfu_prog *prog, uint32_t btf_id,
		      struct bpfu_link **out)
{
	struct ext_link *l;
	int err;

	/* It could not be compiled, though it was to be: verifier/attach.c has looked at that. */
	if (prog->jited != host->prog->jited)
		return -EINVAL;
	if (!fits_context(prog, host->prog))
		return -EOPNOTSUPP;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	err = replace(host, subprog, prog, btf_id);
	if (err) {
		free(l);
		return err;
	}
	bpfu_link_init(&l->link, BPF_LINK_TYPE_TRACING, &ext_ops, prog);
	l->host = host;
	l->dst = host->prog;
	l->subprog = subprog;
	l->btf_id = btf_id;
	bpfu_obj_get(&l->dst->obj);
	*out = &l->link;
	return 0;
}

/* ---- both kinds ---- */

static const char *reason_of(const struct bpfu_prog *prog, const struct bpfu_prog *dst, uint32_t subprog,
			     int err)
{
	const struct bpfu_func_patch *patch = dst->host ? &dst->host->func[subprog] : NULL;

	if (err == -EOPNOTSUPP)
		return "it reads more of the context than that program, which is not there for it";
	if (err != -EBUSY)
		return NULL;
	if (patch && patch->replacement)
		return "another program replaces it";
	if (prog->type != BPF_PROG_TYPE_EXT)
		return "the program is attached to it already";
	return patch && patch->trace ? "fentry or fexit programs are attached to it" :
				       "a program array holds the program that it is of";
}

/* With the lock held. */
static int attach(struct bpfu_prog *prog, struct bpfu_prog *dst, uint32_t btf_id, uint64_t cookie,
		  struct bpfu_link **link)
{
	struct bpfu_host *host;
	const char *reason;
	uint32_t subprog;
	int err = bpfu_verify_target(prog, dst, btf_id, NULL, &subprog, NULL);

	if (err)
		return err;
	err = host_get(dst, &host);
	if (!err)
		err = prog->type == BPF_PROG_TYPE_EXT ?
			      ext_attach(host, subprog, prog, btf_id, link) :
			      bpfu_tramp_attach_host(host, subprog, prog, cookie, link);
	reason = reason_of(prog, dst, subprog, err);
	if (reason)
		bpfu_warn("prog '%s': cannot attach to function '%s' of prog '%s': %s", prog->name,
			  dst->subprogs[subprog].name, dst->name, reason);
	return err;
}

int bpfu_host_attach(struct bpfu_prog *prog, struct bpfu_prog *dst, uint32_t btf_id, uint64_t cookie,
		     struct bpfu_link **link)
{
	struct bpfu_prog *loaded_for = NULL;
	int err = -EINVAL;

	pthread_mutex_lock(&bpfu_hook_lock);
	if (!dst) {
		dst = prog->dst_prog;
		btf_id = prog->attach_btf_id;
	}
	if (dst)
		err = attach(prog, dst, btf_id, cookie, link);
	/* What it was loaded for is forgotten, and not kept alive any more, whichever target it got. */
	if (!err)
		loaded_for = bpfu_prog_take_dst(prog);
	pthread_mutex_unlock(&bpfu_hook_lock);
	bpfu_prog_put(loaded_for);
	return err;
}
