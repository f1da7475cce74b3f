// SPDX-License-Identifier: BSD-2-Clause
/* The series of a row's quads and the effects computed from them. */
#include "stats/compare_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVED_SHARE 0.75 /* of the quads that something must be left in, of both arms */
#define MOST_NULL_SHARE 0.95
#define SHAPE_DISTANCE 0.3
#define SHAPE_SPREAD 3
#define STEADY_MARGIN 0.02
#define STEADY_ALPHA 0.001 /* of a check, as in estimate.c */

/* One value per quad each; one allocation. */
struct series {
	double *gross, *net, *floor, *control, *scratch, *other;
	uint32_t *load;
	double *memory;
};

static int alloc_series(struct series *s, size_t n)
{
	double *p = calloc(n ? n * 7 : 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	s->memory = p;
	s->gross = p;
	s->net = p + n;
	s->floor = p + 2 * n;
	s->control = p + 3 * n;
	s->scratch = p + 4 * n;
	s->other = p + 5 * n;
	s->load = (uint32_t *)(p + 6 * n);
	return 0;
}

static double null_share(const struct quad *quads, size_t n, enum quad_arm arm, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = quad_time(&quads[i], arm, true) / quad_time(&quads[i], arm, false);
	return stats_median(scratch, n);
}

/* Whether enough is left without the null programs; a rule that treats A and B alike. */
static bool is_resolved(const struct quad *quads, size_t n, const double share[2])
{
	size_t resolved = 0;

	for (size_t i = 0; i < n; i++)
		resolved += quad_net_time(&quads[i], QUAD_A) > 0 && quad_net_time(&quads[i], QUAD_B) > 0;
	return (double)resolved >= RESOLVED_SHARE * (double)n && share[0] <= MOST_NULL_SHARE &&
	       share[1] <= MOST_NULL_SHARE;
}

/* The series that a difference is judged by, and the effect. */
static int judge(const struct quad *quads, size_t n, const struct compare_rule *rule, struct series *s,
		 struct compare_stats *out)
{
	const double *d;
	int err;

	for (size_t i = 0; i < n; i++) {
		s->gross[i] = quad_gross(&quads[i], QUAD_B);
		s->net[i] = quad_net(&quads[i], QUAD_B);
		s->load[i] = quads[i].load;
	}
	out->null_share[0] = null_share(quads, n, QUAD_A, s->scratch);
	out->null_share[1] = null_share(quads, n, QUAD_B, s->scratch);
	out->basis = is_resolved(quads, n, out->null_share) ? BASIS_NET : BASIS_GROSS;
	d = out->basis == BASIS_NET ? s->net : s->gross;
	err = effect_compute(d, s->load, n, rule->alpha, &out->effect);
	if (!err && rule->alpha_suite == rule->alpha)
		out->suite = out->effect;
	else if (!err)
		err = effect_compute(d, s->load, n, rule->alpha_suite, &out->suite);
	return err;
}

int compare_stats_look(const struct quad *quads, size_t n, const struct compare_rule *rule,
		       struct compare_stats *out)
{
	struct series s;
	int err;

	memset(out, 0, sizeof(*out));
	err = alloc_series(&s, n);
	if (err)
		return err;
	err = judge(quads, n, rule, &s, out);
	free(s.memory);
	return err;
}

double compare_stats_net_ratio(double gross_ratio, double rho)
{
	return (gross_ratio - rho) / (1 - rho);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double compare_stats_shape_distance(const double *a, const double *b, size_t n)
{
	double *x = n ? malloc(n * 2 * sizeof(*x)) : NULL, *y, most = 0;
	double median_a = stats_median(a, n), median_b = stats_median(b, n);
	size_t i = 0, j = 0;

	if (!x)
		return NAN;
	y = x + n;
	for (size_t k = 0; k < n; k++) {
		x[k] = a[k] / median_a;
		y[k] = b[k] / median_b;
	}
	qsort(x, n, sizeof(*x), compare_doubles);
	qsort(y, n, sizeof(*y), compare_doubles);
	while (i < n && j < n) {
		double at = fmin(x[i], y[j]);

		while (i < n && x[i] <= at)
			i++;
		while (j < n && y[j] <= at)
			j++;
		most = fmax(most, fabs((double)i - (double)j) / (double)n);
	}
	free(x);
	return most;
}

/*
 * The median and the floor disagree about the direction, or the times of one arm are spread in another
 * way than those of the other.
 */
static bool has_other_shape(const struct quad *quads, size_t n, struct series *s,
			    const struct compare_stats *st)
{
	double spread_a, spread_b;

	if ((st->gross.ci.lo > 0 && st->floor.ci.hi < 0) ||
	    (st->gross.ci.hi < 0 && st->floor.ci.lo > 0))
		return true;
	for (size_t i = 0; i < n; i++) {
		s->scratch[i] = quad_time(&quads[i], QUAD_A, false);
		s->other[i] = quad_time(&quads[i], QUAD_B, false);
	}
	spread_a = stats_mad_sigma(s->scratch, n) / stats_median(s->scratch, n);
	spread_b = stats_mad_sigma(s->other, n) / stats_median(s->other, n);
	return fmax(spread_a, spread_b) > SHAPE_SPREAD * fmin(spread_a, spread_b) &&
	       compare_stats_shape_distance(s->scratch, s->other, n) > SHAPE_DISTANCE;
}

static double find_unsteady(const double *d, size_t n)
{
	size_t quarter = n / 4;
	struct interval ci;
	double rest;

	if (!quarter || !stats_median_ci(d, quarter, STEADY_ALPHA, &ci))
		return 0;
	rest = stats_median(d + quarter, n - quarter);
	if (ci.lo <= rest + STEADY_MARGIN && ci.hi >= rest - STEADY_MARGIN)
		return 0;
	return expm1(stats_median(d, quarter) - rest);
}

static void cost_of(const struct quad *quads, size_t n, enum quad_arm arm, struct series *s,
		    struct compare_stats *st)
{
	for (size_t i = 0; i < n; i++)
		s->scratch[i] = st->basis == BASIS_NET ? quad_net_time(&quads[i], arm) :
							 quad_time(&quads[i], arm, false);
	st->cost[arm].ns = stats_median(s->scratch, n);
	if (!stats_median_ci(s->scratch, n, 0.05, &st->cost[arm].ci))
		st->cost[arm].ci = (struct interval){ NAN, NAN };
}

static int null_effect(const struct quad *quads, size_t n, struct series *s, struct effect *effect)
{
	for (size_t i = 0; i < n; i++)
		s->scratch[i] = log(quad_time(&quads[i], QUAD_B, true) /
				    quad_time(&quads[i], QUAD_A, true));
	return effect_compute(s->scratch, s->load, n, COMPARE_ALPHA, effect);
}

static int compute_rest(const struct quad *quads, size_t n, const struct compare_rule *rule,
			bool control, struct series *s, struct compare_stats *st)
{
	int err = effect_compute(s->gross, s->load, n, rule->alpha, &st->gross);

	if (!err && st->basis == BASIS_NET)
		st->net = st->effect;
	for (size_t i = 0; i < n; i++) {
		s->floor[i] = quad_floor(&quads[i], QUAD_B);
		if (control)
			s->control[i] = st->basis == BASIS_NET ? quad_net(&quads[i], QUAD_CONTROL) :
								 quad_gross(&quads[i], QUAD_CONTROL);
	}
	if (!err)
		err = effect_compute(s->floor, s->load, n, rule->alpha, &st->floor);
	if (!err)
		err = null_effect(quads, n, s, &st->null);
	if (!err && control)
		err = effect_compute(s->control, s->load, n, COMPARE_CONTROL_ALPHA, &st->control);
	if (err)
		return err;
	st->unsteady = find_unsteady(st->basis == BASIS_NET ? s->net : s->gross, n);
	st->shape_differs = has_other_shape(quads, n, s, st);
	cost_of(quads, n, QUAD_A, s, st);
	cost_of(quads, n, QUAD_B, s, st);
	return 0;
}

/* Of no quads there are no figures, rather than such that are 0. */
static void set_unknown(struct compare_stats *st)
{
	struct effect *const effects[] = { &st->gross, &st->net, &st->floor, &st->null, &st->control };

	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		effect_compute(NULL, NULL, 0, COMPARE_ALPHA, effects[i]);
	for (int arm = 0; arm < 2; arm++) {
		st->cost[arm].ns = NAN;
		st->cost[arm].ci = (struct interval){ NAN, NAN };
	}
}

int compare_stats_compute(const struct quad *quads, size_t n, const struct compare_rule *rule,
			  bool control, struct compare_stats *out)
{
	struct series s;
	int err;

	memset(out, 0, sizeof(*out));
	err = alloc_series(&s, n);
	if (err)
		return err;
	err = judge(quads, n, rule, &s, out);
	if (!err && n)
		err = compute_rest(quads, n, rule, control, &s, out);
	else if (!err)
		set_unknown(out);
	free(s.memory);
	return err;
}
