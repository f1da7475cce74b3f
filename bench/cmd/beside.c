// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab run prog-pack --instances K -- COMMAND`: how long a command takes beside K processes, each with 8
 * loaded programs of which 5 are run for ever. Several runs on each target, targets in random order
 * within each round; runs of one round are compared with each other.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "commands.h"
#include "machine/code_memory.h"
#include "machine/env.h"
#include "measure/command.h"
#include "measure/instances.h"
#include "stats/rng.h"
#include "stats/stats.h"
#include "target.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

struct side {
	struct target target;
	double *seconds; /* by round */
	struct command_result last;
	uint64_t misses, instructions, kernel_bytes;
	struct instances_result programs; /* events of all rounds, memory of the last */
};

struct beside {
	const struct opts *opts;
	char *const *command;
	struct side *sides;
	size_t nr_sides;
	uint32_t rounds, done;
	struct rng rng;
	uint64_t seed;
};

static int check(const struct opts *opts, struct errline *e)
{
	static const char how[] = "as in bpflab run prog-pack --instances 20 -- make -j2";

	if (opts->nr_args == opts->nr_bench_args)
		return errline_set(e, -EINVAL, "--instances: no command after '--', %s", how);
	if (opts->nr_bench_args != 1 || strcmp(opts->args[0], "prog-pack"))
		return errline_set(e, -EINVAL, "--instances is for the bench prog-pack alone, %s", how);
	if (opts->csv || opts->classic || opts->sweep.nr || opts->programs || opts->producers)
		return errline_set(e, -EINVAL, "--instances measures a command: leave out --%s",
				   opts->csv      ? "csv" :
				   opts->classic  ? "classic" :
				   opts->sweep.nr ? "sweep" :
				   opts->programs ? "programs" :
						    "producers");
	return opts->json ? output_check(opts->json, e) : 0;
}

static int parse_targets(struct beside *b, struct errline *e)
{
	static const struct opts_list only_user = { .items = { "user" }, .nr = 1 };
	const struct opts_list *on = b->opts->on.nr ? &b->opts->on : &only_user;
	struct errline why;
	int err = 0;

	b->sides = calloc(on->nr, sizeof(*b->sides));
	if (!b->sides)
		return errline_set(e, -ENOMEM, "out of memory");
	for (; b->nr_sides < on->nr && !err; b->nr_sides++) {
		struct side *side = &b->sides[b->nr_sides];

		err = target_parse(&side->target, on->items[b->nr_sides], e);
		if (!err && target_probe(&side->target, &why))
			err = errline_set(e, -ENODEV, "target '%s' does not work here: %s",
					  on->items[b->nr_sides], why.text);
		side->seconds = calloc(b->rounds, sizeof(*side->seconds));
		if (!err && !side->seconds)
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	return err;
}

static int prepare(const struct beside *b, struct errline *e)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)b->opts->prepare, NULL };
	struct command_result r;
	struct errline why;
	int err = b->opts->prepare ? command_run(argv, true, &r, &why) : 0;

	return err == -EINTR ? err : err ? errline_set(e, err, "--prepare: %s", why.text) : 0;
}

/* The kernel has one for all programs, while they are loaded; libbpfu's is each instance's own. */
static void read_kernel_memory(struct side *side)
{
	struct code_memory m;

	if (strcmp(side->target.kind->name, "host"))
		return;
	code_memory_read(false, false, &m);
	side->kernel_bytes = m.bytes;
}

static int one_run(struct beside *b, struct side *side, struct errline *e)
{
	struct instances_result programs;
	struct instances all;
	struct errline end;
	int err = prepare(b, e), end_err;

	if (!err)
		err = instances_start(&all, b->opts->instances, &side->target, e);
	if (err)
		return err;
	read_kernel_memory(side);
	err = command_run(b->command, b->opts->quiet, &side->last, e);
	end_err = instances_stop(&all, &programs, err ? &end : e);
	if (err || end_err)
		return err ? err : end_err;
	side->seconds[b->done] = side->last.seconds;
	side->misses += side->last.itlb_misses;
	side->instructions += side->last.instructions;
	side->programs.events += programs.events;
	side->programs.code_bytes = programs.code_bytes + side->kernel_bytes;
	side->programs.huge_bytes = programs.huge_bytes;
	return 0;
}

static int run_rounds(struct beside *b, struct errline *e)
{
	uint32_t *order = calloc(b->nr_sides, sizeof(*order));
	int err = order ? 0 : errline_set(e, -ENOMEM, "out of memory");

	for (size_t i = 0; i < b->nr_sides && !err; i++)
		order[i] = (uint32_t)i;
	for (; b->done < b->rounds && !err; b->done++) {
		rng_shuffle(&b->rng, order, b->nr_sides);
		for (size_t i = 0; i < b->nr_sides && !err; i++) {
			if (!b->opts->quiet)
				fprintf(stderr, "bpflab: run %u of %u beside %u instances on %s\n",
					b->done + 1, b->rounds, b->opts->instances,
					b->sides[order[i]].target.spec);
			err = interrupt_signal() ? -EINTR : one_run(b, &b->sides[order[i]], e);
		}
	}
	free(order);
	return err;
}

/* Mean and interval (Student's t, for which a handful of runs is enough) of the logarithms, undone. */
static double geo_mean(const double *x, const double *per, size_t n, struct interval *ci)
{
	double *logs = calloc(n, sizeof(*logs)), mean, half = INFINITY;

	if (!logs)
		return NAN;
	for (size_t i = 0; i < n; i++)
		logs[i] = log(x[i]) - (per ? log(per[i]) : 0);
	mean = stats_mean(logs, n);
	if (n > 1)
		half = stats_t975(n - 1) * stats_stddev(logs, n) / sqrt((double)n);
	free(logs);
	ci->lo = exp(mean - half);
	ci->hi = exp(mean + half);
	return exp(mean);
}

static void print_side(const struct beside *b, const struct side *side)
{
	struct interval ci, rel;
	double mean = geo_mean(side->seconds, NULL, b->rounds, &ci), ratio;

	printf("%-22s %4u %9.3f  ", side->target.spec, b->rounds, mean);
	if (b->rounds > 1)
		printf("[%.3f, %.3f]", ci.lo, ci.hi);
	else
		printf("-");
	if (side != b->sides && b->rounds < 2) {
		ratio = geo_mean(side->seconds, b->sides[0].seconds, b->rounds, &rel);
		printf("  %+.1f %%", 100 * (ratio - 1));
	} else if (side != b->sides) {
		ratio = geo_mean(side->seconds, b->sides[0].seconds, b->rounds, &rel);
		printf("  %+.1f %% [%+.1f, %+.1f]", 100 * (ratio - 1), 100 * (rel.lo - 1),
		       100 * (rel.hi - 1));
	}
	putchar('\n');
}

static void print_remarks(const struct beside *b)
{
	for (size_t i = 0; i < b->nr_sides; i++) {
		const struct side *side = &b->sides[i];

		printf("%s: %llu runs of %u programs, all as asked for", side->target.spec,
		       (unsigned long long)side->programs.events,
		       b->opts->instances * INSTANCE_TRIGGERED);
		if (side->kernel_bytes)
			printf("; code memory of all programs of the kernel %llu KiB",
			       (unsigned long long)side->kernel_bytes >> 10);
		else if (side->programs.code_bytes)
			printf("; code memory of the instances %llu KiB, %llu KiB of it in huge pages",
			       (unsigned long long)side->programs.code_bytes >> 10,
			       (unsigned long long)side->programs.huge_bytes >> 10);
		if (side->last.has_counters)
			printf("; the command's iTLB misses: %.3g in 1000 instructions",
			       side->instructions ? 1000.0 * (double)side->misses /
							    (double)side->instructions : 0);
		putchar('\n');
		if (b->rounds > 1 && side->seconds[0] > 2 * stats_median(side->seconds, b->rounds))
			printf("%s: the first run took more than twice as long as the others: if the "
			       "command found its work done, --prepare 'make clean'\n",
			       side->target.spec);
	}
	if (!b->sides[0].last.has_counters)
		printf("\nNo iTLB counters: this machine has no PMU that may be used (a virtual machine, "
		       "or\nkernel.perf_event_paranoid); time is all there is to compare.\n");
}

static void print_table(const struct beside *b)
{
	printf("%-22s %4s %9s  %s%s\n", "target", "runs", "seconds", "95 % CI",
	       b->nr_sides > 1 ? "           against the first [95 % CI]" : "");
	for (size_t i = 0; i < b->nr_sides; i++)
		print_side(b, &b->sides[i]);
	if (b->opts->quiet)
		return;
	putchar('\n');
	print_remarks(b);
	printf("\n%u instances with %d programs each, %d of them running; seed 0x%016llx.\n",
	       b->opts->instances, INSTANCE_PROGRAMS, INSTANCE_TRIGGERED,
	       (unsigned long long)b->seed);
}

static json_t *side_json(const struct beside *b, const struct side *side)
{
	struct interval ci;
	double mean = geo_mean(side->seconds, NULL, b->rounds, &ci);
	json_t *runs = json_array(), *words = json_array();

	for (uint32_t i = 0; i < b->rounds; i++)
		json_array_append_new(runs, json_real(side->seconds[i]));
	for (char *const *w = b->command; *w; w++)
		json_array_append_new(words, json_string(*w));
	return json_pack("{s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:f, s:[o,o], s:o, s:I, s:o, s:o, s:o, s:o}",
			 "schema", "bpflab.beside/1", "bench", "prog-pack", "target", side->target.spec,
			 "command", words, "instances", (int)b->opts->instances, "programs",
			 INSTANCE_PROGRAMS, "triggered", INSTANCE_TRIGGERED, "seconds", mean, "ci95",
			 b->rounds > 1 ? json_real(ci.lo) : json_null(),
			 b->rounds > 1 ? json_real(ci.hi) : json_null(), "runs", runs, "events",
			 (json_int_t)side->programs.events, "code_bytes",
			 side->programs.code_bytes ? json_integer((json_int_t)side->programs.code_bytes) :
						     json_null(), "huge_bytes",
			 side->programs.code_bytes ? json_integer((json_int_t)side->programs.huge_bytes) :
						     json_null(), "itlb_misses",
			 side->last.has_counters ? json_integer((json_int_t)side->misses) : json_null(),
			 "instructions", side->last.has_counters ?
			 json_integer((json_int_t)side->instructions) : json_null());
}

static int write_json(FILE *f, const void *ctx)
{
	const struct beside *b = ctx;
	struct env env;
	int err = 0;

	env_collect(&env);
	for (size_t i = 0; i < b->nr_sides && !err; i++) {
		json_t *o = side_json(b, &b->sides[i]);

		if (o && json_object_set_new(o, "env", env_json(&env))) {
			json_decref(o);
			o = NULL;
		}
		err = json_line_put(f, o);
	}
	env_release(&env);
	return err;
}

static int report(const struct beside *b, struct errline *e)
{
	int err = 0;

	if (!b->opts->json || strcmp(b->opts->json, "-")) {
		print_table(b);
		err = output_flush_stdout(e);
	}
	return err ? err : output_view(b->opts->json, write_json, b, e);
}

int cmd_run_beside(const struct opts *opts)
{
	struct errline e = { "" };
	struct beside b = { .opts = opts, .rounds = opts->rounds ? opts->rounds : BESIDE_RUNS };
	int err = check(opts, &e), status = EXIT_OK;

	b.command = (char *const *)opts->args + opts->nr_bench_args;
	b.seed = opts->has_seed ? opts->seed : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15ull;
	b.rng.state = b.seed;
	if (!err)
		err = parse_targets(&b, &e);
	if (!err)
		err = run_rounds(&b, &e);
	if (!err)
		err = report(&b, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = err == -EBADMSG ? EXIT_BENCH_FAILED : EXIT_USAGE;
	if (err && !interrupt_signal())
		print_error(&e);
	for (size_t i = 0; i < b.nr_sides; i++)
		free(b.sides[i].seconds);
	free(b.sides);
	return status;
}
