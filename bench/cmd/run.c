// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab run`: build the suite, measure it, and write the views that were asked for. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/guests.h"
#include "commands.h"
#include "measure/suite.h"
#include "report/classic.h"
#include "report/form.h"
#include "report/report.h"
#include "util/interrupt.h"
#include "util/output.h"

static int check_outputs(const struct opts *opts, struct errline *e)
{
	if (opts->prepare)
		return errline_set(e, -EINVAL, "--prepare is for --instances, as in bpflab run prog-pack "
				   "--instances 20 --prepare 'make clean' -- make -j2");
	if (opts->classic && (opts->json || opts->csv || forms_wanted(opts)))
		return errline_set(e, -EINVAL, "--classic prints throughput only; leave out --%s",
				   opts->json ? "json" : opts->csv ? "csv" : opts->markdown ? "markdown" :
				   opts->text ? "text" : "benchfmt");
	if (opts->classic && opts->rounds)
		return errline_set(e, -EINVAL, "--classic has intervals of a second, not rounds; leave "
				   "out --rounds, -d sets how many");
	return forms_check(opts, e);
}

static int make_result(const struct suite *s, const struct point *pt, struct result *res)
{
	const struct estimate_input in = {
		.batches = pt->batches,
		.nr_batches = pt->nr_batches,
		.rounds = s->rounds_done,
		.n_full = pt->n_full,
		.n_null = pt->n_null,
		.events_per_op = bench_events_per_op(&pt->inst),
		.executed_per_op = bench_executed_per_op(&pt->inst, ARM_FULL),
		.producers = pt->inst.params.producers,
		.trig_batch_iters = pt->inst.params.trig_batch_iters,
		.no_trigger = !(pt->inst.bench->flags & (BENCH_HAS_TRIGGER | BENCH_NO_EMPTY_TRIGGER)),
	};
	int err = estimate_compute(&in, &res->est);

	res->point = pt;
	if (err)
		return err;
	prog_info_read(&pt->inst, &res->prog);
	if (pt->inst.bench->note)
		pt->inst.bench->note(&pt->inst, res->note, sizeof(res->note));
	return 0;
}

/* Lost updates are the kernel's right with several producers, see suite_verify(); but worth a word. */
static void warn_lost(struct result *res)
{
	const struct point *pt = res->point;

	if (pt->has_left_behind && pt->left_behind < pt->counted)
		estimate_warn(&res->est, "%llu of %llu updates were lost: the kernel preempted increments; "
			      "pin each producer to a CPU of its own (-a)",
			      (unsigned long long)(pt->counted - pt->left_behind),
			      (unsigned long long)pt->counted);
}

static void warn_crowded(struct result *res, unsigned int cpus)
{
	unsigned int producers = res->point->inst.params.producers;

	if (producers > cpus)
		estimate_warn(&res->est, "%u producers on %u CPUs: times include waiting for a CPU",
			      producers, cpus);
}

static int make_results(struct report *r, struct errline *e)
{
	r->results = calloc(r->suite->nr_points, sizeof(*r->results));
	if (!r->results)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->suite->nr_points; i++) {
		const struct point *pt = &r->suite->points[i];
		struct result *res = &r->results[r->nr_results];

		if (pt->failed)
			continue;
		if (make_result(r->suite, pt, res))
			return errline_set(e, -ENOMEM, "out of memory");
		warn_lost(res);
		warn_crowded(res, r->env->cpus);
		r->nr_results++;
	}
	return 0;
}

static int view_json(FILE *f, const void *r)
{
	return report_json(f, r);
}

static int view_csv(FILE *f, const void *r)
{
	return report_csv(f, r);
}

static int write_forms(const struct report *r, const struct opts *opts, struct errline *e)
{
	struct record_list list = { 0 };
	int err;

	if (!forms_wanted(opts))
		return 0;
	err = report_records(r, &list, e);
	if (!err)
		err = forms_write(opts, &list, e);
	records_release(&list);
	return err;
}

/* The table goes to standard output unless another view does. */
static int write_views(const struct report *r, const struct opts *opts, struct errline *e)
{
	int err = 0;

	if (!forms_use_stdout(opts)) {
		report_table(stdout, r, opts->quiet);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, view_json, r, e);
	if (!err)
		err = output_view(opts->csv, view_csv, r, e);
	if (!err)
		err = write_forms(r, opts, e);
	return err;
}

/* Write out the results, or collect them. */
typedef int (*view_fn)(const struct report *r, const struct opts *opts, void *ctx, struct errline *e);

static int views(const struct report *r, const struct opts *opts, void *ctx, struct errline *e)
{
	return write_views(r, opts, e);
}

static int collect(const struct report *r, const struct opts *opts, void *ctx, struct errline *e)
{
	return report_records(r, ctx, e);
}

static int report_of(struct suite *s, const struct opts *opts, view_fn view, void *ctx, struct errline *e)
{
	struct report r = { .suite = s };
	char command[2048];
	struct env env;
	int err;

	env_collect(&env);
	r.env = &env;
	opts_command_text(opts, s->seed, command, sizeof(command));
	r.command = command;
	err = make_results(&r, e);
	if (!err)
		err = view(&r, opts, ctx, e);
	for (size_t i = 0; i < r.nr_results; i++)
		estimate_release(&r.results[i].est);
	free(r.results);
	env_release(&env);
	return err;
}

/* Every failed point gets its line. With --keep-going one that cannot be loaded is no failure, but all are. */
static int exit_status(const struct suite *s)
{
	size_t failed = 0, unavailable = 0;

	for (size_t i = 0; i < s->nr_points; i++) {
		if (!s->points[i].failed)
			continue;
		print_error(&s->points[i].error);
		unavailable += s->points[i].unavailable;
		failed += !s->points[i].unavailable;
	}
	if (failed)
		return EXIT_BENCH_FAILED;
	return unavailable && unavailable == s->nr_points ? EXIT_USAGE : EXIT_OK;
}

static bool all_unavailable(const struct suite *s)
{
	for (size_t i = 0; i < s->nr_points; i++)
		if (!s->points[i].unavailable)
			return false;
	return true;
}

static int measure_suite(struct suite *s, const struct opts *opts, struct errline *e)
{
	int err = suite_build(s, opts, e);

	if (err)
		return err;
	for (size_t i = 0; i < s->nr_skipped; i++)
		fprintf(stderr, "bpflab: %s\n", s->skipped[i]);
	err = suite_open(s, opts, e);
	if (err)
		return err;
	if (!all_unavailable(s)) {
		err = opts->classic ? classic_run(s, opts, e) : suite_measure(s, opts, e);
		if (err)
			return err;
		suite_verify(s);
	}
	return 0;
}

static int run_suite(struct suite *s, const struct opts *opts, struct errline *e)
{
	int err = measure_suite(s, opts, e);

	if (err)
		return err;
	return opts->classic ? output_flush_stdout(e) : report_of(s, opts, views, NULL, e);
}

/* Measure and hand over the results, as read from a file; *@status as of a run by itself. */
int run_records(const struct opts *opts, struct record_list *list, int *status, struct errline *e)
{
	struct suite s = { 0 };
	int err = measure_suite(&s, opts, e);

	if (!err)
		err = report_of(&s, opts, collect, list, e);
	*status = err ? EXIT_USAGE : exit_status(&s);
	suite_release(&s);
	return err;
}

int cmd_run(const struct opts *opts)
{
	struct errline e = { "" };
	struct suite suite = { 0 };
	int err, status;

	if (opts->list)
		return cmd_list(opts);
	if (opts->count)
		return cmd_run_counts(opts);
	if (opts->symbols) {
		errline_set(&e, -EINVAL, "--symbols goes with --count=insns: time is not told by function; bpflab "
			    "profile samples it");
		print_error(&e);
		return EXIT_USAGE;
	}
	if (guests_wanted(&opts->on))
		return opts->has_instances ? cmd_run_beside_vm(opts) : cmd_run_vm(opts);
	if (opts->has_instances)
		return cmd_run_beside(opts);
	err = check_outputs(opts, &e);
	if (!err)
		err = run_suite(&suite, opts, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = EXIT_USAGE;
	else
		status = exit_status(&suite);
	if (err && status == EXIT_USAGE)
		print_error(&e);
	suite_release(&suite);
	return status;
}
