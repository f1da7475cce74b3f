// SPDX-License-Identifier: BSD-2-Clause
/*
 * Does bpflab's statistics keep its promises? Simulated comparisons, in which the truth is known:
 *
 *	stat_test [--trials N] [--seed S] [--recorded FILE]... [CHECK]...
 *
 * A bound is a promise plus three standard errors of the simulation. Checks that bpflab has to pass are
 * run on broken ones, too, and have to fail there. The table on standard output goes into
 * docs/statistics.md.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/holm.h"
#include "stats/verdict.h"
#include "trial.h"

#define DEFAULT_TRIALS 1000
#define PROMISE 0.05
#define LOAD_SIZE(n) ((n) >= 20 ? (n) / 5 : 4)

static size_t trials = DEFAULT_TRIALS;
static uint64_t seed = 1;
static bool failed;

/* -------------------------------------------------------------- recorded noise */

static struct recording {
	const char *path;
	double *times;
	size_t nr;
} recordings[4];
static size_t nr_recordings;

/* A file of nanoseconds, one a line; kept relative to their median. */
static bool read_recording(const char *path)
{
	struct recording *r = &recordings[nr_recordings];
	FILE *f = fopen(path, "re");
	double median;
	char line[64];

	if (!f || nr_recordings == sizeof(recordings) / sizeof(recordings[0])) {
		fprintf(stderr, "stat_test: cannot read '%s': %s\n", path, f ? "too many" : strerror(errno));
		if (f)
			fclose(f);
		return false;
	}
	r->path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	while (fgets(line, sizeof(line), f)) {
		double ns = strtod(line, NULL);
		double *grown = ns > 0 ? realloc(r->times, (r->nr + 1) * sizeof(*grown)) : NULL;

		if (!grown)
			continue;
		r->times = grown;
		r->times[r->nr++] = ns;
	}
	fclose(f);
	median = r->nr ? stats_median(r->times, r->nr) : 0;
	for (size_t i = 0; i < r->nr; i++)
		r->times[i] /= median;
	nr_recordings += r->nr > 0;
	return r->nr > 0;
}

/* The @idx-th kind of noise there is, recordings included; its name, or NULL past the last. */
static const char *choose_noise(struct trial_setup *setup, size_t idx)
{
	setup->noise = idx < NOISE_RECORDED ? (enum noise_kind)idx : NOISE_RECORDED;
	if (idx < NOISE_RECORDED)
		return noise_name(setup->noise);
	idx -= NOISE_RECORDED;
	if (idx >= nr_recordings)
		return NULL;
	setup->recorded = recordings[idx].times;
	setup->nr_recorded = recordings[idx].nr;
	return recordings[idx].path;
}

/* -------------------------------------------------------------- rates */

struct rates {
	double differs; /* share of trials with an interval that excludes 0 */
	double covered; /* … that holds the true effect */
	double word[NR_VERDICTS];
	double quads;   /* mean */
};

static double bound(double rate)
{
	return rate + 3 * sqrt(rate * (1 - rate) / (double)trials);
}

static struct rates measure_rates(const struct trial_setup *setup, const struct compare_rule *rule)
{
	static struct quad quads[TRIAL_MAX_QUADS];
	struct rates r = { 0 };
	double one = 1 / (double)trials;

	for (size_t t = 0; t < trials; t++) {
		struct trial_result result;
		const struct effect *e = &result.stats.effect;
		struct rng rng = quad_rng(seed, (uint32_t)t, 0);

		trial_run(setup, rule, rng_next(&rng), quads, &result);
		r.differs += effect_excludes_zero(e) ? one : 0;
		r.covered += e->ci.lo <= log1p(setup->effect) && e->ci.hi >= log1p(setup->effect) ? one : 0;
		r.word[verdict_decide(e, rule->margin, true)] += one;
		r.quads += (double)result.n * one;
	}
	return r;
}

static void report(bool ok, const char *what, const char *noise, const char *fmt, double x, double limit)
{
	printf("%-7s %-34s %-14s ", ok ? "ok" : "FAILED", what, noise);
	printf(fmt, 100 * x, 100 * limit);
	putchar('\n');
	fflush(stdout);
	failed |= !ok;
}

static struct compare_rule fixed_rule(uint32_t n)
{
	struct compare_rule rule;

	compare_rule_init(&rule, n, 1, COMPARE_MARGIN);
	return rule;
}

/* -------------------------------------------------------------- the checks */

/* The stopping rule, exactly. */
static void check_exact(void)
{
	double level = sequential_level(sequential_looks, SEQUENTIAL_NR_LOOKS, SEQUENTIAL_ALPHA);
	double naive = sequential_level(sequential_looks, SEQUENTIAL_NR_LOOKS, PROMISE);

	report(fabs(level - 0.0451) < 5e-5, "stopping rule, exact", "-", "%6.2f %%  = %.2f %%", level,
	       0.0451);
	report(fabs(naive - 0.115) < 5e-4, "looks at 5 % each, exact", "-", "%6.2f %%  = %.1f %%", naive,
	       0.115);
}

/* A against A. */
static void check_false(void)
{
	static const uint32_t sizes[] = { 20, 80, 320 };
	struct trial_setup setup = { 0 };
	const char *noise;

	for (size_t kind = 0; (noise = choose_noise(&setup, kind)); kind++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct compare_rule rule = fixed_rule(sizes[i]);
			char what[64];
			double rate;

			setup.load_size = LOAD_SIZE(sizes[i]);
			rate = measure_rates(&setup, &rule).differs;
			snprintf(what, sizeof(what), "A/A differs, n=%u", sizes[i]);
			report(rate <= bound(PROMISE), what, noise, "%6.2f %% <= %.2f %%", rate,
			       bound(PROMISE));
		}
}

/* The default rule: looks, and stopping when the two are the same. */
static void check_false_looks(void)
{
	struct trial_setup setup = { .load_size = 8, .null = 0.135, .trigger = 0.01, .control = true };
	struct compare_rule rule;
	const char *noise;

	compare_rule_init(&rule, 0, 1, COMPARE_MARGIN);
	for (size_t kind = 0; (noise = choose_noise(&setup, kind)); kind++) {
		struct rates r = measure_rates(&setup, &rule);

		report(r.differs <= bound(PROMISE), "A/A differs, looks, with null", noise,
		       "%6.2f %% <= %.2f %%", r.differs, bound(PROMISE));
		printf("%-7s %-34s %-14s %6.2f %% the same, %.2f %% inconclusive, mean n %.0f\n", "", "",
		       noise, 100 * r.word[VERDICT_SAME], 100 * r.word[VERDICT_INCONCLUSIVE], r.quads);
	}
}

/*
 * The control, when A and B have stopped, which is a moment that A's noise has a say in. It is wrong in
 * 1 %, whether B differs or not.
 */
static void check_control(void)
{
	static struct quad quads[TRIAL_MAX_QUADS];
	static const double effects[] = { 0, 0.02 };
	double limit = COMPARE_CONTROL_ALPHA + 3 * sqrt(COMPARE_CONTROL_ALPHA / (double)trials);
	struct compare_rule rule;

	compare_rule_init(&rule, 0, 1, COMPARE_MARGIN);
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		const struct trial_setup setup = { .noise = NOISE_AR, .load_size = 8, .null = 0.135,
						   .control = true, .effect = effects[i] };
		size_t fails = 0;
		char what[64];

		for (size_t t = 0; t < trials; t++) {
			struct rng rng = quad_rng(seed, (uint32_t)t, 1u << 20);
			struct trial_result result;
			struct compare_stats st;

			trial_run(&setup, &rule, rng_next(&rng), quads, &result);
			if (compare_stats_compute(quads, result.n, &rule, true, &st))
				abort();
			fails += st.control.p <= COMPARE_CONTROL_ALPHA;
		}
		snprintf(what, sizeof(what), "control fails, B %+.0f %%", 100 * effects[i]);
		report((double)fails / (double)trials <= limit, what, noise_name(setup.noise),
		       "%6.2f %% <= %.2f %%", (double)fails / (double)trials, limit);
	}
}

/* The same medians and other tails: exactness is lost, but little else. */
static void check_tails(void)
{
	struct trial_setup setup = { .load_size = 16, .tails = 0.05 };
	struct compare_rule rule = fixed_rule(80);
	double rate = measure_rates(&setup, &rule).differs;

	report(rate <= bound(0.07), "other tails differ, n=80", "normal", "%6.2f %% <= %.2f %%", rate,
	       bound(0.07));
}

/* Programs that come to lie elsewhere with each load, where that matters. */
static void check_loads(void)
{
	static const double sigmas[] = { 0.001, 0.003, 0.01, 0.03 };
	struct compare_rule rule;

	compare_rule_init(&rule, 0, 1, COMPARE_MARGIN);
	for (size_t i = 0; i < sizeof(sigmas) / sizeof(sigmas[0]); i++) {
		struct trial_setup setup = { .load_size = 8, .load_sigma = sigmas[i] };
		struct rates r = measure_rates(&setup, &rule);
		char what[64];

		snprintf(what, sizeof(what), "A/A differs, loads scatter %.1f %%", 100 * sigmas[i]);
		report(r.differs <= bound(0.075), what, "normal", "%6.2f %% <= %.2f %%", r.differs,
		       bound(0.075));
	}
}

/* A and B that differ: found, and by how much. */
static void check_power(void)
{
	static const double effects[] = { 0.005, 0.01, 0.02, 0.03, 0.05 };
	static const enum noise_kind kinds[] = { NOISE_NORMAL, NOISE_AR, NOISE_SPIKES };
	struct compare_rule fixed = fixed_rule(80), looks;

	compare_rule_init(&looks, 0, 1, COMPARE_MARGIN);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
			struct trial_setup setup = { .noise = kinds[k], .effect = effects[i],
						     .load_size = 16 };
			struct rates r = measure_rates(&setup, &fixed);
			char what[64];

			snprintf(what, sizeof(what), "%+.1f %% found, n=80", 100 * effects[i]);
			report(effects[i] < 0.03 || r.differs >= 0.95, what, noise_name(kinds[k]),
			       "%6.2f %%%.0s", r.differs, 0);
			report(r.covered >= 0.945 - 3 * sqrt(0.05 * 0.95 / (double)trials),
			       "  … in the interval", noise_name(kinds[k]), "%6.2f %% >= %.1f %%",
			       r.covered, 0.945);
			setup.load_size = 8;
			r = measure_rates(&setup, &looks);
			report(effects[i] < 0.03 || r.differs >= 0.95, "  … found, looks",
			       noise_name(kinds[k]), "%6.2f %%%.0s", r.differs, 0);
			printf("%-7s %-34s %-14s mean n %.0f\n", "", "", noise_name(kinds[k]), r.quads);
		}
}

/* How often the interval of the net effect holds the truth, with what bpflab or a broken one does. */
static double net_coverage(enum trial_mutation mutation, double effect)
{
	const struct trial_setup setup = { .noise = NOISE_AR, .effect = effect, .null = 0.135,
					   .trigger = 0.01, .load_size = 64, .mutation = mutation };
	struct compare_rule rule = fixed_rule(320);

	return measure_rates(&setup, &rule).covered;
}

static void check_net(void)
{
	static const double effects[] = { 0, 0.03, 0.3, -0.5 };

	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		double covered = net_coverage(MUTATION_NONE, effects[i]);
		char what[64];

		snprintf(what, sizeof(what), "net %+.0f %% in the interval", 100 * effects[i]);
		report(covered >= 0.93, what, "slow walk", "%6.2f %% >= %.0f %%", covered, 0.93);
	}
}

/* What a bpflab that does it wrong would read: the checks above must notice. */
static void check_mutations(void)
{
	double covered = net_coverage(MUTATION_NO_NULL, 0.3);
	struct compare_rule rule = fixed_rule(80);
	struct trial_setup setup = { .load_size = 16, .mutation = MUTATION_SEQUENTIAL };
	static const enum noise_kind drifting[] = { NOISE_BIMODAL, NOISE_AR, NOISE_RAMP };

	report(covered < 0.93, "no null: noticed, coverage", "slow walk", "%6.2f %% <  %.0f %%", covered,
	       0.93);
	covered = net_coverage(MUTATION_OTHER_N, 0);
	report(covered < 0.93, "other N of B: noticed, coverage", "slow walk", "%6.2f %% <  %.0f %%",
	       covered, 0.93);
	for (size_t i = 0; i < sizeof(drifting) / sizeof(drifting[0]); i++) {
		double rate;

		setup.noise = drifting[i];
		rate = measure_rates(&setup, &rule).differs;
		report(rate > 0.20, "A then B: noticed, A/A differs", noise_name(drifting[i]),
		       "%6.2f %% >  %.0f %%", rate, 0.20);
	}
}

/* Twenty benches that are the same: any that is said to differ. */
static void check_suite(void)
{
	enum { ROWS = 20 };
	static struct quad quads[TRIAL_MAX_QUADS];
	const struct trial_setup setup = { .noise = NOISE_AR, .load_size = 8 };
	size_t suites = trials / 5, any = 0, any_alone = 0;
	struct compare_rule rule;
	double rate, limit = PROMISE + 3 * sqrt(PROMISE * (1 - PROMISE) / (double)suites);

	compare_rule_init(&rule, 0, ROWS, COMPARE_MARGIN);
	for (size_t s = 0; s < suites; s++) {
		double p[ROWS], adjusted[ROWS];
		bool excludes[ROWS], found = false, found_alone = false;

		for (size_t row = 0; row < ROWS; row++) {
			struct trial_result result;
			struct rng rng = quad_rng(seed, (uint32_t)s, (uint32_t)row + 1);

			trial_run(&setup, &rule, rng_next(&rng), quads, &result);
			p[row] = compare_rule_p(&rule, result.looks, result.nr_looks, result.p_least);
			excludes[row] = effect_excludes_zero(&result.stats.effect);
		}
		if (holm_adjust(p, ROWS, adjusted))
			abort();
		for (size_t row = 0; row < ROWS; row++) {
			found |= adjusted[row] <= COMPARE_ALPHA && excludes[row];
			found_alone |= excludes[row];
		}
		any += found;
		any_alone += found_alone;
	}
	rate = (double)any / (double)suites;
	report(rate <= limit, "any of 20 A/A rows differs (Holm)", "slow walk", "%6.2f %% <= %.2f %%",
	       rate, limit);
	printf("%-7s %-34s %-14s %6.2f %% by intervals alone\n", "", "", "slow walk",
	       100 * (double)any_alone / (double)suites);
}

static const struct check {
	const char *name;
	void (*run)(void);
} checks[] = {
	{ "exact", check_exact },   { "false", check_false },
	{ "looks", check_false_looks },
	{ "control", check_control }, { "tails", check_tails },
	{ "loads", check_loads },   { "power", check_power },
	{ "net", check_net },	    { "mutations", check_mutations },
	{ "suite", check_suite },
};
#define NR_CHECKS (sizeof(checks) / sizeof(checks[0]))

static int usage(void)
{
	fputs("usage: stat_test [--trials N] [--seed S] [--recorded FILE]... [CHECK]...\nchecks:", stderr);
	for (size_t i = 0; i < NR_CHECKS; i++)
		fprintf(stderr, " %s", checks[i].name);
	fputc('\n', stderr);
	return 2;
}

static bool is_chosen(const struct check *check, char **names, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i], check->name))
			return true;
	return !nr;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i += 2) {
		if (i + 1 >= argc)
			return usage();
		if (!strcmp(argv[i], "--trials"))
			trials = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--recorded") || !read_recording(argv[i + 1]))
			return usage();
	}
	if (trials < 100)
		return usage();
	printf("%zu trials a line, seed %llu\n", trials, (unsigned long long)seed);
	for (size_t c = 0; c < NR_CHECKS; c++)
		if (is_chosen(&checks[c], argv + i, argc - i))
			checks[c].run();
	for (size_t r = 0; r < nr_recordings; r++)
		free(recordings[r].times);
	puts(failed ? "FAILED" : "all is as promised");
	return failed;
}
