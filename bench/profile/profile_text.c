// SPDX-License-Identifier: BSD-2-Clause
/* A profile as a table, the difference of two, and as JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "report/report_json.h"
#include "result/record.h"
#include "util/json_line.h"

#define LEAST_SHARE 0.002 /* rows below it are added up */
#define NORMAL_95 1.959964

static void print_head(FILE *f, const struct profile *p)
{
	fprintf(f, "%s on %s%s: %.4g ns an event, with the trigger and what counts; %llu samples in %.1f s of CPU time\n",
		p->label, p->target, p->emulated ? ", EMULATED" : "", p->ns_per_event,
		(unsigned long long)p->samples, p->seconds);
	fprintf(f, "(%s%s)\n", p->sampler, p->lost ? "; some were lost" : "");
}

/* A value of another profile, or NAN. */
static double counter_of(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->nr_counters; i++)
		if (!strcmp(p->counters[i].name, name))
			return p->counters[i].value;
	return NAN;
}

/* Counters per event: of one profile, or with @b of two and the difference. */
static void print_counters(FILE *f, const struct profile *a, const struct profile *b)
{
	if (!a->nr_counters)
		return;
	fprintf(f, "\ncounted per event, in batches of their own%s:\n",
		a->no_pmu ? " (no PMU here: nothing of the processor's)" : "");
	for (size_t i = 0; i < a->nr_counters; i++) {
		const struct counter_value *c = &a->counters[i];
		double other = b ? counter_of(b, c->name) : NAN;

		fprintf(f, "%9.3f", c->value);
		if (!isnan(other))
			fprintf(f, "  %9.3f  %+9.3f", other, other - c->value);
		fprintf(f, "  %s%s", c->name, strcmp(c->name, "task-clock") ? "" : " (ns)");
		if (c->share < 0.995)
			fprintf(f, ", extrapolated from %.0f %% of the time", 100 * c->share);
		fputc('\n', f);
	}
}

void profile_print(FILE *f, const struct profile *p)
{
	uint64_t rest = 0;

	print_head(f, p);
	fprintf(f, "\n%8s  %-16s  %9s  %-10s  %s\n", "share", "95 % CI", "ns/event", "kind", "symbol");
	for (size_t i = 0; i < p->nr_rows; i++) {
		const struct profile_row *row = &p->rows[i];

		if (row->share < LEAST_SHARE) {
			rest += row->samples;
			continue;
		}
		fprintf(f, "%6.1f %%  [%5.1f, %5.1f] %%  %9.3f  %-10s  %s\n", 100 * row->share,
			100 * row->low, 100 * row->high, row->share * p->ns_per_event,
			code_kind_name(row->symbol.kind), row->symbol.name);
	}
	if (rest)
		fprintf(f, "%6.1f %%  %16s  %9.3f  %-10s  symbols below %.1f %% each\n",
			100 * (double)rest / (double)p->samples, "",
			(double)rest / (double)p->samples * p->ns_per_event, "", 100 * LEAST_SHARE);
	print_counters(f, p, NULL);
}

/* ---- differences ---- */

struct change {
	struct code_symbol symbol;
	double share[2];
	double ns[2];
	double half; /* of the interval of ns[1] - ns[0] */
};

static const struct profile_row *find_row(const struct profile *p, const struct code_symbol *symbol)
{
	for (size_t i = 0; i < p->nr_rows; i++)
		if (p->rows[i].symbol.kind == symbol->kind &&
		    !strcmp(p->rows[i].symbol.name, symbol->name))
			return &p->rows[i];
	return NULL;
}

/* The variance of a symbol's time: that of a share of so many samples. */
static double variance(const struct profile *p, double share)
{
	return p->ns_per_event * p->ns_per_event * share * (1 - share) / (double)p->samples;
}

static struct change change_of(const struct profile *a, const struct profile *b,
			       const struct code_symbol *symbol)
{
	const struct profile_row *rows[2] = { find_row(a, symbol), find_row(b, symbol) };
	const struct profile *p[2] = { a, b };
	struct change c = { .symbol = *symbol };
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		c.share[i] = rows[i] ? rows[i]->share : 0;
		c.ns[i] = c.share[i] * p[i]->ns_per_event;
		sum += variance(p[i], c.share[i]);
	}
	c.half = NORMAL_95 * sqrt(sum);
	return c;
}

static int by_change(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	double da = fabs(a->ns[1] - a->ns[0]), db = fabs(b->ns[1] - b->ns[0]);

	return da > db ? -1 : da < db;
}

static void print_change(FILE *f, const struct change *c)
{
	double diff = c->ns[1] - c->ns[0];

	fprintf(f, "%9.3f  %9.3f  %+9.3f  ± %7.3f %s  %-10s  %s\n", c->ns[0], c->ns[1], diff, c->half,
		fabs(diff) > c->half ? "*" : " ", code_kind_name(c->symbol.kind), c->symbol.name);
}

void profile_print_diff(FILE *f, const struct profile *a, const struct profile *b)
{
	struct change *changes = calloc(a->nr_rows + b->nr_rows + 1, sizeof(*changes));
	double total = b->ns_per_event - a->ns_per_event;
	size_t nr = 0;

	if (!changes)
		return;
	for (size_t i = 0; i < a->nr_rows; i++)
		changes[nr++] = change_of(a, b, &a->rows[i].symbol);
	for (size_t i = 0; i < b->nr_rows; i++)
		if (!find_row(a, &b->rows[i].symbol))
			changes[nr++] = change_of(a, b, &b->rows[i].symbol);
	qsort(changes, nr, sizeof(changes[0]), by_change);
	fprintf(f, "A: ");
	print_head(f, a);
	fprintf(f, "B: ");
	print_head(f, b);
	fprintf(f, "\nns an event; *: more than sampling explains (95 %%)\n%9s  %9s  %9s  %9s    %-10s  %s\n",
		"A", "B", "B - A", "", "kind", "symbol");
	for (size_t i = 0; i < nr; i++)
		if (fmax(changes[i].share[0], changes[i].share[1]) >= LEAST_SHARE)
			print_change(f, &changes[i]);
	fprintf(f, "%9.3f  %9.3f  %+9.3f  %9s    %-10s  all\n", a->ns_per_event, b->ns_per_event, total,
		"", "");
	print_counters(f, a, b);
	free(changes);
}

/* ---- JSON ---- */

int profile_json(FILE *f, const struct profile *p)
{
	json_t *rows = json_array(), *counters = json_object(), *o;

	for (size_t i = 0; i < p->nr_counters; i++)
		json_object_set_new(counters, p->counters[i].name,
				    json_pack("{s:o, s:f}", "per_event", number(p->counters[i].value),
					      "share", p->counters[i].share));

	for (size_t i = 0; i < p->nr_rows; i++) {
		const struct profile_row *row = &p->rows[i];

		json_array_append_new(rows, json_pack(
			"{s:s, s:s, s:I, s:f, s:[f,f], s:o}", "symbol", row->symbol.name, "kind",
			code_kind_name(row->symbol.kind), "samples", (json_int_t)row->samples, "share",
			row->share, "ci95", row->low, row->high, "ns_per_event",
			number(row->share * p->ns_per_event)));
	}
	o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:f, s:o, s:s, s:o, s:o, s:b}", "schema",
		      "bpflab.profile/1", "bench", p->point->inst.bench->name, "label", p->label, "target",
		      p->point->inst.target->spec, "variant",
		      report_json_variant(p->point->inst.target), "params",
		      report_json_params(&p->point->inst), "samples", (json_int_t)p->samples, "lost",
		      (json_int_t)p->lost, "events", (json_int_t)p->events, "seconds", p->seconds,
		      "ns_per_event", number(p->ns_per_event), "sampler", p->sampler, "rows", rows, "counters",
		      counters, "no_pmu", p->no_pmu);
	return json_line_put(f, o);
}

static bool read_row(struct profile_row *row, const json_t *o)
{
	const json_t *ci = json_object_get(o, "ci95");
	json_int_t samples = json_integer_value(json_object_get(o, "samples"));

	row->symbol.kind = code_kind_by_name(record_text(o, "kind"));
	snprintf(row->symbol.name, sizeof(row->symbol.name), "%s", record_text(o, "symbol"));
	record_clean(row->symbol.name);
	row->samples = samples > 0 ? (uint64_t)samples : 0;
	row->share = record_number(o, "share");
	row->low = json_number_value(json_array_get(ci, 0));
	row->high = json_number_value(json_array_get(ci, 1));
	return row->symbol.kind < CODE_KINDS && row->samples && isfinite(row->share);
}

/* Those that make no sense are left out. */
static void read_counters(struct profile *p, const json_t *counters)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)counters, name, value) {
		struct counter_value *c = &p->counters[p->nr_counters];

		if (p->nr_counters == COUNTERS_MAX)
			break;
		snprintf(c->name, sizeof(c->name), "%s", name);
		record_clean(c->name);
		c->value = record_number(value, "per_event");
		c->share = record_number(value, "share");
		p->nr_counters += isfinite(c->value) && c->share > 0 && c->share <= 1;
	}
}

static uint64_t whole(const json_t *o, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(o, key));

	return value > 0 ? (uint64_t)value : 0;
}

int profile_read(struct profile *p, const json_t *o, struct errline *e)
{
	const json_t *rows = json_object_get(o, "rows");

	memset(p, 0, sizeof(*p));
	snprintf(p->label, sizeof(p->label), "%s", record_text(o, "label"));
	snprintf(p->target, sizeof(p->target), "%s", record_text(o, "target"));
	snprintf(p->sampler, sizeof(p->sampler), "%s", record_text(o, "sampler"));
	record_clean(p->label);
	record_clean(p->sampler);
	p->emulated = json_is_true(json_object_get(o, "emulated"));
	p->no_pmu = json_is_true(json_object_get(o, "no_pmu"));
	read_counters(p, json_object_get(o, "counters"));
	p->samples = whole(o, "samples");
	p->lost = whole(o, "lost");
	p->events = whole(o, "events");
	p->seconds = record_number(o, "seconds");
	p->ns_per_event = record_number(o, "ns_per_event");
	p->rows = calloc(json_array_size(rows) + 1, sizeof(*p->rows));
	if (!p->rows)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (!read_row(&p->rows[p->nr_rows++], json_array_get(rows, i)))
			return errline_set(e, -EPROTO, "%s: row %zu of its profile makes no sense", p->target, i + 1);
	if (strcmp(record_text(o, "schema"), "bpflab.profile/1") || !p->label[0] || !p->samples)
		return errline_set(e, -EPROTO, "%s: a line of its results is no profile", p->target);
	return 0;
}
