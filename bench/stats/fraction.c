// SPDX-License-Identifier: BSD-2-Clause
#include "stats/fraction.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const struct fraction invalid = { 0, 0 };

static struct fraction reduce(__int128 num, __int128 den)
{
	__int128 a = num < 0 ? -num : num, b = den < 0 ? -den : den;

	if (!den)
		return invalid;
	while (b) {
		__int128 rest = a % b;

		a = b;
		b = rest;
	}
	if (den < 0)
		a = -a;
	num /= a;
	den /= a;
	if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX)
		return invalid;
	return (struct fraction){ (int64_t)num, (int64_t)den };
}

struct fraction fraction_make(int64_t num, int64_t den)
{
	return reduce(num, den);
}

struct fraction fraction_sub(struct fraction a, struct fraction b)
{
	/* each product is below 2^126 */
	return reduce((__int128)a.num * b.den - (__int128)b.num * a.den, (__int128)a.den * b.den);
}

struct fraction fraction_div(struct fraction a, struct fraction b)
{
	if (!a.den || !b.den)
		return invalid;
	return reduce((__int128)a.num * b.den, (__int128)a.den * b.num);
}

int fraction_cmp(struct fraction a, struct fraction b)
{
	__int128 left = (__int128)a.num * b.den, right = (__int128)b.num * a.den;

	return left < right ? -1 : left > right;
}

double fraction_value(struct fraction f)
{
	return f.den ? (double)f.num / (double)f.den : NAN;
}

const char *fraction_text(struct fraction f, bool exact, char *buf, size_t size)
{
	int digits = 0;

	if (!f.den)
		snprintf(buf, size, "-");
	else if (f.den == 1)
		snprintf(buf, size, "%" PRId64, f.num);
	else if (10000 % f.den == 0) {
		while (digits < 4 && (int64_t)pow(10, digits) % f.den)
			digits++;
		snprintf(buf, size, "%.*f", digits, fraction_value(f));
	} else if (exact) {
		snprintf(buf, size, "%.4f (%" PRId64 "/%" PRId64 ")", fraction_value(f), f.num, f.den);
	} else {
		snprintf(buf, size, "%.4f", fraction_value(f));
	}
	return buf;
}
