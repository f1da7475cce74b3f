// SPDX-License-Identifier: BSD-2-Clause
/* Addresses that are probed; see place.h. */
#include "probe/place.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "btf/func.h"
#include "percpu/sys.h"
#include "probe/extent.h"
#include "probe/hook.h"
#include "probe/near.h"
#include "probe/point.h"
#include "probe/stub.h"
#include "util/bits.h"
#include "util/inner.h"
#include "util/uaccess.h"

#define BUCKETS 4096u

static _Atomic(struct bpfu_point *) buckets[BUCKETS];

static uint32_t bucket_of(uintptr_t at)
{
	return (uint32_t)(at ^ at >> 12) % BUCKETS;
}

struct bpfu_point *bpfu_point_find(uintptr_t at)
{
	struct bpfu_point *point =
		atomic_load_explicit(&buckets[bucket_of(at)], memory_order_acquire);

	while (point && point->at != at)
		point = point->next;
	return point;
}

/* ---- may it be probed ---- */

/* The bytes at @at as they are without points. 0 or -EFAULT. */
static int read_text(uintptr_t at, uint8_t *out, size_t n)
{
	int err = bpfu_copy_from_user(out, at, n);

	for (uintptr_t p = at - BPFU_ENTRY_SIZE + 1; p < at + n && !err; p++) {
		const struct bpfu_point *point = bpfu_point_find(p);
		size_t size = point && point->by_jump ? BPFU_ENTRY_SIZE : sizeof(bpfu_breakpoint);

		if (!point || !point->armed)
			continue;
		for (size_t i = 0; i < size; i++)
			if (p + i >= at && p + i < at + n)
				out[p + i - at] = point->insn[i];
	}
	return err;
}

/* Whether walking from the start of the function comes to @at. 0, -EILSEQ or -EINVAL. */
static int check_boundary(uintptr_t at, const struct bpfu_extent *func)
{
	uintptr_t p = func->start;

	while (p < at) {
		uint8_t code[BPFU_OUTLINE_INSN_MAX];
		int len = read_text(p, code, BPFU_MIN(sizeof(code), func->end - p));

		if (!len)
			len = bpfu_insn_len(code, BPFU_MIN(sizeof(code), func->end - p));
		if (len < 0) /* data in text: nobody knows */
			return 0;
		p += (uintptr_t)len;
	}
	return p == at ? 0 : -EILSEQ;
}

/* Part of what hook.c changes at the entry of a function? */
static bool is_in_hook(uintptr_t at, const struct bpfu_extent *extent)
{
	struct bpfu_func *func = bpfu_func_by_addr((void *)extent->start);
	struct bpfu_hook *hook;

	return func && !bpfu_hook_get(func, &hook) &&
	       at - (uintptr_t)hook->site.at < BPFU_ENTRY_SIZE;
}

/* What the kernel returns to from a handler, and would at once be in one again. */
static bool is_signal_return(uintptr_t at)
{
	struct {
		uintptr_t handler;
		unsigned long flags;
		uintptr_t restorer;
		uint64_t mask;
	} action = { 0 };

	bpfu_sys6(SYS_rt_sigaction, SIGTRAP, 0, (long)&action, sizeof(action.mask), 0, 0);
#if defined(__x86_64__)
	return at - action.restorer < BPFU_OUTLINE_INSN_MAX;
#else
	return false; /* in the vdso, which is no loaded file */
#endif
}

static int check_address(uintptr_t at)
{
	struct bpfu_extent func = { 0 };
	bool text, known = bpfu_extent_find(at, &func, &text);
	int err;

	if (!text)
		return -EINVAL;
	if (is_signal_return(at) ||
	    (bpfu_is_inner(at) && !(known && bpfu_func_by_addr((void *)func.start))))
		return -EPERM;
	if (!known)
		return at % _Alignof(bpfu_breakpoint) ? -EILSEQ : 0;
	err = check_boundary(at, &func);
	return !err && is_in_hook(at, &func) ? -EBUSY : err;
}

/* ---- code of a point ---- */

static bool has_breakpoint(uintptr_t at)
{
	return *(volatile bpfu_breakpoint *)at == BPFU_BREAKPOINT;
}

/* Memory near the point with @code in it, which was made for @slot. */
static int write_slot(void *slot, const uint8_t *code, size_t size)
{
	return bpfu_patch_write(&(struct bpfu_write){ slot, code, size }, 1);
}

static int make_slot(struct bpfu_point *point)
{
	uint8_t code[BPFU_OUTLINE_MAX];
	void *slot;
	int err = bpfu_near_alloc((void *)point->at, BPFU_OUTLINE_MAX, &slot);
	int len = err ? err : bpfu_outline(code, bpfu_u64(slot), point->insn, point->at);

	if (len <= 0)
		return len;
	err = write_slot(slot, code, (size_t)len);
	if (!err)
		point->slot = slot;
	return err;
}

#if defined(__x86_64__)

static int make_thunk(struct bpfu_point *point)
{
	uint8_t code[BPFU_NOP_THUNK_MAX];
	void *thunk;
	int err = bpfu_near_alloc((void *)point->at, BPFU_NOP_THUNK_MAX, &thunk);
	int len = err ? err : bpfu_nop_thunk(code, thunk, point, (void *)(point->at + point->len));

	if (len <= 0)
		return len;
	bpfu_stub_init();
	err = write_slot(thunk, code, (size_t)len);
	point->site = (struct bpfu_site){ .at = (uint8_t *)point->at, .nop = point->insn,
					  .len = point->len };
	point->slot = thunk;
	point->by_jump = true;
	return err;
}

static bool is_long_nop(const struct bpfu_point *point)
{
	return bpfu_x86_is_nop(point->insn, point->len) && point->len >= BPFU_ENTRY_SIZE;
}

#endif

static int make_code(struct bpfu_point *point)
{
	uint8_t insn[BPFU_OUTLINE_INSN_MAX] = { 0 };
	size_t size = sizeof(insn);
	int len;

	/* What comes behind the last page of text need not be readable. */
	while (size && read_text(point->at, insn, size))
		size--;
	len = bpfu_outline_len(insn, size);
	if (len < 0)
		return len == -EINVAL ? -EILSEQ : len;
	if (has_breakpoint(point->at))
		return -EBUSY;
	memcpy(point->insn, insn, sizeof(insn));
	point->len = (uint8_t)len;
#if defined(__x86_64__)
	if (is_long_nop(point))
		return make_thunk(point);
#endif
	return make_slot(point);
}

/* True if the text is not that of the last time: the library has been unloaded, and another came. */
static bool is_stale(const struct bpfu_point *point)
{
	return !point->armed && memcmp(point->insn, (void *)point->at, point->len) != 0;
}

static int point_new(uintptr_t at, struct bpfu_point **out)
{
	struct bpfu_point *point = calloc(1, sizeof(*point));
	_Atomic(struct bpfu_point *) *bucket = &buckets[bucket_of(at)];
	int err;

	if (!point)
		return -ENOMEM;
	point->at = at;
	err = make_code(point);
	if (err) {
		free(point);
		return err;
	}
	point->next = *bucket;
	atomic_store_explicit(bucket, point, memory_order_release);
	*out = point;
	return 0;
}

int bpfu_point_get(uintptr_t at, struct bpfu_point **out)
{
	struct bpfu_point *point = bpfu_point_find(at);
	int err;

	if (point && point->armed) {
		*out = point;
		return 0;
	}
	err = check_address(at);
	if (err)
		return err;
	/* The newer one is found first. */
	if (!point || is_stale(point))
		return point_new(at, out);
	*out = point;
	return 0;
}

/* ---- arming ---- */

struct batch {
	struct bpfu_site **sites;
	struct bpfu_write *writes;
	size_t site_cnt, write_cnt;
};

static const bpfu_breakpoint breakpoint = BPFU_BREAKPOINT;

static void batch_add(struct batch *b, struct bpfu_point *point)
{
	bool on = point->cnt;

	if (point->by_jump) {
		point->site.dest = on ? point->slot : NULL;
		b->sites[b->site_cnt++] = &point->site;
	} else if (on || has_breakpoint(point->at)) { /* else the text has gone */
		b->writes[b->write_cnt++] = (struct bpfu_write){
			(void *)point->at, on ? (const void *)&breakpoint : point->insn,
			sizeof(bpfu_breakpoint),
		};
	}
}

/* What the text says, whatever was wanted. */
static bool is_changed(const struct bpfu_point *point)
{
	return point->by_jump ? memcmp((void *)point->at, point->insn, BPFU_ENTRY_SIZE) != 0 :
				has_breakpoint(point->at);
}

int bpfu_points_arm(struct bpfu_point *const *points, uint32_t cnt)
{
	struct batch b = {
		.sites = calloc(cnt + 1, sizeof(struct bpfu_site *)),
		.writes = calloc(cnt + 1, sizeof(struct bpfu_write)),
	};
	int err = b.sites && b.writes ? 0 : -ENOMEM;

	/* A breakpoint may be met as soon as it is written. */
	for (uint32_t i = 0; i < cnt && !err; i++) {
		if (!points[i] || points[i]->armed == !!points[i]->cnt)
			continue;
		batch_add(&b, points[i]);
		points[i]->armed = true;
		points[i]->arming_cnt++;
	}
	if (!err && b.site_cnt)
		err = bpfu_patch(b.sites, b.site_cnt);
	if (!err && b.write_cnt)
		err = bpfu_patch_write(b.writes, b.write_cnt);
	for (uint32_t i = 0; i < cnt; i++)
		if (points[i] && (err || !points[i]->cnt))
			points[i]->armed = is_changed(points[i]);
	free(b.sites);
	free(b.writes);
	return err;
}

/* ---- at run time ---- */

bool bpfu_point_is_trap(const struct bpfu_point *point, bool sync)
{
	bool armed, there;
	uint32_t arming_cnt;

	if (point->by_jump)
		return false;
	/* Both of one time: what is seen after a removal must not meet what was seen before it. */
	do {
		arming_cnt = point->arming_cnt;
		armed = point->armed;
		there = has_breakpoint(point->at);
	} while (arming_cnt != point->arming_cnt);
	/* Without breakpoint: it was removed since the thread met it. */
	return sync ? armed || !there : armed && there;
}

void bpfu_point_step(const struct bpfu_point *point, struct bpfu_regs *regs)
{
	if (point->slot)
		regs->word[BPFU_REG_PC] = bpfu_u64(point->slot);
#if defined(__aarch64__)
	else
		bpfu_a64_emulate(*(const uint32_t *)point->insn, regs->word);
#endif
}
