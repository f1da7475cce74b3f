// SPDX-License-Identifier: BSD-2-Clause
/*
 * Figures from texts: the output of the kernel's bench tool, and the tables that its scripts print and
 * people paste into mails.
 *
 *	Summary: hits   24.634 ± 0.205M/s ( 24.634M/prod), drops    0.000 ± 0.000M/s, …
 *	Summary: throughput   72.046 ± 1.352 M ops/s ( 72.046M ops/prod), latency   13.880 ns/op
 *	bpf_loop - throughput: 72.046 ± 1.352 M ops/s, latency: 13.880 ns/op
 *	RESULT scenario=tcp samples=20 median=12.3 stddev=0.2 …
 *	kretprobe-multi:    1.341 ± 0.004M/s
 *
 * What they give is a mean of a few seconds and its scatter within them: no samples, no machine, the
 * trigger's cost inside. They become results without samples, marked as imported, each line a run of its
 * own. Nothing can be concluded from a single one.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/record.h"

#define LEAST_NS 0.1 /* half a cycle at 5 GHz */
#define MOST_NS 1e15 /* eleven days */
#define MAX_THREADS 1e6
#define MAX_LINE 1024 /* longer ones hold no figures */

struct context {
	struct record_list *list;
	const char *path;
	unsigned int file;
	struct errline *e;
	size_t number;      /* of the line */
	char bench[96];     /* that the tool said it runs, for its summary */
	long long nr_loops; /* of a line "nr_loops: N", for the next figure; 0: none */
	long long threads;
};

struct figure {
	const char *format; /* what was recognised */
	char bench[96];
	double ns;            /* per operation */
	double mean, stddev;  /* M/s; NAN */
	long long threads;    /* 0: not said */
};

static const char *skip_blank(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* A finite number at *@s, which is moved behind it. */
static bool take_number(const char **s, double *x)
{
	char *end;

	*s = skip_blank(*s);
	if (!isdigit((unsigned char)**s))
		return false;
	*x = strtod(*s, &end);
	if (end == *s || !isfinite(*x))
		return false;
	*s = end;
	return true;
}

static bool take(const char **s, const char *word)
{
	const char *at = skip_blank(*s);

	if (strncmp(at, word, strlen(word)))
		return false;
	*s = at + strlen(word);
	return true;
}

/* "± ", as UTF-8, in ASCII, or as mail transports encode it. */
static bool take_plus_minus(const char **s)
{
	return take(s, "\u00b1") || take(s, "+-") || take(s, "+/-") || take(s, "=C2=B1");
}

/* "24.634 ± 0.205M/s", "72.046 ± 1.352 M ops/s" */
static bool take_rate(const char **s, struct figure *f)
{
	return take_number(s, &f->mean) && take_plus_minus(s) && take_number(s, &f->stddev) &&
	       (take(s, "M/s") || take(s, "M ops/s")) && f->mean > 0;
}

/* "( 6.250M/prod)" behind a rate of all threads: how many there are. */
static void take_threads(const char *s, struct figure *f)
{
	double each;

	if (take(&s, "(") && take_number(&s, &each) && (take(&s, "M/prod") || take(&s, "M ops/prod")) && each > 0 &&
	    f->mean / each < MAX_THREADS)
		f->threads = llround(f->mean / each);
}

/* The last word of @s before @end, without the blanks and the '-' after it. */
static bool name_before(const char *s, const char *end, char *name, size_t size)
{
	size_t len;

	s = skip_blank(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '-' || end[-1] == ':'))
		end--;
	len = (size_t)(end - s);
	if (!len || len >= size || !isalnum((unsigned char)s[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-./=, ()", s[i]))
			return false;
	snprintf(name, size, "%.*s", (int)len, s);
	return true;
}

static bool parse_summary(const struct context *c, const char *s, struct figure *f)
{
	const char *latency;

	if (!take(&s, "Summary:"))
		return false;
	if (!take(&s, "hits") && !take(&s, "throughput"))
		return false;
	if (!take_rate(&s, f))
		return false;
	take_threads(s, f);
	f->format = "summary";
	/* of each thread, as a latency is */
	f->ns = 1000 / f->mean * (double)(f->threads > 1 ? f->threads : 1);
	latency = strstr(s, "latency");
	if (latency) {
		latency += strlen("latency");
		take_number(&latency, &f->ns);
	}
	snprintf(f->bench, sizeof(f->bench), "%s", c->bench[0] ? c->bench : "unnamed");
	return true;
}

static bool parse_table(const char *s, struct figure *f)
{
	const char *colon = strchr(s, ':'), *rest;

	if (!colon)
		return false;
	rest = colon + 1;
	if (!name_before(s, colon, f->bench, sizeof(f->bench)) || !take_rate(&rest, f))
		return false;
	f->format = "table";
	f->ns = 1000 / f->mean;
	return true;
}

static bool parse_throughput(const char *s, struct figure *f)
{
	const char *word = strstr(s, "throughput:"), *rest;

	if (!word || !name_before(s, word, f->bench, sizeof(f->bench)))
		return false;
	rest = word + strlen("throughput:");
	if (!take_rate(&rest, f))
		return false;
	f->format = "throughput";
	f->ns = 1000 / f->mean;
	if (take(&rest, ",") && take(&rest, "latency:"))
		take_number(&rest, &f->ns);
	return true;
}

/* The value of " KEY=" in @s. */
static bool key_number(const char *s, const char *key, double *x)
{
	size_t len = strlen(key);

	for (s = strstr(s, key); s; s = strstr(s + 1, key))
		if ((s[-1] == ' ' || s[-1] == '\t') && s[len] == '=') {
			s += len + 1;
			return take_number(&s, x);
		}
	return false;
}

static bool parse_result(const char *s, struct figure *f)
{
	const char *name;

	if (!take(&s, "RESULT "))
		return false;
	name = strstr(s, "scenario=");
	if (!name || !key_number(s - 1, "median", &f->ns) || f->ns <= 0)
		return false;
	name += strlen("scenario=");
	if (!name_before(name, name + strcspn(name, " \t"), f->bench, sizeof(f->bench)))
		return false;
	f->format = "result";
	f->mean = f->stddev = NAN;
	return true;
}

static json_t *number_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *figure_json(const struct context *c, const struct figure *f)
{
	const long long threads = f->threads ? f->threads : c->threads;
	json_t *params = json_object();

	if (c->nr_loops)
		json_object_set_new(params, "nr_loops", json_integer(c->nr_loops));
	if (threads > 1)
		json_object_set_new(params, "producers", json_integer(threads));
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:s, s:f, s:n, s:b, s:f, s:{s:o, s:o, s:s}, s:[s], "
			 "s:{s:s, s:i}}", "schema", SCHEMA_RESULT, "bench", f->bench, "target", "imported",
			 "params", params, "unit", "ns/op", "estimate", f->ns, "ci95", "gross_only", 1,
			 "gross_ns", f->ns, "throughput", "mean", number_or_null(f->mean), "stddev",
			 number_or_null(f->stddev), "unit", "M/s", "warnings",
			 "imported from a text, without samples: nothing can be concluded from it alone",
			 "imported", "format", f->format, "line", (int)c->number);

	if (f->ns < LEAST_NS)
		json_array_append_new(json_object_get(o, "warnings"),
				      json_string("less than a clock cycle per operation: they were counted "
						  "more than once"));
	return o;
}

static int add_figure(struct context *c, const struct figure *f)
{
	json_t *o = figure_json(c, f);
	char where[512];
	int err;

	if (!o)
		return errline_set(c->e, -ENOMEM, "out of memory");
	snprintf(where, sizeof(where), "'%.400s' line %zu", c->path, c->number);
	record_clean(where);
	err = records_add(c->list, o, c->file, RECORD_RESULT, where, c->e);
	c->nr_loops = 0;
	json_decref(o);
	return err;
}

/* Lines that say what the next figures are of. */
static void note_context(struct context *c, const char *s)
{
	const char *name = strstr(s, "Setting up benchmark '");
	double x;

	if (name) {
		name += strlen("Setting up benchmark '");
		if (!name_before(name, name + strcspn(name, "'"), c->bench, sizeof(c->bench)))
			c->bench[0] = '\0';
	} else if (take(&s, "nr_loops:") && take_number(&s, &x) && x >= 1 && x < 1e15) {
		c->nr_loops = (long long)x;
	} else if ((take(&s, "nr_threads:") || take(&s, "threads:")) && take_number(&s, &x) && x >= 1 && x < MAX_THREADS) {
		c->threads = (long long)x;
	}
}

static int import_line(struct context *c, const char *s)
{
	struct figure f = { 0 };

	/* quoted in a mail */
	while (*s == '>' || *s == ' ' || *s == '\t')
		s++;
	note_context(c, s);
	if (!parse_summary(c, s, &f) && !parse_result(s, &f) && !parse_throughput(s, &f) && !parse_table(s, &f))
		return 0;
	/* what no machine takes is no figure */
	return f.ns > 0 && f.ns < MOST_NS ? add_figure(c, &f) : 0;
}

/* Some archives of mails join the lines of a paragraph: then one ends where the next is quoted. */
static size_t line_length(const char *text, size_t len, bool *joined)
{
	const char *end = memchr(text, '\n', len), *quoted;
	size_t n = end ? (size_t)(end - text) : len;

	*joined = n >= MAX_LINE || (*joined && n);
	if (!*joined)
		return n;
	quoted = memmem(text + 1, n - 1, " > ", 3);
	if (!quoted)
		*joined = false;
	return quoted ? (size_t)(quoted - text) : n;
}

int records_import(struct record_list *list, const char *path, const char *text, size_t len,
		   unsigned int file, struct errline *e)
{
	struct context c = { .list = list, .path = path, .file = file, .e = e };
	size_t before = list->nr;
	char line[MAX_LINE];
	bool joined = false;
	int err = 0;

	while (len && !err) {
		size_t n = line_length(text, len, &joined);
		bool end = n < len;

		c.number++;
		/* figures stand in short lines */
		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			err = import_line(&c, line);
		}
		n += end;
		text += n;
		len -= n;
	}
	if (!err && list->nr == before)
		err = errline_set(e, -ENODATA, "'%.400s' holds neither results of bpflab nor figures that can "
				  "be imported ('Summary:', 'RESULT', or 'NAME : MEAN \u00b1 SIGMA M/s' lines)",
				  path);
	return err;
}
