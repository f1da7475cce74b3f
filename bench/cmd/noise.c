// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab noise`: what differences this machine can show, from a bench compared with itself on each
 * target, in the same quads as `bpflab compare` runs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cmd/guests.h"
#include "commands.h"
#include "compare/comparison.h"
#include "measure/progress.h"
#include "report/report_json.h"
#include "stats/noise_stats.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

#define DEFAULT_BENCH "arr-inc"
#define DEFAULT_SECONDS 5
#define FIRST_QUADS 40
#define MOST_QUADS 10000000

static const double spans[] = { 1, 10, 60 };
#define NR_SPANS (sizeof(spans) / sizeof(spans[0]))

struct noise {
	struct comparison comparison;
	struct target *targets; /* two of each, for objects to be loaded twice */
	struct noise_stats *stats;
	const struct env *env;
};

/* The targets that work, if none is given. */
static int choose_targets(struct opts_list *on, const struct opts *opts, struct errline *e)
{
	static const char *const specs[] = { "user", "host" };
	struct errline why = { "" };
	struct target t;

	*on = opts->on;
	for (size_t i = 0; i < on->nr; i++)
		if (guests_is_vm(on->items[i]))
			return errline_set(e, -EINVAL, "'%s': how exact times are is a matter of this machine, and a "
					   "vm's are an emulator's; what differs between kernels is counted exactly: "
					   "--count=insns of run and compare", on->items[i]);
	for (size_t i = 0; i < 2 && !opts->on.nr; i++)
		if (!target_parse(&t, specs[i], &why) && !target_probe(&t, &why))
			on->items[on->nr++] = specs[i];
	if (on->nr)
		return 0;
	return errline_set(e, -ENODEV, "no target works here (bpflab doctor says why); the last: %s",
			   why.text);
}

static int build_rows(struct noise *noise, struct errline *e)
{
	struct comparison *c = &noise->comparison;
	const struct suite *s = &c->suite;
	int err = comparison_alloc_rows(c, s->nr_points, e);

	if (err)
		return err;
	noise->targets = calloc(s->nr_targets * 2, sizeof(*noise->targets));
	noise->stats = calloc(s->nr_points, sizeof(*noise->stats));
	if (!noise->targets || !noise->stats)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->nr_targets * 2; i++)
		noise->targets[i] = s->targets[i / 2];
	for (size_t i = 0; i < s->nr_points; i++) {
		const struct bench_inst *inst = &s->points[i].inst;
		struct comparison_row *row = &c->rows[i];
		size_t target = (size_t)(inst->target - s->targets);

		snprintf(row->label, sizeof(row->label), "%s", s->points[i].label);
		row->params = inst->params;
		row->arms[QUAD_A].bench = row->arms[QUAD_B].bench = inst->bench;
		row->arms[QUAD_A].target = &noise->targets[2 * target];
		row->arms[QUAD_B].target = &noise->targets[2 * target + 1];
	}
	return 0;
}

static int build(struct noise *noise, const struct opts *opts, struct errline *e)
{
	static const char *default_args[] = { DEFAULT_BENCH };
	struct comparison *c = &noise->comparison;
	struct opts copy = *opts;
	int err = choose_targets(&copy.on, opts, e);

	if (!opts->nr_args) {
		copy.args = default_args;
		copy.nr_args = 1;
	}
	if (!err)
		err = suite_build(&c->suite, &copy, e);
	if (!err)
		err = build_rows(noise, e);
	if (err)
		return err;
	compare_rule_init(&c->rule, MOST_QUADS, c->nr_rows, COMPARE_MARGIN);
	/* A first look, for batches to be shortened if the machine is busy. */
	c->rule.looks[0] = FIRST_QUADS;
	c->rule.looks[1] = MOST_QUADS;
	c->rule.nr_looks = 2;
	c->to_the_end = true;
	c->loads = 1;
	c->warmup = opts->warmup;
	c->max_seconds = (opts->duration > 0 ? opts->duration : DEFAULT_SECONDS) * (double)c->nr_rows;
	if (opts->has_seed)
		c->seed = opts->seed;
	else if (getrandom(&c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
		c->seed = sample_now_ns();
	return 0;
}

static int compute(struct noise *noise, struct errline *e)
{
	struct comparison *c = &noise->comparison;

	for (size_t i = 0; i < c->nr_rows; i++) {
		struct comparison_row *row = &c->rows[i];
		struct quad *used;
		size_t n;
		int err;

		if (row->failed)
			continue;
		used = comparison_used_quads(row, &n);
		err = used ? noise_stats_compute(used, n, c->seconds / (double)c->nr_rows,
						 &noise->stats[i]) : -ENOMEM;
		free(used);
		if (err == -ENODATA)
			return errline_set(e, err, "%s on %s: %zu quads are too few; a longer run (-d) has "
					   "more", row->label, row->arms[QUAD_A].target->spec, n);
		if (err)
			return errline_set(e, err, "out of memory");
	}
	return 0;
}

/* -------------------------------------------------------------- views */

static void print_percent(FILE *f, double share, int width)
{
	double percent = 100 * share;

	fprintf(f, "%*.*f %%", width - 2, percent < 1 ? 2 : percent < 10 ? 1 : 0, percent);
}

static void print_row(FILE *f, const struct comparison_row *row, const struct noise_stats *st,
		      int bench_width, int target_width)
{
	fprintf(f, "%-*s  %-*s", bench_width, row->label, target_width, row->arms[QUAD_A].target->spec);
	for (size_t i = 0; i < NR_SPANS; i++)
		print_percent(f, noise_smallest_difference(st, spans[i]), 9);
	print_percent(f, st->sigma, 11);
	fprintf(f, "  %+6.2f  %+6.2f", st->acf_quads, st->acf_times);
	print_percent(f, st->drift, 8);
	fprintf(f, "%9.0f", st->quads_per_second);
	fprintf(f, "%6.0f %%\n", row->nr_quads ? 100.0 * (double)(row->nr_quads - row->nr_clean) /
		(double)row->nr_quads : 0);
}

static void print_table(FILE *f, const struct noise *noise, bool quiet)
{
	const struct comparison *c = &noise->comparison;
	int bench_width = 5, target_width = 6;

	for (size_t i = 0; i < c->nr_rows; i++) {
		int len = (int)strlen(c->rows[i].label);

		bench_width = len > bench_width ? len : bench_width;
		len = (int)strlen(c->rows[i].arms[QUAD_A].target->spec);
		target_width = len > target_width ? len : target_width;
	}
	fprintf(f, "The smallest difference that a comparison finds here nine times in ten:\n\n");
	fprintf(f, "%-*s  %-*s    in 1 s     10 s     60 s  sigma quad   acf d   acf T   drift  quads/s  "
		   "disturbed\n", bench_width, "bench", target_width, "target");
	for (size_t i = 0; i < c->nr_rows; i++)
		if (!c->rows[i].failed)
			print_row(f, &c->rows[i], &noise->stats[i], bench_width, target_width);
	if (quiet)
		return;
	fprintf(f, "\nEach bench against itself, %.1f s in all, steal %.1f %%, seed 0x%llx. Warming up comes on "
		   "top.\nacf: how much a quad's ratio (d), or its time "
		   "(T), says about the next.\n", c->seconds, c->steal_percent,
		(unsigned long long)c->seed);
	fprintf(f, "%s, Linux %s%s%s%s\n", noise->env->cpu[0] ? noise->env->cpu : noise->env->arch,
		noise->env->kernel, noise->env->hypervisor[0] ? ", virtual machine (" : "",
		noise->env->hypervisor, noise->env->hypervisor[0] ? ")" : "");
}

static json_t *row_json(const struct noise *noise, size_t idx)
{
	const struct comparison *c = &noise->comparison;
	const struct comparison_row *row = &c->rows[idx];
	const struct noise_stats *st = &noise->stats[idx];
	const struct target *t = row->arms[QUAD_A].target;
	json_t *smallest = json_object(), *o;
	char key[16], seed[32];

	for (size_t i = 0; i < NR_SPANS; i++) {
		snprintf(key, sizeof(key), "%g", spans[i]);
		json_object_set_new(smallest, key, number(noise_smallest_difference(st, spans[i])));
	}
	snprintf(seed, sizeof(seed), "0x%016llx", (unsigned long long)c->seed);
	o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "schema", "bpflab.noise/1", "bench", row->label,
		      "target", t->kind->name, "variant", report_json_variant(t), "params",
		      report_json_params(&row->arms[QUAD_A].live.inst), "smallest_difference", smallest);
	if (!o)
		return NULL;
	json_object_set_new(o, "sigma_quad", number(st->sigma));
	json_object_set_new(o, "sigma_quad_gross", number(st->sigma_gross));
	json_object_set_new(o, "acf_quads", number(st->acf_quads));
	json_object_set_new(o, "acf_times", number(st->acf_times));
	json_object_set_new(o, "drift", number(st->drift));
	json_object_set_new(o, "quads_per_second", number(st->quads_per_second));
	json_object_set_new(o, "quads", json_integer((json_int_t)row->nr_quads));
	json_object_set_new(o, "quads_disturbed",
			    json_integer((json_int_t)(row->nr_quads - row->nr_clean)));
	json_object_set_new(o, "difference", json_pack("{s:o, s:o, s:o, s:f}", "ratio",
			    number(exp(st->effect.log_ratio)), "ci_lo", number(exp(st->effect.ci.lo)),
			    "ci_hi", number(exp(st->effect.ci.hi)), "p", st->effect.p));
	json_object_set_new(o, "steal_percent", number(c->steal_percent));
	json_object_set_new(o, "seconds", number(c->seconds));
	json_object_set_new(o, "seed", json_string(seed));
	json_object_set_new(o, "env", env_json(noise->env));
	return o;
}

static int view_json(FILE *f, const void *ctx)
{
	const struct noise *noise = ctx;

	int err = 0;

	for (size_t i = 0; i < noise->comparison.nr_rows && !err; i++)
		if (!noise->comparison.rows[i].failed)
			err = json_line_put(f, row_json(noise, i));
	return err;
}

static int report(struct noise *noise, const struct opts *opts, struct errline *e)
{
	struct env env;
	int err = compute(noise, e);

	if (err)
		return err;
	env_collect(&env);
	noise->env = &env;
	if (!opts->json || strcmp(opts->json, "-")) {
		print_table(stdout, noise, opts->quiet);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, view_json, noise, e);
	env_release(&env);
	return err;
}

static int measure(struct noise *noise, const struct opts *opts, struct errline *e)
{
	struct comparison *c = &noise->comparison;
	int err = opts->json ? output_check(opts->json, e) : 0;

	if (!err)
		err = build(noise, opts, e);
	if (!err)
		err = suite_start_producers(&c->suite, opts, e);
	if (err)
		return err;
	progress_begin(opts);
	err = comparison_measure(c, e);
	return err ? err : report(noise, opts, e);
}

int cmd_noise(const struct opts *opts)
{
	struct noise noise = { 0 };
	struct errline e = { "" };
	int err = measure(&noise, opts, &e), status = EXIT_OK;

	if (interrupt_signal()) {
		status = EXIT_INTERRUPTED + interrupt_signal();
	} else if (err) {
		print_error(&e);
		status = EXIT_USAGE;
	}
	for (size_t i = 0; i < noise.comparison.nr_rows && status == EXIT_OK; i++)
		if (noise.comparison.rows[i].failed) {
			print_error(&noise.comparison.rows[i].error);
			status = EXIT_BENCH_FAILED;
		}
	comparison_release(&noise.comparison);
	free(noise.targets);
	free(noise.stats);
	return status;
}
