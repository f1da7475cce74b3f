// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab compare --count=insns`, and compare of two files of stored counts. */
#include <errno.h>

#include "cmd/count.h"
#include "commands.h"
#include "compare/counts_compare.h"
#include "report/form.h"
#include "report/report_counts_compare.h"
#include "result/record.h"
#include "util/interrupt.h"
#include "util/output.h"

static int write_views(const struct counts_compare *c, const struct opts *opts, struct errline *e)
{
	char command[2048];
	struct env env;
	const struct counts_compare_report report = { .compare = c, .env = &env, .command = command,
						      .quiet = opts->quiet };
	int err = 0;

	env_collect(&env);
	count_command_text(opts, command, sizeof(command));
	if (!forms_use_stdout(opts)) {
		report_counts_compare_table(stdout, &report);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, report_counts_compare_json, &report, e);
	if (!err)
		err = output_view(opts->csv, report_counts_compare_csv, &report, e);
	if (!err)
		err = output_view(opts->markdown, report_counts_compare_markdown, &report, e);
	env_release(&env);
	return err;
}

static int exit_status(const struct counts_compare *c, const struct opts *opts)
{
	bool failed = false, regressed = false, inexact = false;

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct counts_row *row = &c->rows[i];

		if (row->failed.text[0]) {
			print_error(&row->failed);
			failed = true;
			continue;
		}
		regressed |= opts->fail_above >= 0 && counts_is_regression(row, opts->fail_above);
		inexact |= row->verdict > COUNTS_MORE;
	}
	return failed ? EXIT_BENCH_FAILED : regressed ? EXIT_REGRESSION :
	       inexact && opts->strict ? EXIT_INCONCLUSIVE : EXIT_OK;
}

static int finish(struct counts_compare *c, const struct opts *opts, int err, struct errline *e)
{
	int status;

	if (!err)
		err = write_views(c, opts, e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = EXIT_USAGE;
	else
		status = exit_status(c, opts);
	if (status == EXIT_USAGE)
		print_error(e);
	counts_compare_release(c);
	return status;
}

int cmd_compare_counts(const struct opts *opts)
{
	struct counts_compare c = { 0 };
	struct errline e = { "" };
	int err = count_check_options(opts, &e);

	if (!err && records_is_file(opts->args[0]) && records_is_file(opts->args[1]))
		err = errline_set(&e, -EINVAL, "result files are not counted: leave out --count");
	if (!err)
		err = counts_compare_measure(&c, opts, &e);
	return finish(&c, opts, err, &e);
}

int cmd_compare_stored_counts(const struct opts *opts)
{
	struct counts_compare c = { 0 };
	struct errline e = { "" };
	int err = opts->why ? errline_set(&e, -EINVAL, "--why counts by function: result files have no functions, give "
					  "two kernels") : count_check_options(opts, &e);

	if (!err && opts->nr_args > 2)
		err = errline_set(&e, -EINVAL, "'%s': all benches that two result files share are compared",
				  opts->args[2]);
	if (!err && (opts->runs || opts->on.nr))
		err = errline_set(&e, -EINVAL, "result files are not counted again: leave out --%s",
				  opts->runs ? "runs" : "on");
	if (!err)
		err = counts_compare_files(&c, opts->args[0], opts->args[1], &e);
	return finish(&c, opts, err, &e);
}
