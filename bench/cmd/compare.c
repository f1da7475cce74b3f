// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab compare`: two targets or object files side by side, or two files of stored results. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmd/compare_live.h"
#include "commands.h"
#include "compare/comparison.h"
#include "compare/historical.h"
#include "measure/progress.h"
#include "report/form.h"
#include "report/report_compare.h"
#include "result/record.h"
#include "util/interrupt.h"
#include "util/output.h"

static int write_forms(int (*records)(const void *ctx, struct record_list *list, struct errline *e),
		       const void *ctx, const struct opts *opts, struct errline *e)
{
	struct record_list list = { 0 };
	int err;

	if (!forms_wanted(opts))
		return 0;
	err = records(ctx, &list, e);
	if (!err)
		err = forms_write(opts, &list, e);
	records_release(&list);
	return err;
}

/* -------------------------------------------------------------- side by side */

typedef int (*then_fn)(const struct record_list *list, const struct opts *opts, struct errline *e);

static int hand_on(const struct compare_report *r, const struct opts *opts, then_fn then,
		   struct errline *e)
{
	struct record_list list = { 0 };
	int err = report_compare_records(r, &list, e);

	if (!err)
		err = then(&list, opts, e);
	records_release(&list);
	return err;
}

static int write_views(const struct comparison *c, const struct opts *opts, then_fn then,
		       struct errline *e)
{
	char command[2048];
	struct env env;
	const struct compare_report r = { .comparison = c, .env = &env, .quick = opts->quick,
					  .quiet = opts->quiet, .command = command };
	int err = 0;

	env_collect(&env);
	opts_command_text(opts, c->seed, command, sizeof(command));
	if (!forms_use_stdout(opts)) {
		report_compare_table(stdout, &r);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, report_compare_json, &r, e);
	if (!err)
		err = output_view(opts->csv, report_compare_csv, &r, e);
	if (!err)
		err = write_forms(report_compare_records, &r, opts, e);
	if (!err && then)
		err = hand_on(&r, opts, then, e);
	env_release(&env);
	return err;
}

static int measure(struct comparison *c, const struct opts *opts, then_fn then, struct errline *e)
{
	bool gate = opts->fail_above >= 0;
	int err = comparison_build(c, opts, e);

	if (err)
		return err;
	c->explain = opts->why ? compare_explain : NULL;
	err = suite_start_producers(&c->suite, opts, e);
	if (err)
		return err;
	progress_begin(opts);
	err = comparison_measure(c, e);
	if (!err && comparison_judge(c))
		err = errline_set(e, -ENOMEM, "out of memory");
	if (!err && gate) {
		progress_begin(opts);
		err = comparison_confirm(c, opts->fail_above, e);
	}
	return err ? err : write_views(c, opts, then, e);
}

/* A failed bench matters more than a regression, and that more than doubt. */
static int exit_status(const struct comparison *c, const struct opts *opts)
{
	bool failed = false, regressed = false, untrusted = false, inconclusive = false;

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->failed) {
			print_error(&row->error);
			failed = true;
			continue;
		}
		regressed |= row->confirmation.confirmed;
		untrusted |= row->verdict == VERDICT_UNTRUSTED;
		inconclusive |= row->verdict == VERDICT_INCONCLUSIVE;
	}
	if (failed)
		return EXIT_BENCH_FAILED;
	if (regressed)
		return EXIT_REGRESSION;
	if (untrusted)
		return EXIT_UNTRUSTED;
	return inconclusive && opts->strict ? EXIT_INCONCLUSIVE : EXIT_OK;
}

int compare_live(const struct opts *opts, then_fn then)
{
	struct comparison c = { 0 };
	struct errline e = { "" };
	int err = measure(&c, opts, then, &e), status;

	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = EXIT_USAGE;
	else
		status = exit_status(&c, opts);
	if (status == EXIT_USAGE)
		print_error(&e);
	comparison_release(&c);
	return status;
}

/* -------------------------------------------------------------- stored results */

static int check_stored_options(const struct opts *opts, struct errline *e)
{
	if (opts->nr_args > 2)
		return errline_set(e, -EINVAL, "'%s': all benches that two result files share are compared",
				   opts->args[2]);
	if (opts->fail_above >= 0)
		return errline_set(e, -EINVAL, "--fail-above needs a fresh measurement to confirm a "
				   "regression; result files cannot be measured again");
	if (opts->why)
		return errline_set(e, -EINVAL, "--why shows the code that was measured; result files have none");
	if (opts->on.nr || opts->quads || opts->quick || opts->rigorous || opts->loads)
		return errline_set(e, -EINVAL, "result files are not measured: leave out --%s",
				   opts->on.nr ? "on" : opts->quads ? "quads" : opts->quick ? "quick" :
				   opts->rigorous ? "rigorous" : "loads");
	return 0;
}

int compare_write_stored(const struct historical *h, const struct opts *opts, struct errline *e)
{
	int err = 0;

	if (!forms_use_stdout(opts)) {
		report_historical_table(stdout, h, opts->quiet);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, report_historical_json, h, e);
	if (!err)
		err = output_view(opts->csv, report_historical_csv, h, e);
	if (!err)
		err = write_forms(report_historical_records, h, opts, e);
	return err;
}

static int compare_stored(const struct opts *opts)
{
	struct historical h = { 0 };
	struct errline e = { "" };
	int err = check_stored_options(opts, &e), status = EXIT_OK;

	if (!err)
		err = historical_compare(&h, opts->args[0], opts->args[1],
					 opts->margin > 0 ? opts->margin : COMPARE_MARGIN, &e);
	if (!err)
		err = compare_write_stored(&h, opts, &e);
	if (err)
		print_error(&e);
	for (size_t i = 0; i < h.nr_rows && !err; i++)
		if (h.rows[i].verdict == VERDICT_INCONCLUSIVE && opts->strict)
			status = EXIT_INCONCLUSIVE;
	historical_release(&h);
	return err ? EXIT_USAGE : status;
}

int cmd_compare(const struct opts *opts)
{
	struct errline e;
	int err = forms_check(opts, &e);

	if (!err && opts->nr_args < 2)
		err = errline_set(&e, -EINVAL, "compare needs two things to compare: two targets, two "
				  "object files, or two result files (bpflab help compare)");
	if (err) {
		print_error(&e);
		return EXIT_USAGE;
	}
	if (opts->count)
		return cmd_compare_counts(opts);
	if (records_is_file(opts->args[0]) && records_is_file(opts->args[1]))
		return records_are_counts(opts->args[0]) || records_are_counts(opts->args[1]) ?
			       cmd_compare_stored_counts(opts) :
			       compare_stored(opts);
	if (!strncmp(opts->args[0], "vm:", 3) || !strncmp(opts->args[1], "vm:", 3))
		return compare_vm(opts);
	return compare_live(opts, NULL);
}
