// SPDX-License-Identifier: BSD-2-Clause
/* The table of traceable functions. Look-ups take a lock: they happen when something is attached. */
#include "btf/func.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btf/percpu_var.h"
#include "btf/vmlinux.h"
#include "util/bits.h"
#include "util/log.h"

#define BUCKETS 4096u
#define KFUNCS_MAX 64u

/* The linker's: the section of BPFU_TRACEABLE(). Weak: there may be none. */
typedef const struct bpfu_traceable *traceable_row;
extern const traceable_row __start_bpfu_traceable[] __attribute__((weak, visibility("hidden")));
extern const traceable_row __stop_bpfu_traceable[] __attribute__((weak, visibility("hidden")));

/* Guards all below, and adding to the BTF. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bpfu_func **rows;
static uint32_t row_cnt, row_cap;
static struct bpfu_func *by_name[BUCKETS], *by_id[BUCKETS], *by_addr[BUCKETS];
static struct bpfu_func *events; /* by next_name */
static _Atomic(struct bpfu_func *) kfuncs[KFUNCS_MAX]; /* read without the lock */
static uint32_t kfunc_cnt;
static bool builtin_done;

static uint32_t name_bucket(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h % BUCKETS;
}

/* Functions are aligned to 16 as a rule. */
static struct bpfu_func **addr_bucket(const void *addr)
{
	return &by_addr[((uintptr_t)addr >> 4) % BUCKETS];
}

static struct bpfu_func *find_name(const char *name)
{
	struct bpfu_func *f = by_name[name_bucket(name)];

	while (f && (f->gone || strcmp(f->decl.name, name)))
		f = f->next_name;
	return f;
}

static int describe(struct bpfu_func *f, const char *text)
{
	int err;

	if (!strchr(text, '(')) { /* a name alone */
		if (!text[0] || strlen(text) >= sizeof(f->decl.name) || strpbrk(text, " \t*,;)"))
			return -EINVAL;
		memcpy(f->decl.name, text, strlen(text) + 1);
		return 0;
	}
	err = bpfu_decl_parse(text, &f->decl);
	if (err)
		return err;
	err = bpfu_vmlinux_add_func(f->decl.name, f->decl.proto_id);
	if (err < 0)
		return err;
	f->btf_id = err;
	return 0;
}

static struct bpfu_func *find_event(const char *name)
{
	struct bpfu_func *f = events;

	while (f && strcmp(f->decl.name, name))
		f = f->next_name;
	return f;
}

/* The types of "void name(args)" as the kernel's BTF has them. */
static int describe_event(struct bpfu_func *f, const char *text)
{
	char typedef_name[BPFU_FUNC_NAME_MAX + 16], args[1024];
	struct bpfu_decl decl;
	int err = bpfu_decl_parse(text, &f->decl);

	if (err)
		return err;
	if (f->decl.ret.size || !f->decl.arg_cnt || f->decl.arg_cnt == BPFU_FUNC_ARGS_MAX)
		return -EINVAL;
	if (find_event(f->decl.name))
		return -EEXIST;
	if (snprintf(args, sizeof(args), "void f(void *__data, %s", strchr(text, '(') + 1) >=
	    (int)sizeof(args))
		return -EINVAL;
	err = bpfu_decl_parse(args, &decl);
	if (!err)
		err = bpfu_vmlinux_add_ref(BTF_KIND_PTR, decl.proto_id);
	if (err < 0)
		return err;
	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", f->decl.name);
	err = bpfu_vmlinux_add_typedef(typedef_name, (uint32_t)err);
	if (err < 0)
		return err;
	f->btf_id = (uint32_t)err;
	return 0;
}

static void add_id(struct bpfu_func *f)
{
	f->next_id = by_id[f->btf_id % BUCKETS];
	by_id[f->btf_id % BUCKETS] = f;
}

static int add_row(struct bpfu_func *f)
{
	uint32_t bucket = name_bucket(f->decl.name);

	if (row_cnt == row_cap) {
		uint32_t cap = row_cap ? 2 * row_cap : 64;
		struct bpfu_func **p = realloc(rows, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		rows = p;
		row_cap = cap;
	}
	rows[row_cnt++] = f;
	if (f->btf_id)
		add_id(f);
	if (f->flags & BPFU_FUNC_EVENT) {
		f->next_name = events;
		events = f;
		return 0;
	}
	f->next_name = by_name[bucket];
	by_name[bucket] = f;
	f->next_addr = *addr_bucket(f->addr);
	*addr_bucket(f->addr) = f;
	if (f->flags & BPFU_FUNC_KFUNC && kfunc_cnt < KFUNCS_MAX) {
		f->kfunc_idx = kfunc_cnt;
		atomic_store(&kfuncs[kfunc_cnt++], f);
	}
	return 0;
}

static int add(void *addr, const char *text, uint32_t flags)
{
	struct bpfu_func *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->addr = addr;
	f->flags = flags;
	if (flags & BPFU_FUNC_EVENT) {
		err = describe_event(f, text);
	} else {
		err = describe(f, text);
		if (!err && find_name(f->decl.name))
			err = -EEXIST;
	}
	if (!err)
		err = add_row(f);
	if (err)
		free(f);
	return err;
}

/* With the lock held; everything below begins with it. */
static void add_builtin(void)
{
	const traceable_row *row = __start_bpfu_traceable;

	if (builtin_done)
		return;
	builtin_done = true;
	if (bpfu_percpu_vars_add())
		bpfu_warn("no room for the per-CPU variables in libbpfu's BTF");
	for (; row && row < __stop_bpfu_traceable; row++) {
		int err = add((*row)->addr, (*row)->decl, (*row)->flags);

		if (err)
			bpfu_warn("function '%s': not traceable: %s", (*row)->decl, strerror(-err));
	}
}

static void enter(void)
{
	pthread_mutex_lock(&lock);
	add_builtin();
}

static void leave(void)
{
	pthread_mutex_unlock(&lock);
}

int bpfu_func_register(void *addr, const char *decl, unsigned int flags)
{
	int err;

	if (!addr || !decl || (flags & ~BPFU_FUNC_MODIFY_RETURN))
		return -EINVAL;
	enter();
	err = add(addr, decl, flags);
	leave();
	return err;
}

int bpfu_event_register(void *tp, const char *decl)
{
	int err;

	enter();
	err = add(tp, decl, BPFU_FUNC_EVENT);
	leave();
	return err;
}

struct bpfu_func *bpfu_event_by_name(const char *name)
{
	struct bpfu_func *f;

	enter();
	f = find_event(name);
	leave();
	return f;
}

static const struct bpfu_func *kfunc_at(uint32_t idx)
{
	return idx < KFUNCS_MAX ? atomic_load(&kfuncs[idx]) : NULL;
}

void *bpfu_kfunc_addr(uint32_t idx)
{
	return kfunc_at(idx) ? kfunc_at(idx)->addr : NULL;
}

const char *bpfu_kfunc_name(uint32_t idx)
{
	return kfunc_at(idx) ? kfunc_at(idx)->decl.name : "unknown";
}

struct bpfu_func *bpfu_func_by_name(const char *name)
{
	struct bpfu_func *f;

	enter();
	f = find_name(name);
	leave();
	return f;
}

struct bpfu_func *bpfu_func_by_id(uint32_t btf_id)
{
	struct bpfu_func *f;

	enter();
	f = by_id[btf_id % BUCKETS];
	while (f && (f->btf_id != btf_id || f->gone))
		f = f->next_id;
	leave();
	return f;
}

struct bpfu_func *bpfu_func_by_addr(const void *addr)
{
	struct bpfu_func *f;

	enter();
	f = *addr_bucket(addr);
	while (f && (f->addr != addr || f->gone))
		f = f->next_addr;
	leave();
	return f;
}

struct bpfu_func *bpfu_func_at(uint32_t idx)
{
	struct bpfu_func *f;

	enter();
	f = idx < row_cnt ? rows[idx] : NULL;
	leave();
	return f;
}

int bpfu_func_btf(void **data, uint32_t *size)
{
	int err;

	enter();
	err = bpfu_vmlinux_blob(data, size);
	leave();
	return err;
}

/* Edits that turn @a into @b, at most @max (then @max + 1). */
static uint32_t distance(const char *a, const char *b, uint32_t max)
{
	uint32_t row[BPFU_FUNC_NAME_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > BPFU_FUNC_NAME_MAX || lb > BPFU_FUNC_NAME_MAX)
		return max + 1;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		uint32_t diag = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			uint32_t up = row[j];
			uint32_t best = BPFU_MIN(up, row[j - 1]) + 1;

			row[j] = BPFU_MIN(best, diag + (a[i - 1] != b[j - 1]));
			diag = up;
		}
	}
	return row[lb];
}

const char *bpfu_func_near(const char *name)
{
	uint32_t best = strlen(name) / 3 + 1;
	const char *found = NULL;

	enter();
	for (uint32_t i = 0; i < row_cnt; i++) {
		uint32_t d = rows[i]->gone || rows[i]->flags & BPFU_FUNC_EVENT ? best :
			      distance(name, rows[i]->decl.name, best);

		if (d < best) {
			best = d;
			found = rows[i]->decl.name;
		}
	}
	leave();
	return found;
}
