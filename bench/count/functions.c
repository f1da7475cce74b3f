// SPDX-License-Identifier: BSD-2-Clause
#include "count/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count/counts.h"
#include "count/kernel_symbols.h"

#define USER_SPACE "(user space)"
#define NAMELESS "(without a name)"

/* ---- the plugin's notes: where the places of each window begin ---- */

struct window_places {
	const char **at; /* behind the line of the window */
	size_t nr;
};

static int find_windows(struct window_places *w, const char *counts, struct errline *e)
{
	size_t max = 0;

	memset(w, 0, sizeof(*w));
	for (const char *p = counts; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		if (*p != 'w')
			continue;
		if (w->nr == max) {
			const char **grown = realloc(w->at, (max = max ? 2 * max : 256) * sizeof(*grown));

			if (!grown)
				return errline_set(e, -ENOMEM, "out of memory");
			w->at = grown;
		}
		w->at[w->nr++] = p + strcspn(p, "\n");
	}
	return 0;
}

/* ---- adding up ---- */

static int add(struct count_functions *f, const char *name, int64_t times, struct errline *e)
{
	size_t i = 0;

	while (i < f->nr && strcmp(f->items[i].name, name))
		i++;
	if (i == f->max) {
		size_t max = f->max ? 2 * f->max : 64;
		struct count_function *grown = realloc(f->items, max * sizeof(*grown));

		if (!grown)
			return errline_set(e, -ENOMEM, "out of memory");
		f->items = grown;
		f->max = max;
	}
	if (i == f->nr) {
		f->items[i] = (struct count_function){ .name = strdup(name) };
		if (!f->items[i].name)
			return errline_set(e, -ENOMEM, "out of memory");
		f->nr++;
	}
	f->items[i].times += times;
	return 0;
}

static const char *name_of(const struct kernel_symbols *s, uint64_t addr)
{
	const char *name;

	/* the upper half of the addresses is the kernel's */
	if (!(addr >> 63))
		return USER_SPACE;
	name = kernel_symbols_find(s, addr);
	return name ? name : NAMELESS;
}

/* Adds the lines "p …" from @p on, @sign times. */
static int add_window(struct count_functions *f, const struct kernel_symbols *s, const char *p, int sign,
		      struct errline *e)
{
	uint64_t addr, times;
	int err = 0;

	while (!err && sscanf(p, "\np %" SCNx64 " %" SCNu64, &addr, &times) == 2) {
		err = add(f, name_of(s, addr), sign * (int64_t)times, e);
		p++;
		p += strcspn(p, "\n");
	}
	return err;
}

/* The number in the run of the smallest window of @arm and @size; -1 if there is none. */
static long smallest(const struct count_point *pt, const char *arm, const char *size)
{
	json_int_t least = 0;
	long found = -1;
	json_t *w;
	size_t i;

	json_array_foreach(json_object_get(pt->line, "windows"), i, w) {
		json_int_t insns = json_integer_value(json_object_get(w, "insns"));

		if (strcmp(json_string_value(json_object_get(w, "arm")), arm) ||
		    strcmp(json_string_value(json_object_get(w, "size")), size) ||
		    (found >= 0 && insns >= least))
			continue;
		least = insns;
		found = (long)(pt->first_window + i);
	}
	return found;
}

static int by_times(const void *a, const void *b)
{
	const struct count_function *x = a, *y = b;
	int64_t tx = llabs(x->times), ty = llabs(y->times);

	return tx != ty ? (tx < ty ? 1 : -1) : strcmp(x->name, y->name);
}

static int check_sum(const struct count_functions *f, const struct count_point *pt, struct errline *e)
{
	int64_t sum = 0;

	for (size_t i = 0; i < f->nr; i++)
		sum += f->items[i].times;
	if (fraction_equal(fraction_make(sum, f->events), pt->runs[0].net))
		return 0;
	return errline_set(e, -EPROTO, "%s: its functions add up to %" PRId64 " instructions in %" PRId64
			   " events, which is not the figure", pt->label, sum, f->events);
}

static void drop_zeros(struct count_functions *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nr; i++) {
		if (f->items[i].times)
			f->items[kept++] = f->items[i];
		else
			free(f->items[i].name);
	}
	f->nr = kept;
}

static int fill_point(struct count_point *pt, const struct kernel_symbols *s, const struct window_places *w,
		      struct errline *e)
{
	static const struct {
		const char *arm, *size;
		int sign;
	} parts[] = { { "full", "N", 1 }, { "full", "N/8", -1 }, { "null", "N", -1 }, { "null", "N/8", 1 } };
	struct count_functions *f = &pt->runs[0].functions;
	json_int_t ops = json_integer_value(json_object_get(pt->line, "ops"));
	int err = 0;

	f->events = (ops - ops / 8) * json_integer_value(json_object_get(pt->line, "events_per_op"));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !err; i++) {
		long window = smallest(pt, parts[i].arm, parts[i].size);

		if (window < 0 || (size_t)window >= w->nr)
			return errline_set(e, -EPROTO, "%s: no window of %s", pt->label, parts[i].size);
		err = add_window(f, s, w->at[window], parts[i].sign, e);
	}
	if (err)
		return err;
	drop_zeros(f);
	qsort(f->items, f->nr, sizeof(*f->items), by_times);
	return check_sum(f, pt, e);
}

int count_functions_fill(struct count_point *points, size_t nr, const char *counts, struct errline *e)
{
	const char *image = NULL;
	struct window_places w;
	int err = find_windows(&w, counts, e);

	for (size_t i = 0; i < nr && !err; i++) {
		const json_t *line = points[i].line;
		struct kernel_symbols s;

		if (json_is_string(json_object_get(line, "image_symbols")))
			image = json_string_value(json_object_get(line, "image_symbols"));
		if (!points[i].nr_runs)
			continue;
		err = kernel_symbols_parse(&s, image, json_string_value(json_object_get(line, "symbols")), e);
		if (!err)
			err = fill_point(&points[i], &s, &w, e);
		kernel_symbols_release(&s);
	}
	/* long, and of no more use */
	for (size_t i = 0; i < nr; i++) {
		json_object_del(points[i].line, "image_symbols");
		json_object_del(points[i].line, "symbols");
	}
	free(w.at);
	return err;
}

void count_functions_release(struct count_functions *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->items[i].name);
	free(f->items);
	memset(f, 0, sizeof(*f));
}

/* ---- two of them ---- */

static int by_difference(const void *a, const void *b)
{
	const struct count_function_pair *x = a, *y = b;
	double dx = fabs(x->b - x->a), dy = fabs(y->b - y->a);

	return dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->name, y->name);
}

struct count_function_pair *count_functions_pair(const struct count_functions *a,
						 const struct count_functions *b, size_t *nr)
{
	struct count_function_pair *pairs = calloc(a->nr + b->nr + 1, sizeof(*pairs));

	*nr = 0;
	if (!pairs)
		return NULL;
	for (size_t i = 0; i < a->nr; i++)
		pairs[(*nr)++] = (struct count_function_pair){
			a->items[i].name, (double)a->items[i].times / (double)a->events, 0 };
	for (size_t i = 0; i < b->nr; i++) {
		double insns = (double)b->items[i].times / (double)b->events;
		size_t k = 0;

		while (k < a->nr && strcmp(pairs[k].name, b->items[i].name))
			k++;
		if (k < a->nr)
			pairs[k].b = insns;
		else
			pairs[(*nr)++] = (struct count_function_pair){ b->items[i].name, 0, insns };
	}
	qsort(pairs, *nr, sizeof(*pairs), by_difference);
	return pairs;
}
