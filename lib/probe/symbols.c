// SPDX-License-Identifier: BSD-2-Clause
/* Lists of the functions that begin with a nop; see symbols.h. */
#include "probe/symbols.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "btf/func.h"
#include "probe/patch.h"
#include "probe/perf_event.h"
#include "util/bits.h"

struct text {
	char *buf;
	uint32_t len, cap;
	int err;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	const uint32_t line_max = BPFU_FUNC_NAME_MAX + 64;
	va_list ap;

	if (t->cap - t->len < line_max) {
		uint32_t cap = 2 * t->cap + line_max;
		char *buf = t->err ? NULL : realloc(t->buf, cap);

		if (!buf) {
			t->err = -ENOMEM;
			return;
		}
		t->buf = buf;
		t->cap = cap;
	}
	va_start(ap, fmt);
	t->len += (uint32_t)vsnprintf(t->buf + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
}

static int finish(struct text *t, void **text, uint32_t *size)
{
	if (t->err) {
		free(t->buf);
		return t->err;
	}
	*text = t->buf;
	*size = t->len;
	return 0;
}

/* The next function from row *@idx on that can be probed. */
static const struct bpfu_func *next_func(uint32_t *idx)
{
	struct bpfu_func *func;

	while ((func = bpfu_func_at((*idx)++))) {
		struct bpfu_site site;

		/* What is patched now was patchable. */
		if (!func->gone && !(func->flags & BPFU_FUNC_EVENT) &&
		    (atomic_load(&func->hook) || !bpfu_site_find(func->addr, &site)))
			return func;
	}
	return NULL;
}

enum form { KALLSYMS, FILTER, FILTER_ADDRS };

static int list(enum form form, void **text, uint32_t *size)
{
	const struct bpfu_func *func;
	struct text t = { 0 };
	uint32_t idx = 0;

	while ((func = next_func(&idx))) {
		unsigned long long addr = bpfu_u64(func->addr);

		if (form == KALLSYMS)
			add(&t, "%016llx T %s\n", addr, func->decl.name);
		else if (form == FILTER_ADDRS)
			add(&t, "%016llx %s\n", addr, func->decl.name);
		else
			add(&t, "%s\n", func->decl.name);
	}
	return finish(&t, text, size);
}

int bpfu_symbols_kallsyms(void **text, uint32_t *size)
{
	return list(KALLSYMS, text, size);
}

int bpfu_symbols_filter(void **text, uint32_t *size)
{
	return list(FILTER, text, size);
}

int bpfu_symbols_filter_addrs(void **text, uint32_t *size)
{
	return list(FILTER_ADDRS, text, size);
}

int bpfu_symbols_perf_type(void **text, uint32_t *size)
{
	struct text t = { 0 };

	add(&t, "%d\n", BPFU_PERF_TYPE_KPROBE);
	return finish(&t, text, size);
}

int bpfu_symbols_uprobe_type(void **text, uint32_t *size)
{
	struct text t = { 0 };

	add(&t, "%d\n", BPFU_PERF_TYPE_UPROBE);
	return finish(&t, text, size);
}

int bpfu_symbols_ref_ctr(void **text, uint32_t *size)
{
	struct text t = { 0 };

	add(&t, "config:32-63\n");
	return finish(&t, text, size);
}

int bpfu_symbols_perf_retprobe(void **text, uint32_t *size)
{
	struct text t = { 0 };

	add(&t, "config:0\n");
	return finish(&t, text, size);
}
