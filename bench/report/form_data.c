// SPDX-License-Identifier: BSD-2-Clause
/* Stored results for other programs: JSON lines as they came, CSV, and Go's benchmark format. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/form.h"
#include "report/report_compare.h"
#include "util/json_line.h"

int form_json(FILE *f, const void *ctx)
{
	const struct form *form = ctx;
	int err = 0;

	for (size_t i = 0; i < form->list->nr && !err; i++)
		err = json_line_put(f, json_incref(form->list->items[i].json));
	return err;
}

static void put_number(FILE *f, double x)
{
	putc(',', f);
	if (isfinite(x))
		fprintf(f, "%.9g", x);
}

static void csv_row(FILE *f, const struct record *r)
{
	static const char *const kinds[] = { [RECORD_RESULT] = "result", [RECORD_COMPARE] = "compare",
					     [RECORD_NOISE] = "noise" };
	const json_t *effect = json_object_get(r->json, "effect");
	const json_t *of = json_is_object(effect) ? effect : r->json;
	struct interval ci = record_interval(r->json, "ci95"), change = record_interval(of, "ci");
	bool compare = r->kind == RECORD_COMPARE;

	fputs(kinds[r->kind], f);
	putc(',', f);
	report_csv_text(f, r->label);
	putc(',', f);
	report_csv_text(f, r->target);
	put_number(f, r->ns);
	put_number(f, compare ? NAN : ci.lo);
	put_number(f, compare ? NAN : ci.hi);
	put_number(f, record_number(json_object_get(r->json, "a"), "ns_per_event"));
	put_number(f, record_number(json_object_get(r->json, "b"), "ns_per_event"));
	put_number(f, compare ? record_number(of, "ratio") : NAN);
	put_number(f, compare ? change.lo : NAN);
	put_number(f, compare ? change.hi : NAN);
	fprintf(f, ",%s,", compare ? record_text(r->json, "verdict") : "");
	report_csv_text(f, record_text(r->json, "seed"));
	putc('\n', f);
}

int form_csv(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	fputs("kind,bench,target,ns_per_op,ci95_lo,ci95_hi,a_ns_per_op,b_ns_per_op,ratio,ratio_lo,ratio_hi,"
	      "verdict,seed\n", f);
	for (size_t i = 0; i < form->list->nr; i++)
		csv_row(f, &form->list->items[i]);
	return ferror(f) ? -EIO : 0;
}

/* -------------------------------------------------------------- Go's benchmark format */

/* A name is one word; the first letter after "Benchmark" must not be a lower case one. */
static void put_name(FILE *f, const char *name)
{
	bool first = true;

	fputs("Benchmark", f);
	for (; *name; name++, first = false) {
		unsigned char c = (unsigned char)*name;

		if (first && islower(c))
			c = (unsigned char)toupper(c);
		putc(c <= ' ' || c >= 0x7f ? '_' : c, f);
	}
}

static void put_value(FILE *f, const char *s)
{
	for (; *s; s++)
		putc((unsigned char)*s < ' ' ? ' ' : *s, f);
	putc('\n', f);
}

static void benchfmt_head(FILE *f, const struct record *r)
{
	const json_t *env = json_object_get(r->json, "env");
	const char *arch = record_text(env, "arch");

	if (!json_is_object(env))
		return;
	fputs("goos: linux\ngoarch: ", f);
	put_value(f, !strcmp(arch, "x86_64") ? "amd64" : !strcmp(arch, "aarch64") ? "arm64" : arch);
	fputs("pkg: bpflab\ncpu: ", f);
	put_value(f, record_text(env, "cpu"));
	fputs("kernel: ", f);
	put_value(f, record_text(env, "kernel"));
	fputs("seed: ", f);
	put_value(f, record_text(r->json, "seed"));
}

static int producers_of(const struct record *r)
{
	json_int_t n = json_integer_value(json_object_get(json_object_get(r->json, "params"),
							  "producers"));

	return n >= 1 && n <= 4096 ? (int)n : 1;
}

static void put_line(FILE *f, const struct record *r, const char *target, double events, double ns)
{
	put_name(f, r->label);
	fputs("/target=", f);
	for (; *target; target++)
		putc((unsigned char)*target <= ' ' || (unsigned char)*target >= 0x7f ? '_' : *target, f);
	/* what Go calls GOMAXPROCS, and what keeps a number at the end of a name from being taken for it */
	fprintf(f, "-%d\t%.0f\t%.9g ns/op\n", producers_of(r), events >= 1 ? events : 1, ns);
}

/* ns and operations of the batches of one round: [null program][small size] */
struct round {
	double ns[2][2], ops[2][2];
	double events; /* per operation, of the measured program */
	bool has[2][2];
};

static void take_sample(struct round *round, const json_t *sample)
{
	bool null = !strcmp(record_text(sample, "arm"), "null");
	bool small = !strcmp(record_text(sample, "size"), "N/8");
	double ops = record_number(sample, "ops");

	if (!strcmp(record_text(sample, "arm"), "trigger") ||
	    !strcmp(record_text(sample, "size"), "N/2") || !(ops > 0))
		return;
	round->ns[null][small] = record_number(sample, "ns");
	round->ops[null][small] = ops;
	round->has[null][small] = true;
	if (!null && !small)
		round->events = record_number(sample, "events") / ops;
}

static double slope(const struct round *round, bool null)
{
	return (round->ns[null][0] - round->ns[null][1]) / (round->ops[null][0] - round->ops[null][1]);
}

/* The net cost of an event in this round; false: the round is not complete. */
static bool round_net(const struct round *round, const struct record *r, double *ns, double *events)
{
	double per = record_number(json_object_get(r->json, "batch"), "events_per_op");

	if (isnan(per))
		per = round->events / producers_of(r);

	if (!round->has[0][0] || !round->has[0][1] || !round->has[1][0] || !round->has[1][1])
		return false;
	*ns = (slope(round, false) - slope(round, true)) / per;
	*events = round->ops[0][0] * round->events;
	return isfinite(*ns) && isfinite(*events);
}

static int by_round(const json_t *samples, const struct record *r, FILE *f)
{
	struct round round = { 0 };
	double number = NAN, ns, events;
	int lines = 0;

	for (size_t i = 0; i <= json_array_size(samples); i++) {
		const json_t *s = json_array_get(samples, i);

		/* batches of a round follow each other */
		if (i == json_array_size(samples) || record_number(s, "round") != number) {
			if (round_net(&round, r, &ns, &events)) {
				put_line(f, r, r->target, events, ns);
				lines++;
			}
			memset(&round, 0, sizeof(round));
			number = record_number(s, "round");
		}
		if (s)
			take_sample(&round, s);
	}
	return lines;
}

static const char *name_of_side(const json_t *side)
{
	const char *name = record_text(side, "name");

	return name[0] ? name : record_text(side, "target");
}

int form_benchfmt(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	for (size_t i = 0; i < form->list->nr; i++) {
		const struct record *r = &form->list->items[i];
		const json_t *a = json_object_get(r->json, "a"), *b = json_object_get(r->json, "b");

		if (r->kind == RECORD_NOISE)
			continue;
		benchfmt_head(f, r);
		if (r->kind == RECORD_COMPARE) {
			put_line(f, r, name_of_side(a), 1, record_number(a, "ns_per_event"));
			put_line(f, r, name_of_side(b), 1, record_number(b, "ns_per_event"));
		} else if (!by_round(json_object_get(r->json, "samples"), r, f) && !isnan(r->ns)) {
			put_line(f, r, r->target, 1, r->ns);
		}
	}
	return ferror(f) ? -EIO : 0;
}
