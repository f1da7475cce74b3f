// SPDX-License-Identifier: BSD-2-Clause
/* From names, addresses and files to probes; see target.h. */
#include "probe/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "btf/func.h"
#include "obj/prog.h"
#include "probe/extent.h"
#include "probe/hook.h"
#include "probe/kprobe.h"
#include "util/bits.h"
#include "util/log.h"

#define MIN_ACTIVE 10 /* as the kernel's kretprobes */

/* ---- what is meant ---- */

/* True if @func has a nop at its entry that programs on registers can use. */
static bool has_entry(struct bpfu_func *func)
{
	struct bpfu_hook *hook;
	int err;

	pthread_mutex_lock(&bpfu_hook_lock);
	err = bpfu_hook_get(func, &hook);
	pthread_mutex_unlock(&bpfu_hook_lock);
	return !err;
}

static void set_address(struct bpfu_target *target, uintptr_t addr)
{
	struct bpfu_func *func = bpfu_func_by_addr((void *)addr);

	target->place.addr = addr;
	if (func && has_entry(func))
		target->func = func;
}

static int no_function(const char *name)
{
	const char *near = bpfu_func_near(name);

	bpfu_warn("no function '%s' to attach to%s%s%s", name, near ? "; is it '" : "",
		  near ? near : "", near ? "'?" : "");
	return -ENOENT;
}

static int check_offset(const struct bpfu_target *target, bool is_return)
{
	struct bpfu_extent extent;

	if (!target->offset)
		return 0;
	if (is_return) {
		bpfu_warn("function '%s': a return probe has no offset, not %llu",
			  target->in->decl.name, (unsigned long long)target->offset);
		return -EINVAL;
	}
	if (!bpfu_extent_find((uintptr_t)target->in->addr, &extent, NULL) ||
	    target->offset < extent.end - (uintptr_t)target->in->addr)
		return 0;
	bpfu_warn("function '%s' has %llu bytes, there is no offset %llu", target->in->decl.name,
		  (unsigned long long)(extent.end - (uintptr_t)target->in->addr),
		  (unsigned long long)target->offset);
	return -EINVAL;
}

int bpfu_target_kprobe(struct bpfu_target *target, const char *name, uint64_t addr, uint64_t offset,
		       bool is_return)
{
	int err;

	*target = (struct bpfu_target){ .offset = offset };
	if (!name) {
		set_address(target, (uintptr_t)addr);
		target->in = target->func;
		target->place.func_ip = is_return || target->func ? addr : 0;
		return 0;
	}
	target->in = bpfu_func_by_name(name);
	if (!target->in)
		return no_function(name);
	err = check_offset(target, is_return);
	if (err)
		return err;
	set_address(target, (uintptr_t)target->in->addr + offset);
	target->place.func_ip = offset ? 0 : bpfu_u64(target->in->addr);
	return 0;
}

static int no_place(const char *path, uint64_t offset, int err)
{
	if (err == -EOPNOTSUPP)
		bpfu_warn("file '%s' is not loaded in this process, and libbpfu probes no other; "
			  "use dlopen() before attaching, or attach on the kernel", path);
	else if (err == -EINVAL)
		bpfu_warn("file '%s': offset 0x%llx is not in what is loaded of it as text, or as "
			  "data if it is a counter's", path, (unsigned long long)offset);
	return err;
}

static int find_counter(struct bpfu_target *target)
{
	uintptr_t counter;
	int err = bpfu_file_addr(target->path, target->ref_ctr_offset, BPFU_FILE_DATA, &counter);

	if (!err && counter % sizeof(uint16_t))
		err = -EINVAL;
	if (!err)
		target->place.ref_ctr = (uint16_t *)counter;
	return err ? no_place(target->path, target->ref_ctr_offset, err) : 0;
}

int bpfu_target_uprobe(struct bpfu_target *target, const char *path, uint64_t offset,
		       uint64_t ref_ctr_offset)
{
	uintptr_t addr;
	int err = bpfu_file_addr(path, offset, BPFU_FILE_TEXT, &addr);

	*target = (struct bpfu_target){ .is_uprobe = true, .offset = offset,
					.ref_ctr_offset = ref_ctr_offset };
	if (err)
		return no_place(path, offset, err);
	target->path = strdup(path);
	if (!target->path)
		return -ENOMEM;
	/* The nop's way of a traceable function has no counter. */
	target->place.addr = addr;
	if (!ref_ctr_offset)
		set_address(target, addr);
	target->place.func_ip = addr;
	return ref_ctr_offset ? find_counter(target) : 0;
}

int bpfu_target_check_pid(int pid)
{
	if (pid == -1 || pid == 0 || pid == getpid())
		return 0;
	bpfu_warn("process %d is not this one, and libbpfu probes no other; attach on the kernel", pid);
	return -EOPNOTSUPP;
}

void bpfu_target_release(struct bpfu_target *target)
{
	free(target->path);
	target->path = NULL;
}

/* ---- attaching ---- */

static void tell(const struct bpfu_prog *prog, const struct bpfu_target *target, const char *reason)
{
	unsigned long long offset = target ? target->offset : 0;

	if (!reason)
		return;
	if (!target)
		bpfu_warn("prog '%s': cannot attach: %s", prog->name, reason);
	else if (target->is_uprobe)
		bpfu_warn("prog '%s': cannot attach to offset 0x%llx of '%s': %s", prog->name, offset,
			  target->path, reason);
	else if (!target->in)
		bpfu_warn("prog '%s': cannot attach to address 0x%llx: %s", prog->name,
			  (unsigned long long)target->place.addr, reason);
	else if (offset)
		bpfu_warn("prog '%s': cannot attach to function '%s', offset 0x%llx: %s", prog->name,
			  target->in->decl.name, offset, reason);
	else
		bpfu_warn("prog '%s': cannot attach to function '%s': %s", prog->name,
			  target->in->decl.name, reason);
}

/* The targets by kind, in room for all of them. */
struct split {
	struct bpfu_func **funcs;
	uint64_t *func_cookies;
	const struct bpfu_target **func_targets, **point_targets;
	struct bpfu_point_place *places;
	uint32_t func_cnt, point_cnt;
};

static int split(struct split *s, const struct bpfu_target *targets, const uint64_t *cookies,
		 uint32_t cnt)
{
	s->funcs = calloc(cnt, sizeof(*s->funcs));
	s->func_cookies = calloc(cnt, sizeof(*s->func_cookies));
	s->func_targets = calloc(cnt, sizeof(*s->func_targets));
	s->point_targets = calloc(cnt, sizeof(*s->point_targets));
	s->places = calloc(cnt, sizeof(*s->places));
	if (!s->funcs || !s->func_cookies || !s->func_targets || !s->point_targets || !s->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t cookie = cookies ? cookies[i] : 0;

		if (targets[i].func) {
			s->func_cookies[s->func_cnt] = cookie;
			s->func_targets[s->func_cnt] = &targets[i];
			s->funcs[s->func_cnt++] = targets[i].func;
		} else {
			s->point_targets[s->point_cnt] = &targets[i];
			s->places[s->point_cnt] = targets[i].place;
			s->places[s->point_cnt++].cookie = cookie;
		}
	}
	return 0;
}

static void split_release(struct split *s)
{
	free(s->funcs);
	free(s->func_cookies);
	free(s->func_targets);
	free(s->point_targets);
	free(s->places);
}

static int attach_funcs(struct bpfu_prog *prog, enum bpfu_when when, const struct split *s,
			struct bpfu_probing *out)
{
	struct bpfu_probe_spec spec = {
		.prog = prog,
		.when = when,
		.max_active = s->func_cnt && s->func_targets[0]->is_uprobe ?
				      0 : BPFU_MAX(MIN_ACTIVE, 2 * bpfu_possible_cpus()),
		.cnt = s->func_cnt,
		.funcs = s->funcs,
		.cookies = s->func_cookies,
	};
	const struct bpfu_func *failed = NULL;
	int err = s->func_cnt ? bpfu_probe_attach(&spec, &out->probes, &failed) : 0;
	const struct bpfu_target *target = NULL;

	for (uint32_t i = 0; err && i < s->func_cnt; i++)
		if (s->funcs[i] == failed || s->func_cnt == 1)
			target = s->func_targets[i];
	if (err)
		tell(prog, target, bpfu_hook_reason(err));
	return err;
}

static int attach_points(struct bpfu_prog *prog, enum bpfu_when when, const struct split *s,
			 struct bpfu_probing *out)
{
	struct bpfu_point_spec spec = {
		.prog = prog,
		.when = when,
		.cnt = s->point_cnt,
		.places = s->places,
	};
	uint32_t failed = 0;
	int err = s->point_cnt ? bpfu_point_attach(&spec, &out->points, &failed) : 0;

	if (!err)
		return 0;
	tell(prog, failed < s->point_cnt ? s->point_targets[failed] : NULL, bpfu_point_reason(err));
	return err == -EPERM ? -EINVAL : err; /* as functions that the kernel lets nobody probe */
}

int bpfu_target_attach(struct bpfu_prog *prog, enum bpfu_when when, const struct bpfu_target *targets,
		       const uint64_t *cookies, uint32_t cnt, struct bpfu_probing *out)
{
	struct split s = { 0 };
	int err = split(&s, targets, cookies, cnt);

	*out = (struct bpfu_probing){ 0 };
	if (!err)
		err = attach_funcs(prog, when, &s, out);
	if (!err)
		err = attach_points(prog, when, &s, out);
	if (err)
		bpfu_target_detach(out);
	split_release(&s);
	return err;
}

void bpfu_target_detach(struct bpfu_probing *probing)
{
	if (probing->probes)
		bpfu_probe_detach(probing->probes);
	if (probing->points)
		bpfu_point_detach(probing->points);
	*probing = (struct bpfu_probing){ 0 };
}

uint64_t bpfu_target_missed(const struct bpfu_probing *probing)
{
	return (probing->probes ? bpfu_probe_missed(probing->probes) : 0) +
	       (probing->points ? bpfu_point_missed(probing->points) : 0);
}
