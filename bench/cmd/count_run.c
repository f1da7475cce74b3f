// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab run --count=insns`: benches under an emulator that counts, target by target. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/count.h"
#include "commands.h"
#include "report/form.h"
#include "report/report_counts.h"
#include "util/interrupt.h"
#include "util/output.h"

/* --symbols and --why are about kernels. */
static int check_functions(const struct opts *opts, struct errline *e)
{
	const char *const *specs = opts->command == CMD_COMPARE ? opts->args : opts->on.items;
	size_t nr = opts->command == CMD_COMPARE ? 2 : opts->on.nr;
	const char *option = opts->why ? "why" : "symbols";

	if (!opts->symbols && !opts->why)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (strncmp(specs[i], "vm:", 3))
			return errline_set(e, -EINVAL, "'%s': --%s with --count tells the functions of kernels, on "
					   "vm:VERSION; of programs there is bpflab dump --counts", specs[i],
					   option);
	return nr ? 0 : errline_set(e, -EINVAL, "--%s tells the functions of a kernel: give one, --on vm:VERSION",
				    option);
}

int count_check_options(const struct opts *opts, struct errline *e)
{
	const struct {
		bool given;
		const char *name, *why;
	} unfit[] = {
		{ opts->duration > 0, "duration", "nothing is timed" },
		{ opts->warmup >= 0, "warmup", "nothing is timed" },
		{ opts->rounds, "rounds", "--runs says how many processes count" },
		{ opts->producers > 1, "producers", "one thread is counted" },
		{ opts->consumers, "consumers", "one thread is counted" },
		{ opts->affinity, "affinity", "nothing is timed" },
		{ opts->i_know, "i-know", "counts under emulation are exact" },
		{ opts->prepare, "prepare", "it times no command" },
		{ opts->classic, "classic", "it prints throughput" },
		{ opts->has_instances, "instances", "it times a command" },
		{ opts->quads, "quads", "--runs says how many processes count" },
		{ opts->quick || opts->rigorous, opts->quick ? "quick" : "rigorous",
		  "--runs says how many processes count" },
		{ opts->loads, "loads", "each of --runs loads the programs anew" },
		{ opts->margin > 0, "margin", "every difference is exact" },
		{ opts->no_control, "no-control", "there is none: runs have to be equal" },
		{ opts->has_seed, "seed", "nothing is random" },
		{ opts->text, "text", "--markdown has a form for counts" },
		{ opts->benchfmt, "benchfmt", "--csv has a form for counts" },
	};

	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
		if (unfit[i].given)
			return errline_set(e, -EINVAL, "--count=insns goes without --%s: %s", unfit[i].name,
					   unfit[i].why);
	for (size_t i = 0; i < opts->sweep.nr; i++)
		if (!strncmp(opts->sweep.items[i], "p=", 2) || !strncmp(opts->sweep.items[i], "producers=", 10))
			return errline_set(e, -EINVAL, "--count=insns goes without --sweep '%s': one thread is counted",
					   opts->sweep.items[i]);
	return check_functions(opts, e);
}

void count_command_text(const struct opts *opts, char *buf, size_t size)
{
	struct opts copy = *opts;

	copy.has_seed = true; /* there is none to repeat */
	opts_command_text(&copy, 0, buf, size);
}

int count_exit_status(const struct count_target *targets, size_t nr)
{
	size_t unavailable = 0, points = 0;
	int status = EXIT_OK;

	for (size_t k = 0; k < nr; k++) {
		points += targets[k].nr_points;
		for (size_t i = 0; i < targets[k].nr_points; i++) {
			const struct count_point *pt = &targets[k].points[i];

			unavailable += pt->unavailable;
			if (!pt->failed.text[0] || (pt->unavailable && nr > 1))
				continue; /* or told below the table */
			if (target_is_vm(&targets[k].target))
				fprintf(stderr, "bpflab: %s: %s\n", targets[k].spec, pt->failed.text);
			else
				print_error(&pt->failed);
			if (!pt->unavailable)
				status = EXIT_BENCH_FAILED;
		}
	}
	return points && unavailable == points ? EXIT_USAGE : status;
}

struct run {
	struct count_target *targets;
	size_t nr;
};

static int init_targets(struct run *r, const struct opts *opts, struct errline *e)
{
	const char *user = "user";
	const char *const *specs = opts->on.nr ? opts->on.items : &user;
	size_t nr = opts->on.nr ? opts->on.nr : 1;
	int err = 0;

	r->targets = calloc(nr, sizeof(*r->targets));
	if (!r->targets)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr && !err; i++) {
		err = count_target_init(&r->targets[i], specs[i], e);
		r->nr += !err;
		for (size_t k = 0; k < i && !err; k++)
			if (!strcmp(r->targets[k].spec, r->targets[i].spec))
				err = errline_set(e, -EINVAL, "target '%s' is given twice",
						  r->targets[i].spec);
	}
	return err;
}

static int write_views(const struct run *r, const struct opts *opts, struct errline *e)
{
	char command[2048];
	struct env env;
	const struct count_report report = { .targets = r->targets, .nr_targets = r->nr, .env = &env,
					     .command = command, .quiet = opts->quiet };
	int err = 0;

	env_collect(&env);
	count_command_text(opts, command, sizeof(command));
	if (!forms_use_stdout(opts)) {
		report_counts_table(stdout, &report);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, report_counts_json, &report, e);
	if (!err)
		err = output_view(opts->csv, report_counts_csv, &report, e);
	if (!err)
		err = output_view(opts->markdown, report_counts_markdown, &report, e);
	env_release(&env);
	return err;
}

static int run(struct run *r, const struct opts *opts, struct errline *e)
{
	int err = count_check_options(opts, e);

	if (!err && !opts->nr_args)
		err = errline_set(e, -EINVAL, "--count=insns takes the benches to count (bpflab list)");
	if (!err)
		err = forms_check(opts, e);
	if (!err)
		err = init_targets(r, opts, e);
	for (size_t i = 0; i < r->nr && !err; i++)
		err = count_measure(&r->targets[i], opts->args, opts, e);
	return err ? err : write_views(r, opts, e);
}

int cmd_run_counts(const struct opts *opts)
{
	struct errline e = { "" };
	struct run r = { 0 };
	int err = run(&r, opts, &e), status;

	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = EXIT_USAGE;
	else
		status = count_exit_status(r.targets, r.nr);
	if (err && !interrupt_signal())
		print_error(&e);
	for (size_t i = 0; i < r.nr; i++)
		count_target_release(&r.targets[i]);
	free(r.targets);
	return status;
}
