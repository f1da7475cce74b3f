// SPDX-License-Identifier: BSD-2-Clause
/* Windows as bpflab ran them, and as the plugin counted them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "count/counts.h"
#include "count/windows.h"

struct noted {
	uint64_t *insns; /* of each window */
	size_t nr, max;
	uint64_t total;
	bool complete;
};

/* ---- the plugin's lines ---- */

static int add_window(struct noted *n, const char *line, struct errline *e)
{
	uint64_t number, insns;
	unsigned int vcpus;

	if (sscanf(line, "w %" SCNu64 " %" SCNu64 " %u", &number, &insns, &vcpus) != 3 ||
	    number != n->nr + 1)
		return errline_set(e, -EPROTO, "the plugin's notes make no sense: '%.60s'", line);
	if (vcpus != 1)
		return errline_set(e, -EPROTO, "%u processors or threads existed while window %" PRIu64
				   " was counted: their instructions would be in the figure", vcpus,
				   number);
	if (n->nr == n->max) {
		size_t max = n->max ? 2 * n->max : 256;
		uint64_t *grown = realloc(n->insns, max * sizeof(*grown));

		if (!grown)
			return errline_set(e, -ENOMEM, "out of memory");
		n->insns = grown;
		n->max = max;
	}
	n->insns[n->nr++] = insns;
	return 0;
}

static int read_noted(struct noted *n, const char *counts, struct errline *e)
{
	int err = 0;

	for (const char *p = counts; *p && !err; p += strcspn(p, "\n"), p += *p == '\n') {
		if (*p == 'w')
			err = add_window(n, p, e);
		else if (*p == 'e')
			err = errline_set(e, -EPROTO, "the plugin cannot count: %.*s",
					  (int)strcspn(p + 2, "\n"), p + 2);
		else if (*p == 'q')
			n->complete = sscanf(p, "q %" SCNu64, &n->total) == 1;
	}
	if (!err && (!n->complete || n->total != n->nr))
		return errline_set(e, -EPROTO, "the plugin's notes are not complete: %zu windows, and %s",
				   n->nr, n->complete ? "another number at the end" : "no end");
	return err;
}

/* ---- figures ---- */

struct window_insns {
	uint64_t full[3], null[3], trigger; /* [enum batch_size] */
	uint64_t triggers;
	bool any;
};

static size_t size_index(const char *size)
{
	return !strcmp(size, "N/8") ? SIZE_EIGHTH : !strcmp(size, "N/2") ? SIZE_HALF : SIZE_N;
}

static void least(uint64_t *value, uint64_t insns)
{
	if (!*value || insns < *value)
		*value = insns;
}

/*
 * The least of each kind over the rounds: in a guest with a clock some windows have its interrupts in
 * them, which only add.
 */
static void collect(const json_t *windows, struct window_insns *w)
{
	size_t i;
	json_t *o;

	memset(w, 0, sizeof(*w));
	json_array_foreach(windows, i, o) {
		const char *arm = json_string_value(json_object_get(o, "arm"));
		const char *size = json_string_value(json_object_get(o, "size"));
		uint64_t insns = (uint64_t)json_integer_value(json_object_get(o, "insns"));
		size_t k = size_index(size);

		w->any = true;
		if (!strcmp(arm, "trigger")) {
			least(&w->trigger, insns);
			w->triggers = (uint64_t)json_integer_value(json_object_get(o, "ops"));
		} else {
			least(!strcmp(arm, "full") ? &w->full[k] : &w->null[k], insns);
		}
	}
}

static void figures_of(const json_t *line, struct count_figures *f)
{
	int64_t ops = json_integer_value(json_object_get(line, "ops"));
	int64_t per_op = json_integer_value(json_object_get(line, "events_per_op"));
	int64_t events = (ops - ops / 8) * per_op;
	struct fraction upper, lower;
	struct window_insns w;

	collect(json_object_get(line, "windows"), &w);
	f->gross = fraction_make((int64_t)(w.full[SIZE_N] - w.full[SIZE_EIGHTH]), events);
	f->null = fraction_make((int64_t)(w.null[SIZE_N] - w.null[SIZE_EIGHTH]), events);
	f->net = fraction_sub(f->gross, f->null);
	upper = fraction_make((int64_t)(w.full[SIZE_N] - w.full[SIZE_HALF]), ops - ops / 2);
	lower = fraction_make((int64_t)(w.full[SIZE_HALF] - w.full[SIZE_EIGHTH]), ops / 2 - ops / 8);
	f->linear = fraction_equal(upper, lower);
	f->trigger = fraction_make((int64_t)w.trigger, (int64_t)w.triggers);
}

/* ---- the lines of bpflab ---- */

static bool is_text(const json_t *o, const char *key)
{
	return json_is_string(json_object_get(o, key));
}

static bool is_point(const json_t *o)
{
	json_t *windows = json_object_get(o, "windows"), *w;
	size_t i;

	if (!is_text(o, "bench") || !is_text(o, "label") || !json_is_integer(json_object_get(o, "ops")) ||
	    !json_is_integer(json_object_get(o, "events_per_op")) || !json_is_array(windows))
		return false;
	json_array_foreach(windows, i, w)
		if (!is_text(w, "arm") || !is_text(w, "size") ||
		    !json_is_integer(json_object_get(w, "ops")))
			return false;
	return true;
}

/* Takes over @o. */
static int add_point(struct count_point **points, size_t *nr, json_t *o, const struct noted *n,
		     size_t *used, struct errline *e)
{
	struct count_point *grown = realloc(*points, (*nr + 1) * sizeof(*grown)), *pt;
	json_t *w;
	size_t i;

	if (!grown) {
		json_decref(o);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	*points = grown;
	pt = &grown[(*nr)++];
	memset(pt, 0, sizeof(*pt));
	pt->line = o;
	pt->bench = json_string_value(json_object_get(o, "bench"));
	pt->label = json_string_value(json_object_get(o, "label"));
	pt->first_window = *used;
	json_array_foreach(json_object_get(o, "windows"), i, w) {
		if (*used == n->nr)
			return errline_set(e, -EPROTO, "bpflab ran more windows than the plugin saw (%zu)",
					   n->nr);
		json_object_set_new(w, "insns", json_integer((json_int_t)n->insns[(*used)++]));
	}
	if (is_text(o, "failed")) {
		snprintf(pt->failed.text, sizeof(pt->failed.text), "%s",
			 json_string_value(json_object_get(o, "failed")));
		pt->unavailable = json_is_true(json_object_get(o, "unavailable"));
		return 0;
	}
	pt->runs = calloc(1, sizeof(*pt->runs));
	if (!pt->runs)
		return errline_set(e, -ENOMEM, "out of memory");
	pt->nr_runs = 1;
	figures_of(o, pt->runs);
	return 0;
}

static int read_points(const char *out, const struct noted *n, struct count_point **points,
		       size_t *nr, struct errline *e)
{
	size_t used = 0, len;
	json_int_t total = -1;
	int err = 0;

	for (const char *p = out; *p && !err; p += len + (p[len] == '\n')) {
		json_t *o;

		len = strcspn(p, "\n");
		o = json_loadb(p, len, 0, NULL);
		if (json_is_integer(json_object_get(o, "total")))
			total = json_integer_value(json_object_get(o, "total"));
		else if (is_point(o))
			err = add_point(points, nr, json_incref(o), n, &used, e);
		else
			err = errline_set(e, -EPROTO, "no line about windows: '%.60s'", p);
		json_decref(o);
	}
	if (err || (total == (json_int_t)n->nr && used == n->nr))
		return err;
	return errline_set(e, -EPROTO, "bpflab ran %lld windows, the plugin saw %zu", (long long)total,
			   n->nr);
}

int counts_join(const char *out, const char *counts, struct count_point **points, size_t *nr,
		struct errline *e)
{
	struct noted n = { 0 };
	int err = read_noted(&n, counts, e);

	*points = NULL;
	*nr = 0;
	if (!err)
		err = read_points(out, &n, points, nr, e);
	free(n.insns);
	if (err) {
		count_points_free(*points, *nr);
		*points = NULL;
		*nr = 0;
	}
	return err;
}

void count_points_free(struct count_point *points, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		json_decref(points[i].line);
		for (size_t r = 0; r < points[i].nr_runs; r++)
			count_functions_release(&points[i].runs[r].functions);
		free(points[i].runs);
	}
	free(points);
}
