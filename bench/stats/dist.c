// SPDX-License-Identifier: BSD-2-Clause
/*
 * Student's t from the incomplete beta function and chi squared from the incomplete gamma function,
 * by their continued fractions and series (Abramowitz and Stegun 26.5.8, 6.5.29 and 6.5.31).
 */
#include "stats/dist.h"

#include <math.h>

#define MAX_TERMS 500
#define TINY 1e-300
#define PRECISION 1e-15

/* Keep the continued fractions' denominators away from 0 (Lentz's method). */
static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;

	for (int m = 1; m < MAX_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		step = d * c;
		result *= step;
		if (fabs(step - 1) < PRECISION)
			break;
	}
	return result;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double dist_t_cdf(double t, double df)
{
	double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;

	return t > 0 ? 1 - tail : tail;
}

double dist_t_quantile(double p, double df)
{
	double lo = -1, hi = 1;

	while (dist_t_cdf(lo, df) > p)
		lo *= 2;
	while (dist_t_cdf(hi, df) < p)
		hi *= 2;
	for (int i = 0; i < 100; i++) {
		double mid = (lo + hi) / 2;

		if (dist_t_cdf(mid, df) < p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int i = 1; i < MAX_TERMS && term > sum * PRECISION; i++) {
		term *= x / (a + i);
		sum += term;
	}
	return sum * exp(a * log(x) - x - lgamma(a));
}

static double gamma_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1 / TINY, d = 1 / not_zero(b), result = d;

	for (int i = 1; i < MAX_TERMS; i++) {
		double an = -i * (i - a), step;

		b += 2;
		d = 1 / not_zero(an * d + b);
		c = not_zero(b + an / c);
		step = d * c;
		result *= step;
		if (fabs(step - 1) < PRECISION)
			break;
	}
	return result * exp(a * log(x) - x - lgamma(a));
}

double dist_chi2_tail(double x, double df)
{
	double a = df / 2;

	if (x <= 0)
		return 1;
	x /= 2;
	return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}
