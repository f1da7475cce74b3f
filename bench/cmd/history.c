// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab history`: add results to the store, look at series, gate changes, forget what is old. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare_live.h"
#include "commands.h"
#include "compare/compare_text.h"
#include "history/store.h"
#include "report/report.h"
#include "report/sheet.h"
#include "stats/stats.h"
#include "stats/steps.h"
#include "util/output.h"

#define MAX_STEPS 16

/* -------------------------------------------------------------- add */

static int add(struct store *s, const struct opts *opts, struct errline *e)
{
	struct record_list list = { 0 };
	struct store_added added;
	int err = 0;

	if (opts->nr_args < 2)
		return errline_set(e, -EINVAL, "history add needs files of results, such as 'bpflab run --json "
				   "FILE' writes");
	for (size_t i = 1; i < opts->nr_args && !err; i++)
		err = records_read(&list, opts->args[i], (unsigned int)i, RECORD_RESULT | RECORD_COMPARE, e);
	if (!err)
		err = store_add(s, &list, &added, e);
	records_release(&list);
	if (err || opts->quiet)
		return err;
	printf("added %zu results and %zu comparisons", added.results, added.comparisons);
	if (added.known)
		printf("; %zu were there already", added.known);
	putchar('\n');
	return output_flush_stdout(e);
}

/* -------------------------------------------------------------- show */

struct show {
	FILE *f;
	bool json;
	size_t shown;
	char machine[1024]; /* of the rows above */
};

/* A text of a file, fit for a line. */
static const char *cleaned(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%s", text);
	record_clean(buf);
	return buf;
}

static void show_steps(FILE *f, const struct store_series *series, const double *x,
		       const size_t *idx, size_t n)
{
	struct step steps[MAX_STEPS];
	int nr = steps_find(x, n, steps, MAX_STEPS);
	char change[32], time[32];

	for (int i = 0; i < nr; i++) {
		compare_text_change(change, sizeof(change), steps[i].after - steps[i].before);
		fprintf(f, "    step: %s from %s on (run %zu of %zu, p %.3f)\n", change,
			cleaned(time, sizeof(time), series->times[idx[steps[i].at]]), steps[i].at + 1, n, steps[i].p);
	}
}

static void show_head(struct show *show, const struct store_series *series)
{
	char machine[1024];

	snprintf(machine, sizeof(machine), "%s, Linux %s", series->machine, series->kernel);
	record_clean(machine);
	if (!strcmp(machine, show->machine))
		return;
	fprintf(show->f, "%s%s\n", show->shown ? "\n" : "", machine);
	fprintf(show->f, "  %-36s %-24s %5s %10s %10s %9s  %s\n", "bench", "target", "runs", "median ns",
		"last ns", "scatter", "last run");
	snprintf(show->machine, sizeof(show->machine), "%s", machine);
}

static int show_series(const struct store_series *series, void *ctx)
{
	struct show *show = ctx;
	double *x = calloc(series->nr, sizeof(*x));
	size_t *idx = calloc(series->nr, sizeof(*idx)), n = 0;
	char target[300], time[32], middle[32] = "-", last[32] = "-", scatter[32] = "-";

	if (!x || !idx) {
		free(x);
		free(idx);
		return -ENOMEM;
	}
	for (size_t i = 0; i < series->nr; i++)
		if (series->ns[i] > 0) {
			idx[n] = i;
			x[n++] = log(series->ns[i]);
		}
	show_head(show, series);
	snprintf(target, sizeof(target), "%.100s%s%.150s", series->target, series->variant[0] ? ":" : "",
		 series->variant);
	if (n) {
		report_format_ns(middle, sizeof(middle), exp(stats_median(x, n)));
		report_format_ns(last, sizeof(last), exp(x[n - 1]));
	}
	if (n > 1)
		snprintf(scatter, sizeof(scatter), "%.1f %%", 100 * stats_stddev(x, n));
	fprintf(show->f, "  %-36s %-24s %5zu %10s %10s %9s  %s\n", series->bench, target, series->nr, middle,
		last, scatter, cleaned(time, sizeof(time), series->times[series->nr - 1]));
	show_steps(show->f, series, x, idx, n);
	show->shown++;
	free(x);
	free(idx);
	return 0;
}

/* Gates, and other comparisons that were added: what was found, and whether a fresh run said the same. */
static int show_comparison(const struct store_comparison *c, void *ctx)
{
	struct show *show = ctx;
	char machine[1024], a[64], b[64], verdict[32], time[32];

	snprintf(machine, sizeof(machine), "%s, Linux %s: comparisons", c->machine, c->kernel);
	record_clean(machine);
	if (strcmp(machine, show->machine)) {
		fprintf(show->f, "%s%s\n", show->shown ? "\n" : "", machine);
		fprintf(show->f, "  %-20s  %-28s  %-24s  %-24s  %s\n", "time", "bench", "A", "B",
			"verdict");
		snprintf(show->machine, sizeof(show->machine), "%s", machine);
	}
	fprintf(show->f, "  %-20s  %-28s  %-24s  %-24s  %s%s\n", cleaned(time, sizeof(time), c->time), c->bench, cleaned(a, sizeof(a), c->a),
		cleaned(b, sizeof(b), c->b), cleaned(verdict, sizeof(verdict), c->verdict),
		!c->has_confirmation ? "" : c->confirmed ? ", confirmed" : ", NOT confirmed");
	show->shown++;
	return 0;
}

static int put_comparison(const struct store_comparison *c, void *ctx)
{
	struct show *show = ctx;

	fprintf(show->f, "%s\n", c->json);
	show->shown++;
	return 0;
}

static int put_json(const struct store_series *series, void *ctx)
{
	struct show *show = ctx;

	for (size_t i = 0; i < series->nr; i++)
		fprintf(show->f, "%s\n", series->json[i]);
	show->shown++;
	return 0;
}

static int show_to(struct store *s, const struct opts *opts, struct show *show, struct errline *e)
{
	int err = store_visit(s, opts->args + 1, opts->nr_args - 1, show->json ? put_json : show_series, show,
			      e);

	if (!err)
		err = store_visit_comparisons(s, opts->args + 1, opts->nr_args - 1,
					      show->json ? put_comparison : show_comparison, show, e);
	if (err == -ENOMEM)
		errline_set(e, err, "out of memory");
	if (!err && !show->shown)
		err = errline_set(e, -ENODATA, "'%s' holds no results%s; 'bpflab history add FILE' puts some in",
				  s->path, opts->nr_args > 1 ? " of these benches" : "");
	return err;
}

static int show(struct store *s, const struct opts *opts, struct errline *e)
{
	struct show show = { .f = stdout };
	struct output o;
	int err;

	if (!opts->json || strcmp(opts->json, "-")) {
		err = show_to(s, opts, &show, e);
		if (!err)
			err = output_flush_stdout(e);
		if (err || !opts->json)
			return err;
	}
	err = output_open(&o, opts->json, e);
	if (err)
		return err;
	show = (struct show){ .f = o.file, .json = true };
	err = show_to(s, opts, &show, e);
	if (!err)
		return output_commit(&o, e);
	output_abort(&o);
	return err;
}

/* -------------------------------------------------------------- gate */

/* The store is opened when all is measured: nobody else has to wait for that. */
static int keep_gate(const struct record_list *list, const struct opts *opts, struct errline *e)
{
	struct store_added added;
	struct store s;
	int err = store_open(&s, opts->db, e);

	if (err)
		return err;
	err = store_add(&s, list, &added, e);
	store_close(&s);
	return err;
}

static int gate(const struct opts *opts)
{
	struct opts side = *opts;

	side.args = opts->args + 1;
	side.nr_args = opts->nr_args - 1;
	if (side.fail_above < 0)
		side.fail_above = 0;
	return compare_live(&side, keep_gate);
}

static int check_gate(const struct opts *opts, struct errline *e)
{
	struct store s;
	int err;

	if (opts->nr_args < 3)
		return errline_set(e, -EINVAL, "history gate needs a baseline and what is to replace it: two "
				   "targets, or two object files");
	for (size_t i = 1; i < 3; i++)
		if (records_is_file(opts->args[i]))
			return errline_set(e, -EINVAL, "'%s': a gate measures the baseline now, as no stored result "
					   "can tell a slower program from a slower machine; give targets or "
					   "object files", opts->args[i]);
	/* before minutes of measuring */
	err = store_open(&s, opts->db, e);
	if (!err)
		store_close(&s);
	return err;
}

/* -------------------------------------------------------------- prune */

static int prune(struct store *s, const struct opts *opts, struct errline *e)
{
	size_t removed;
	int err;

	if (opts->nr_args > 1)
		return errline_set(e, -EINVAL, "history prune takes no '%s'; --keep and --older-than say what "
				   "goes", opts->args[1]);
	if (!opts->keep && !opts->days)
		return errline_set(e, -EINVAL, "history prune needs --keep N or --older-than DAYS");
	err = store_prune(s, opts->keep, opts->days, &removed, e);
	if (err || opts->quiet)
		return err;
	printf("removed %zu\n", removed);
	return output_flush_stdout(e);
}

static const struct {
	const char *name;
	int (*run)(struct store *s, const struct opts *opts, struct errline *e);
} verbs[] = {
	{ "add", add }, { "show", show }, { "prune", prune },
};

static int run_verb(const struct opts *opts, struct errline *e)
{
	struct store s;
	int err;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, opts->args[0]))
			continue;
		err = store_open(&s, opts->db, e);
		if (err)
			return err;
		err = verbs[i].run(&s, opts, e);
		store_close(&s);
		return err;
	}
	return errline_set(e, -EINVAL, "no 'history %s': it is add, show, gate or prune", opts->args[0]);
}

int cmd_history(const struct opts *opts)
{
	struct errline e;
	int err;

	if (!opts->nr_args) {
		err = errline_set(&e, -EINVAL, "history needs a verb: add, show, gate or prune");
	} else if (!strcmp(opts->args[0], "gate")) {
		err = check_gate(opts, &e);
		if (!err)
			return gate(opts);
	} else {
		err = run_verb(opts, &e);
	}
	if (!err)
		return EXIT_OK;
	print_error(&e);
	return EXIT_USAGE;
}
