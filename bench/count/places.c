// SPDX-License-Identifier: BSD-2-Clause
#include "count/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int add_place(struct count_places *p, uint64_t addr, int64_t times, struct errline *e)
{
	if (p->nr == p->max) {
		size_t max = p->max ? 2 * p->max : 1024;
		struct count_place *grown = realloc(p->places, max * sizeof(*grown));

		if (!grown)
			return errline_set(e, -ENOMEM, "out of memory");
		p->places = grown;
		p->max = max;
	}
	p->places[p->nr++] = (struct count_place){ addr, times };
	return 0;
}

int count_places_add(struct count_places *p, const char *counts, size_t number, int sign, int64_t *sum,
		struct errline *e)
{
	bool inside = false;
	int err = 0;

	*sum = 0;
	for (const char *line = counts; *line && !err; line += strcspn(line, "\n"), line += *line == '\n') {
		uint64_t addr, times;
		size_t window;

		if (sscanf(line, "w %zu", &window) == 1) {
			inside = window == number;
		} else if (inside && sscanf(line, "p %" SCNx64 " %" SCNu64, &addr, &times) == 2) {
			*sum += (int64_t)times;
			err = add_place(p, addr, sign * (int64_t)times, e);
		}
	}
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct count_place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void count_places_sort(struct count_places *p)
{
	size_t nr = 0;

	if (!p->nr)
		return;
	qsort(p->places, p->nr, sizeof(*p->places), by_address);
	for (size_t i = 1; i < p->nr; i++) {
		if (p->places[i].addr == p->places[nr].addr)
			p->places[nr].times += p->places[i].times;
		else
			p->places[++nr] = p->places[i];
	}
	p->nr = nr + 1;
}

struct fraction count_places_at(const struct count_places *p, uint64_t addr)
{
	const struct count_place key = { .addr = addr };
	const struct count_place *found =
		p->nr ? bsearch(&key, p->places, p->nr, sizeof(key), by_address) : NULL;

	return fraction_make(found ? found->times : 0, p->events);
}

void count_places_release(struct count_places *p)
{
	free(p->places);
	memset(p, 0, sizeof(*p));
}

/*
 * The number of the smallest window of the measured program with @size, and its instructions: in a guest some have an
 * interrupt in them.
 */
static size_t find_window(const json_t *line, const char *size, int64_t *insns)
{
	json_t *windows = json_object_get(line, "windows"), *w;
	size_t i, found = 0;

	json_array_foreach(windows, i, w) {
		if (strcmp(json_string_value(json_object_get(w, "arm")), "full") ||
		    strcmp(json_string_value(json_object_get(w, "size")), size))
			continue;
		if (found && json_integer_value(json_object_get(w, "insns")) >= *insns)
			continue;
		*insns = json_integer_value(json_object_get(w, "insns"));
		found = i + 1;
	}
	return found;
}

/* Both windows of the first and only point of @t, and whether their places add up to them. */
static int take(struct count_places *p, const json_t *line, const char *counts, struct errline *e)
{
	int64_t ops = json_integer_value(json_object_get(line, "ops"));
	int64_t insns = 0, sum;
	int err = 0;

	p->events = (ops - ops / 8) * json_integer_value(json_object_get(line, "executed_per_op"));
	for (int k = 0; k < 2 && !err; k++) {
		size_t number = find_window(line, k ? "N/8" : "N", &insns);

		err = count_places_add(p, counts, number, k ? -1 : 1, &sum, e);
		if (!err && (!number || sum != insns))
			err = errline_set(e, -EPROTO, "the places of window %zu add up to %" PRId64
					  " instructions, not %" PRId64, number, sum, insns);
		p->insns += k ? -sum : sum;
	}
	count_places_sort(p);
	return err;
}

int count_places_measure(struct count_places *p, struct count_target *t, const char *bench,
		    const struct opts *opts, struct errline *e)
{
	struct emulated res;
	int err;

	memset(p, 0, sizeof(*p));
	err = count_profile_run(t, bench, opts, &res, e);
	if (!err && t->nr_points != 1)
		err = errline_set(e, -EINVAL, "'%s' names %zu benches; one is dumped at a time", bench,
				  t->nr_points);
	if (!err && t->points[0].failed.text[0]) {
		*e = t->points[0].failed;
		err = -EBADMSG;
	}
	if (!err)
		err = take(p, t->points[0].line, res.counts, e);
	emulated_release(&res);
	return err;
}
