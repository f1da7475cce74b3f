// SPDX-License-Identifier: BSD-2-Clause
#include "report/report_bisect.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "report/report_counts.h"
#include "report/table.h"
#include "util/json_line.h"

static const char *const state_names[] = {
	[BISECT_UNKNOWN] = "unknown", [BISECT_GOOD] = "good", [BISECT_BAD] = "bad", [BISECT_SKIPPED] = "skipped",
};

const char *bisect_state_name(enum bisect_state state)
{
	return state_names[state];
}

/* "~357" if boots differ. */
static const char *cost_text(const struct bisect_cost *c, char *buf, size_t size)
{
	char text[64];

	snprintf(buf, size, "%s%s", c->equal == c->runs ? "" : "~",
		 fraction_text(c->value, false, text, sizeof(text)));
	return buf;
}

static double percent(const struct bisect_cost *from, const struct bisect_cost *to)
{
	return 100 * (fraction_value(to->value) / fraction_value(from->value) - 1);
}

/* ---- the headline ---- */

static void print_between(FILE *f, const struct bisect *b)
{
	size_t first = b->last_good + 1;

	for (size_t i = first; i <= b->first_bad; i++)
		fprintf(f, "%s%s", i == first ? "" : i == b->first_bad ? " or " : ", ", b->points[i].name);
}

static void print_found(FILE *f, const struct bisect_report *r)
{
	const struct bisect *b = r->bisect;
	const struct bisect_point *good = &b->points[b->last_good], *bad = &b->points[b->first_bad];
	char from[80], to[80];
	double change = percent(&good->cost, &bad->cost);

	fprintf(f, "%s became %s in ", r->bench, b->rule.cheaper ? "cheaper" : "dearer");
	print_between(f, b);
	fprintf(f, ": %s -> %s instructions per event", cost_text(&good->cost, from, sizeof(from)),
		cost_text(&bad->cost, to, sizeof(to)));
	if (isfinite(change))
		fprintf(f, " (%+.2f %%)", change);
	fprintf(f, "; last good %s.\n", good->name);
	if (b->outcome == BISECT_NARROWED)
		fprintf(f, "Which one cannot be said, as %s could not be measured.\n",
			b->first_bad - b->last_good > 2 ? "those before the last" : b->points[b->first_bad - 1].name);
}

/* Another step lies between the first bad one and the end. */
static void print_rest(FILE *f, const struct bisect_report *r)
{
	const struct bisect *b = r->bisect;
	const struct bisect_point *bad = &b->points[b->first_bad], *end = &b->points[b->nr - 1];
	struct bisect_rule any = b->rule;
	char text[80];

	any.above = 0;
	if (bad == end)
		return;
	if (bisect_judge(&any, &bad->cost, &end->cost) == BISECT_BAD)
		fprintf(f, "%s has %s: it became %s once more; --good %s finds where.\n", end->name,
			cost_text(&end->cost, text, sizeof(text)), b->rule.cheaper ? "cheaper" : "dearer", bad->name);
}

static void print_not_found(FILE *f, const struct bisect_report *r)
{
	const struct bisect *b = r->bisect;
	const struct bisect_point *good = &b->points[0], *bad = &b->points[b->nr - 1];
	const char *word = b->rule.cheaper ? "cheaper" : "dearer", *other = b->rule.cheaper ? "dearer" : "cheaper";
	char from[80], to[80];

	cost_text(&good->cost, from, sizeof(from));
	cost_text(&bad->cost, to, sizeof(to));
	fprintf(f, "%s did not become %s between %s (good) and %s (bad): %s -> %s instructions per event", r->bench,
		word, good->name, bad->name, from, to);
	if (b->outcome == BISECT_OPPOSITE)
		fprintf(f, ", it became %s%s.\n", other, b->rule.cheaper ? "; leave out --cheaper" : "; add --cheaper");
	else if (fraction_equal(good->cost.value, bad->cost.value))
		fprintf(f, ".\n");
	else
		fprintf(f, ", which is within %s.\n", b->rule.above > 0 ? "--above" : "what boots of one kernel differ by");
}

/* ---- the table ---- */

/* What the command line said of the ends is not confirmed if they do not differ. */
static const char *verdict_of(const struct bisect *b, const struct bisect_point *pt)
{
	bool confirmed = b->outcome == BISECT_FOUND || b->outcome == BISECT_NARROWED;

	return confirmed ? state_names[pt->state] : pt->state == BISECT_GOOD ? "said good" : "said bad";
}

static int fill_table(struct table *t, const struct bisect *b)
{
	static const char *const titles[] = { "kernel", "verdict", "insns/event", "to good", "boots equal", NULL };
	unsigned int reasons = 0;
	int err = table_init(t, 2, titles);

	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct bisect_point *pt = &b->points[i];
		char(*row)[TABLE_CELL];
		double change;

		if (pt->state == BISECT_UNKNOWN)
			continue;
		row = table_row(t);
		if (!row)
			return -ENOMEM;
		snprintf(row[0], TABLE_CELL, "%s", pt->name);
		snprintf(row[1], TABLE_CELL, "%s", verdict_of(b, pt));
		if (pt->reason.text[0])
			snprintf(row[1], TABLE_CELL, "%s [%u]", state_names[pt->state], ++reasons);
		if (!pt->measured)
			continue;
		cost_text(&pt->cost, row[2], TABLE_CELL);
		change = percent(&b->points[0].cost, &pt->cost);
		if (isfinite(change) && i)
			snprintf(row[3], TABLE_CELL, "%+.2f %%", change);
		snprintf(row[4], TABLE_CELL, "%zu of %zu", pt->cost.equal, pt->cost.runs);
	}
	return err;
}

static void print_foot(FILE *f, const struct bisect_report *r)
{
	const struct bisect *b = r->bisect;
	unsigned int reasons = 0;
	size_t unknown = 0;
	char lo[64], hi[64];

	for (size_t i = 0; i < b->nr; i++) {
		const struct bisect_point *pt = &b->points[i];

		unknown += pt->state == BISECT_UNKNOWN;
		if (pt->reason.text[0])
			fprintf(f, "[%u] %s\n", ++reasons, pt->reason.text);
		if (pt->measured && pt->cost.equal < pt->cost.runs)
			fprintf(f, "~ %s: %s to %s\n", pt->name,
				fraction_text(pt->cost.lo, false, lo, sizeof(lo)),
				fraction_text(pt->cost.hi, false, hi, sizeof(hi)));
	}
	fprintf(f, "%zu of %zu kernels were looked at. Counted under %s %s (-cpu %s): emulated.\n", b->nr - unknown,
		b->nr, r->emulator->program, r->emulator->version, r->emulator->cpu);
}

void report_bisect_table(FILE *f, const struct bisect_report *r)
{
	const struct bisect *b = r->bisect;
	struct table t;

	if (b->outcome == BISECT_FOUND || b->outcome == BISECT_NARROWED) {
		print_found(f, r);
		print_rest(f, r);
	} else {
		print_not_found(f, r);
	}
	putc('\n', f);
	if (!fill_table(&t, b))
		table_print(f, &t);
	table_release(&t);
	if (r->quiet)
		return;
	putc('\n', f);
	print_foot(f, r);
}

/* ---- JSON ---- */

static json_t *point_json(const struct bisect_point *pt)
{
	json_t *o = json_pack("{s:s, s:s}", "kernel", pt->name, "verdict", state_names[pt->state]);

	if (pt->measured) {
		json_object_set_new(o, "estimate", json_real(fraction_value(pt->cost.value)));
		json_object_set_new(o, "fraction", report_counts_fraction(pt->cost.value));
		json_object_set_new(o, "least", report_counts_fraction(pt->cost.lo));
		json_object_set_new(o, "most", report_counts_fraction(pt->cost.hi));
		json_object_set_new(o, "runs", json_integer((json_int_t)pt->cost.runs));
		json_object_set_new(o, "runs_equal", json_integer((json_int_t)pt->cost.equal));
	}
	if (pt->reason.text[0])
		json_object_set_new(o, "reason", json_string(pt->reason.text));
	return o;
}

int report_bisect_json(FILE *f, const struct bisect_report *r)
{
	static const char *const outcomes[] = {
		[BISECT_FOUND] = "found", [BISECT_NARROWED] = "narrowed", [BISECT_SAME] = "same",
		[BISECT_OPPOSITE] = "opposite",
	};
	const struct bisect *b = r->bisect;
	json_t *points = json_array(), *o;

	for (size_t i = 0; i < b->nr; i++)
		json_array_append_new(points, point_json(&b->points[i]));
	o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:{s:s, s:s, s:s}, s:s, s:o}", "schema",
		      "bpflab.bisect/1", "bench", r->bench, "unit", "insns/event", "outcome", outcomes[b->outcome],
		      "direction", b->rule.cheaper ? "cheaper" : "dearer", "above", b->rule.above, "emulated", 1,
		      "emulator", "program", r->emulator->program, "version", r->emulator->version, "cpu",
		      r->emulator->cpu, "command", r->command, "kernels", points);
	if (o && (b->outcome == BISECT_FOUND || b->outcome == BISECT_NARROWED)) {
		json_object_set_new(o, "last_good", json_string(b->points[b->last_good].name));
		json_object_set_new(o, "first_bad", json_string(b->points[b->first_bad].name));
	}
	return json_line_put(f, o);
}
