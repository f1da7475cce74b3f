// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab bisect`: counting a bench on the kernels between a good and a bad one. */
#include "cmd/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/count.h"
#include "commands.h"
#include "measure/object.h"
#include "registry.h"
#include "report/report_bisect.h"
#include "util/interrupt.h"
#include "util/output.h"
#include "vm/folder.h"

#define DEFAULT_BOOTS 2

/* -------------------------------------------------------------- one kernel */

static int count_match(const struct bench *bench, void *nr)
{
	(*(size_t *)nr)++;
	return 0;
}

int bisect_bench_init(struct bisect_bench *b, const struct opts *opts, struct errline *e)
{
	size_t nr = 0;
	int err = count_check_options(opts, e);

	memset(b, 0, sizeof(*b));
	b->opts = *opts;
	b->opts.runs = opts->runs ? opts->runs : DEFAULT_BOOTS;
	b->name = opts->nr_args ? opts->args[0] : "";
	if (err || object_is_path(b->name))
		return err;
	err = registry_match(b->name, count_match, &nr, e);
	if (!err && nr > 1)
		return errline_set(e, -EINVAL, "'%s' names %zu benches; one is bisected at a time", b->name, nr);
	return err;
}

/* What was counted, if it was. */
static int take(struct bisect_bench *b, const struct count_target *t, struct bisect_cost *cost, struct errline *e)
{
	const struct count_point *pt = t->points;

	if (t->nr_points != 1)
		return errline_set(e, -EINVAL, "'%s' names %zu benches; one is bisected at a time", b->name,
				   t->nr_points);
	snprintf(b->label, sizeof(b->label), "%s", pt->label);
	if (pt->failed.text[0]) {
		*e = pt->failed;
		return 1;
	}
	*cost = (struct bisect_cost){ .value = pt->value.net, .lo = pt->lo, .hi = pt->hi, .runs = pt->nr_runs,
				      .equal = pt->equal };
	return 0;
}

int bisect_measure(struct bisect_bench *b, const struct kernel *k, struct bisect_cost *cost, struct errline *e)
{
	const char *benches[] = { b->name, NULL };
	struct count_target t = { 0 };
	struct kernel checked;
	const char *vm = b->opts.vm ? b->opts.vm : "";
	bool other = k->machine != machine_native() && !strstr(vm, "arch=");
	char spec[256];
	int err = 0;

	snprintf(spec, sizeof(spec), "vm:%s%s%s%s%s", k->name, other ? ",arch=" : "", other ? k->machine->name : "",
		 *vm ? "," : "", vm);
	if (!k->dir[0] && folder_kernel(&checked, k->image, NULL, e))
		return 1;
	err = count_target_init_kernel(&t, spec, k, e);
	if (!err) {
		b->emulator = t.emulator;
		err = count_measure(&t, benches, &b->opts, e);
		if (err == -ECHILD || err == -ETIMEDOUT)
			err = 1;
	}
	if (!err)
		err = take(b, &t, cost, e);
	count_target_release(&t);
	return err;
}

/* -------------------------------------------------------------- all of them */

struct session {
	const struct opts *opts;
	struct bisect_bench bench;
	struct kernel_list kernels;
	struct bisect bisect;
};

static int check(const struct opts *opts, struct errline *e)
{
	const struct {
		bool given;
		const char *name;
	} only_run[] = {
		{ opts->good_value, "good-value" }, { opts->baseline, "baseline" }, { opts->modules, "modules" },
	};

	for (size_t i = 0; i < sizeof(only_run) / sizeof(only_run[0]); i++)
		if (only_run[i].given)
			return errline_set(e, -EINVAL, "--%s is for --run, which judges one kernel", only_run[i].name);
	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "bisect takes a bench, as in bpflab bisect --good 6.1 --bad 6.12 "
				   "trig-kprobe");
	if (opts->nr_args > 1)
		return errline_set(e, -EINVAL, "'%s': one bench is bisected at a time", opts->args[1]);
	if (!opts->good || !opts->bad)
		return errline_set(e, -EINVAL, "bisect takes --%s KERNEL, as in --good 6.1 --bad 6.12 (bpflab kernel "
				   "list shows which are here)", opts->good ? "bad" : "good");
	return 0;
}

static int measure_point(size_t idx, struct bisect_cost *cost, struct errline *e, void *ctx)
{
	struct session *s = ctx;

	return bisect_measure(&s->bench, &s->kernels.items[idx], cost, e);
}

static void tell(const struct bisect *b, size_t idx, size_t left, unsigned int steps, void *ctx)
{
	const struct bisect_point *pt = &b->points[idx];
	const struct session *s = ctx;
	char text[64];

	if (s->opts->quiet)
		return;
	fprintf(stderr, "bpflab: %s: ", pt->name);
	if (pt->measured)
		fprintf(stderr, "%s instructions per event: ",
			fraction_text(pt->cost.value, false, text, sizeof(text)));
	fprintf(stderr, "%s%s", idx && idx + 1 < b->nr ? "" : "said to be ", bisect_state_name(pt->state));
	if (pt->state == BISECT_SKIPPED)
		fprintf(stderr, " (%.300s)", pt->reason.text);
	if (steps)
		fprintf(stderr, "; %zu left, about %u more", left, steps);
	fprintf(stderr, "\n");
}

static int search(struct session *s, struct errline *e)
{
	struct bisect *b = &s->bisect;
	const struct bisect_ops ops = { .measure = measure_point, .judged = tell, .ctx = s };

	b->nr = s->kernels.nr;
	b->rule = (struct bisect_rule){ .cheaper = s->opts->cheaper, .above = s->opts->above };
	b->points = calloc(b->nr, sizeof(*b->points));
	if (!b->points)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b->nr; i++)
		b->points[i].name = s->kernels.items[i].name;
	return bisect_search(b, &ops, e);
}

static int report(const struct session *s, struct errline *e)
{
	char command[2048];
	const struct bisect_report r = { .bisect = &s->bisect, .bench = s->bench.label, .command = command,
					 .emulator = &s->bench.emulator, .quiet = s->opts->quiet };

	count_command_text(s->opts, command, sizeof(command));
	if (!s->opts->json_stdout)
		report_bisect_table(stdout, &r);
	else if (report_bisect_json(stdout, &r))
		return errline_set(e, -EIO, "cannot write to standard output");
	return output_flush_stdout(e);
}

static int exit_status(const struct bisect *b)
{
	switch (b->outcome) {
	case BISECT_FOUND:
		return EXIT_OK;
	case BISECT_NARROWED:
		return EXIT_INCONCLUSIVE;
	default:
		return EXIT_UNTRUSTED;
	}
}

int bisect_usage_status(int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--run"))
			return EXIT_INTERRUPTED;
	return EXIT_USAGE;
}

int cmd_bisect(const struct opts *opts)
{
	struct session *s;
	struct errline e = { "" };
	int err, status = EXIT_USAGE;

	if (opts->step)
		return cmd_bisect_step(opts);
	s = calloc(1, sizeof(*s));
	err = s ? check(opts, &e) : errline_set(&e, -ENOMEM, "out of memory");
	if (!err) {
		s->opts = opts;
		err = bisect_bench_init(&s->bench, opts, &e);
	}
	if (!err)
		err = bisect_kernels(&s->kernels, opts, &e);
	if (!err)
		err = search(s, &e);
	if (!err)
		err = report(s, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		print_error(&e);
	else
		status = exit_status(&s->bisect);
	if (s) {
		store_list_release(&s->kernels);
		free(s->bisect.points);
	}
	free(s);
	return status;
}
