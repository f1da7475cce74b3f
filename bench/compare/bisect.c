// SPDX-License-Identifier: BSD-2-Clause
#include "compare/bisect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 15
#define MAX_DECIMALS 6
/* What a table of counts rounds to; with fewer it is exact. */
#define TABLE_DECIMALS 4
#define MATRIX_DIGITS 6

/* Whether @a is beyond @b, in the direction of @rule, by more than the share @above of it. */
static bool is_beyond(const struct bisect_rule *rule, struct fraction a, struct fraction b, double above)
{
	int cmp = fraction_cmp(a, b);

	if (rule->cheaper ? cmp >= 0 : cmp <= 0)
		return false;
	if (above <= 0)
		return true; /* exactly, whatever a double can hold */
	return rule->cheaper ? fraction_value(a) < fraction_value(b) * (1 - above) :
			       fraction_value(a) > fraction_value(b) * (1 + above);
}

/* The end of a range that is nearest to good, and the farthest one. */
static struct fraction near_end(const struct bisect_rule *rule, const struct bisect_cost *c)
{
	return rule->cheaper ? c->hi : c->lo;
}

static struct fraction far_end(const struct bisect_rule *rule, const struct bisect_cost *c)
{
	return rule->cheaper ? c->lo : c->hi;
}

enum bisect_state bisect_judge(const struct bisect_rule *rule, const struct bisect_cost *good,
			       const struct bisect_cost *cost)
{
	return is_beyond(rule, near_end(rule, cost), far_end(rule, good), rule->above) ? BISECT_BAD :
											 BISECT_GOOD;
}

enum bisect_state bisect_judge_between(const struct bisect_rule *rule, const struct bisect_cost *good,
				       const struct bisect_cost *bad, const struct bisect_cost *cost)
{
	if (bisect_judge(rule, good, cost) == BISECT_BAD)
		return BISECT_BAD;
	return is_beyond(rule, near_end(rule, bad), far_end(rule, cost), 0) ? BISECT_GOOD : BISECT_SKIPPED;
}

/* 0, 1 if the point was skipped, or a negative errno. */
static int measure(struct bisect *b, size_t idx, const struct bisect_ops *ops, struct errline *e)
{
	struct bisect_point *pt = &b->points[idx];
	struct errline why = { "" };
	int err = ops->measure(idx, &pt->cost, &why, ops->ctx);

	pt->measured = !err;
	if (err > 0)
		pt->reason = why;
	else if (err)
		*e = why;
	return err;
}

static int measure_end(struct bisect *b, size_t idx, const struct bisect_ops *ops, struct errline *e)
{
	struct bisect_point *pt = &b->points[idx];
	int err = measure(b, idx, ops, e);

	if (err > 0)
		return errline_set(e, -ENODATA, "'%s', which is said to be %s, cannot be measured: %.800s", pt->name,
				   idx ? "bad" : "good", pt->reason.text);
	pt->state = idx ? BISECT_BAD : BISECT_GOOD;
	if (!err && ops->judged)
		ops->judged(b, idx, b->nr - 2, 0, ops->ctx);
	return err;
}

static bool ends_differ(struct bisect *b)
{
	const struct bisect_cost *good = &b->points[0].cost, *bad = &b->points[b->nr - 1].cost;
	struct bisect_rule opposite = b->rule;

	if (bisect_judge(&b->rule, good, bad) == BISECT_BAD)
		return true;
	opposite.cheaper = !opposite.cheaper;
	b->outcome = bisect_judge(&opposite, good, bad) == BISECT_BAD ? BISECT_OPPOSITE : BISECT_SAME;
	return false;
}

static int measure_between(struct bisect *b, size_t idx, const struct bisect_ops *ops, struct errline *e)
{
	struct bisect_point *pt = &b->points[idx];
	int err = measure(b, idx, ops, e);

	if (err < 0)
		return err;
	pt->state = err ? BISECT_SKIPPED :
			  bisect_judge_between(&b->rule, &b->points[0].cost, &b->points[b->nr - 1].cost, &pt->cost);
	if (pt->state == BISECT_SKIPPED && !err)
		errline_set(&pt->reason, 0, "its boots are as far apart as good and bad; more of them (--runs) may "
			    "tell");
	return 0;
}

int bisect_search(struct bisect *b, const struct bisect_ops *ops, struct errline *e)
{
	enum bisect_state *states = calloc(b->nr, sizeof(*states));
	struct bisection search;
	size_t idx;
	int err = states ? measure_end(b, 0, ops, e) : errline_set(e, -ENOMEM, "out of memory");

	if (!err)
		err = measure_end(b, b->nr - 1, ops, e);
	if (err || !ends_differ(b)) {
		free(states);
		return err;
	}
	bisection_init(&search, states, b->nr);
	while (!err && (idx = bisection_next(&search)) < b->nr) {
		err = measure_between(b, idx, ops, e);
		if (err)
			break;
		bisection_tell(&search, idx, b->points[idx].state);
		if (ops->judged)
			ops->judged(b, idx, bisection_left(&search), bisection_steps(&search), ops->ctx);
	}
	b->last_good = search.good;
	b->first_bad = search.bad;
	b->outcome = search.bad == search.good + 1 ? BISECT_FOUND : BISECT_NARROWED;
	free(states);
	return err;
}

/* -------------------------------------------------------------- costs as text */

/* Up to MAX_DIGITS digits, with at most MAX_DECIMALS behind a point; *@end: behind them. */
static int parse_decimal(const char *text, int64_t *num, int64_t *den, const char **end, bool *rounded)
{
	int digits = 0, decimals = -1;

	*num = 0;
	*den = 1;
	for (; isdigit((unsigned char)*text) || (*text == '.' && decimals < 0 && digits); text++) {
		if (*text == '.') {
			decimals = 0;
			continue;
		}
		if (++digits > MAX_DIGITS || (decimals >= 0 && ++decimals > MAX_DECIMALS))
			return -EINVAL;
		*num = 10 * *num + (*text - '0');
		*den *= decimals > 0 ? 10 : 1;
	}
	*end = text;
	*rounded = decimals >= TABLE_DECIMALS || (decimals > 0 && digits >= MATRIX_DIGITS);
	return digits && decimals ? 0 : -EINVAL;
}

int bisect_parse_cost(struct bisect_cost *cost, const char *text)
{
	int64_t num, den, below, one;
	const char *end;
	bool rounded;
	int err = parse_decimal(text, &num, &den, &end, &rounded);

	memset(cost, 0, sizeof(*cost));
	cost->runs = cost->equal = 1;
	if (!err && *end == '/' && den == 1) {
		err = parse_decimal(end + 1, &below, &one, &end, &rounded);
		if (err || one != 1 || !below || *end)
			return -EINVAL;
		cost->value = cost->lo = cost->hi = fraction_make(num, below);
		return 0;
	}
	if (err || *end)
		return -EINVAL;
	cost->value = cost->lo = cost->hi = fraction_make(num, den);
	if (rounded) { /* by half a unit of the last decimal */
		cost->lo = fraction_make(2 * num - 1, 2 * den);
		cost->hi = fraction_make(2 * num + 1, 2 * den);
	}
	return 0;
}
