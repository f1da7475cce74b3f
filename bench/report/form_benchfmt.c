// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stored results in Go's benchmark format, for benchstat: a line for each round of a bench and each quad
 * and arm of a comparison, net of what was subtracted.
 *
 *      goos: linux                       keys of the file; benchstat compares what has the same
 *      …
 *      # seed: 0x…                       which differs from run to run, and so is none
 *      BenchmarkArr-inc/target=user:jit=on-1	51200	0.345 ns/op
 *
 * In a name, "/" begins a key and "-1" at the end is the number of producers (Go's GOMAXPROCS).
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/form.h"
#include "report/report_compare.h"

/* ---- head ---- */

static void put_key(FILE *f, const char *key, const char *value)
{
	fprintf(f, "%s: ", key);
	for (; *value; value++)
		putc((unsigned char)*value < ' ' ? ' ' : *value, f);
	putc('\n', f);
}

/* Without environment the keys are empty: what a file says holds for all lines that follow. */
static void put_head(FILE *f, const struct record *r)
{
	const json_t *env = json_object_get(r->json, "env");
	const char *arch = record_text(env, "arch");

	fputs("goos: linux\n", f);
	put_key(f, "goarch",
		!strcmp(arch, "x86_64") ? "amd64" : !strcmp(arch, "aarch64") ? "arm64" : arch);
	fputs("pkg: bpflab\n", f);
	put_key(f, "cpu", record_text(env, "cpu"));
	put_key(f, "kernel", record_text(env, "kernel"));
	put_key(f, "# seed", record_text(r->json, "seed"));
}

/* ---- a line ---- */

static int producers_of(const struct record *r)
{
	json_int_t n = json_integer_value(json_object_get(json_object_get(r->json, "params"),
							  "producers"));

	return n >= 1 && n <= 4096 ? (int)n : 1;
}

static void put_word(FILE *f, const char *s, size_t len, bool slash)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		putc(c <= ' ' || c >= 0x7f || (c == '/' && !slash) ? '_' : c, f);
	}
}

/* The first letter after "Benchmark" must not be a lower case one. Producers have their own place. */
static void put_name(FILE *f, const char *name)
{
	const char *producers = strstr(name, "/producers=");
	size_t before = producers ? (size_t)(producers - name) : strlen(name);

	fputs("Benchmark", f);
	if (*name && before) {
		putc(toupper((unsigned char)*name) > ' ' && (unsigned char)*name < 0x7f ?
			     toupper((unsigned char)*name) : '_', f);
		put_word(f, name + 1, before - 1, true);
	}
	if (producers) {
		producers += strlen("/producers=");
		producers += strspn(producers, "0123456789");
		put_word(f, producers, strlen(producers), true);
	}
}

struct line {
	const char *target, *arm; /* arm: what else tells the two sides of a comparison apart, or NULL */
	double events, ns;
};

static void put_line(FILE *f, const struct record *r, const struct line *line)
{
	if (!isfinite(line->ns)) /* a program that takes NaN for a number may not come to an end */
		return;
	put_name(f, r->label);
	fputs("/target=", f);
	put_word(f, line->target, strlen(line->target), false);
	if (line->arm)
		fprintf(f, "/arm=%s", line->arm);
	/* It also keeps a number at the end of a name from being taken for it. */
	fprintf(f, "-%d\t%.0f\t%.9g ns/op\n", producers_of(r), line->events >= 1 ? line->events : 1,
		line->ns);
}

/* ---- results: rounds ---- */

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
static bool round_net(const struct round *round, const struct record *r, struct line *line)
{
	double per = record_number(json_object_get(r->json, "batch"), "events_per_op");

	if (isnan(per))
		per = round->events / producers_of(r);
	if (!round->has[0][0] || !round->has[0][1] || !round->has[1][0] || !round->has[1][1])
		return false;
	line->ns = (slope(round, false) - slope(round, true)) / per;
	line->events = round->ops[0][0] * round->events;
	return isfinite(line->ns) && isfinite(line->events);
}

static int by_round(const json_t *samples, const struct record *r, FILE *f)
{
	struct line line = { .target = r->target };
	struct round round = { 0 };
	double number = NAN;
	int lines = 0;

	for (size_t i = 0; i <= json_array_size(samples); i++) {
		const json_t *s = json_array_get(samples, i);

		/* batches of a round follow each other */
		if (i == json_array_size(samples) || record_number(s, "round") != number) {
			if (round_net(&round, r, &line)) {
				put_line(f, r, &line);
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

/* ---- comparisons: quads ---- */

enum { SIDES = 2 };

struct sides {
	double ns[SIDES][2]; /* [] [null program] */
	double events[SIDES];
	bool disturbed;
};

static void take_batch(struct sides *sides, const json_t *batch)
{
	const char *arm = record_text(batch, "arm");
	bool null = json_is_true(json_object_get(batch, "null"));
	int side = arm[0] == 'B';

	if (strcmp(arm, "A") && strcmp(arm, "B"))
		return;
	sides->ns[side][null] += record_number(batch, "ns");
	if (!null)
		sides->events[side] += record_number(batch, "events");
	sides->disturbed |= record_number(batch, "nivcsw") > 0 ||
			   json_is_true(json_object_get(batch, "migrated"));
}

static int put_quad(FILE *f, const struct record *r, const struct sides *sides, struct line lines[SIDES],
		    bool all)
{
	bool net = !strcmp(record_text(r->json, "basis"), "net");

	if ((sides->disturbed && !all) || !(sides->events[0] > 0) || !(sides->events[1] > 0))
		return 0;
	for (int side = 0; side < SIDES; side++) {
		lines[side].events = sides->events[side];
		lines[side].ns = (sides->ns[side][0] - (net ? sides->ns[side][1] : 0)) /
				 sides->events[side];
		put_line(f, r, &lines[side]);
	}
	return 1;
}

/* How many quads have become lines; those that something interrupted only with @all. */
static int by_quad(FILE *f, const struct record *r, struct line lines[SIDES], bool all)
{
	const json_t *samples = json_object_get(r->json, "samples");
	struct sides of_quad = { 0 };
	double number = NAN;
	int cnt = 0;

	for (size_t i = 0; i <= json_array_size(samples); i++) {
		const json_t *s = json_array_get(samples, i);

		if (i == json_array_size(samples) || record_number(s, "quad") != number) {
			cnt += put_quad(f, r, &of_quad, lines, all);
			memset(&of_quad, 0, sizeof(of_quad));
			number = record_number(s, "quad");
		}
		if (s)
			take_batch(&of_quad, s);
	}
	return cnt;
}

static void put_comparison(FILE *f, const struct record *r)
{
	static const char *const sides[SIDES] = { "a", "b" }, *const arms[SIDES] = { "A", "B" };
	struct line lines[SIDES];
	char targets[SIDES][256];

	for (int side = 0; side < SIDES; side++) {
		const json_t *o = json_object_get(r->json, sides[side]);

		record_target(o, targets[side], sizeof(targets[side]));
		lines[side] = (struct line){ .target = targets[side],
					     .ns = record_number(o, "ns_per_event") };
	}
	for (int side = 0; side < SIDES && !strcmp(targets[0], targets[1]); side++)
		lines[side].arm = arms[side];
	if (by_quad(f, r, lines, false) || by_quad(f, r, lines, true))
		return;
	for (int side = 0; side < SIDES; side++)
		put_line(f, r, &lines[side]);
}

int form_benchfmt(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	for (size_t i = 0; i < form->list->nr; i++) {
		const struct record *r = &form->list->items[i];

		if (r->kind == RECORD_NOISE)
			continue;
		put_head(f, r);
		if (r->kind == RECORD_COMPARE)
			put_comparison(f, r);
		else if (!by_round(json_object_get(r->json, "samples"), r, f))
			put_line(f, r, &(struct line){ .target = r->target, .ns = r->ns });
	}
	return ferror(f) ? -EIO : 0;
}
