/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In which kernel did a bench become dearer? Costs are counted instructions, each kernel booted a few
 * times; what differs between boots of one kernel is its scatter, and no difference counts that is within.
 */
#ifndef BPFLAB_COMPARE_BISECT_H
#define BPFLAB_COMPARE_BISECT_H

#include <stdbool.h>
#include <stddef.h>

#include "errline.h"
#include "stats/bisection.h"
#include "stats/fraction.h"

struct bisect_cost {
	struct fraction value, lo, hi; /* per event; of all boots */
	size_t runs, equal;            /* boots, and those that gave @value */
};

struct bisect_rule {
	bool cheaper;  /* bad is what became cheaper */
	double above;  /* … by more than this share of the good one's */
};

/* What @cost is, beside that of a good kernel: BISECT_BAD if every boot is beyond every good one. */
enum bisect_state bisect_judge(const struct bisect_rule *rule, const struct bisect_cost *good,
			       const struct bisect_cost *cost);
/*
 * The same with the bad end known: BISECT_SKIPPED if boots of one kernel are as far apart as good
 * and bad, so that nothing can be said.
 */
enum bisect_state bisect_judge_between(const struct bisect_rule *rule, const struct bisect_cost *good,
				       const struct bisect_cost *bad, const struct bisect_cost *cost);

enum bisect_outcome {
	BISECT_FOUND,    /* the neighbours @last_good and @first_bad */
	BISECT_NARROWED, /* … that have skipped ones between them */
	BISECT_SAME,     /* good and bad do not differ by as much as the rule says */
	BISECT_OPPOSITE, /* they do, but the other way round */
};

struct bisect_point {
	const char *name;     /* set by the caller */
	bool measured;
	enum bisect_state state;
	struct bisect_cost cost;
	struct errline reason; /* why it was skipped */
};

struct bisect {
	struct bisect_point *points; /* in order; the first is said to be good, the last to be bad */
	size_t nr;
	struct bisect_rule rule;
	enum bisect_outcome outcome;
	size_t last_good, first_bad;
};

struct bisect_ops {
	/*
	 * Measure point @idx: 0 with its cost, 1 if that cannot be done, with the reason, or a negative errno
	 * that ends it all.
	 */
	int (*measure)(size_t idx, struct bisect_cost *cost, struct errline *e, void *ctx);
	/* Point @idx was judged; @left are in question, which takes about @steps more. May be NULL. */
	void (*judged)(const struct bisect *b, size_t idx, size_t left, unsigned int steps, void *ctx);
	void *ctx;
};

/*
 * Both ends first, then what is between. 0 with the outcome; -ENODATA with a line if an end cannot be measured;
 * what @ops->measure gave.
 */
int bisect_search(struct bisect *b, const struct bisect_ops *ops, struct errline *e);

/*
 * A cost as a command line has it: 339, 10.25, 321/32, or 10.0312 as a table has it: what was rounded to that. -EINVAL
 * if it is none.
 */
int bisect_parse_cost(struct bisect_cost *cost, const char *text);

#endif
