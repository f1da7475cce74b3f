/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison: rows, each of them a bench on A and on B, measured in quads until its rule is content.
 *
 *	look 1            look 2            …
 *	|load|load|load|  |load|load|load|     every load: new programs and maps of all arms, loaded in
 *	 ||||  …                               random order among programs of random size, so that they
 *	 rounds                                come to lie elsewhere; a few rounds with them;
 *	                                       a round: one quad of every row that goes on
 *
 * comparison_build.c makes the rows, comparison_measure.c measures them, comparison_judge.c says what
 * came of it.
 */
#ifndef BPFLAB_COMPARISON_H
#define BPFLAB_COMPARISON_H

#include "measure/prog_info.h"
#include "measure/suite.h"
#include "opts.h"
#include "stats/compare_rule.h"
#include "stats/compare_stats.h"
#include "stats/quads.h"
#include "stats/verdict.h"

#define COMPARISON_MAX_NOTES 8

struct comparison_batch {
	struct batch batch;
	struct quad_slot slot;
	uint8_t position; /* in the quad */
	uint32_t load;
};

struct comparison_arm {
	const struct bench *bench;
	const struct target *target;
	struct point live;       /* of the current load */
	struct prog_info prog; /* of the first */
};

/* What the fresh run for a regression found. */
struct comparison_confirmation {
	bool done, confirmed;
	uint64_t seed;
	size_t quads;
	struct effect effect;
};

struct comparison_row {
	char label[128];
	struct comparison_arm arms[QUAD_NR_ARMS];
	struct bench_params params;
	uint32_t idx;           /* for the random orders */
	uint64_t ops;           /* of every batch */
	uint64_t events_per_op;   /* that are left when the null program is subtracted, */
	uint64_t executed_per_op; /* … and that the measured program runs */
	size_t warmup_batches;

	struct quad *quads; /* of all rounds, */
	size_t nr_quads, max_quads;
	size_t nr_clean;    /* … undisturbed ones among them */
	bool crowded;       /* there are so few that all are used */
	bool shortened;     /* … and so they were made shorter */
	struct comparison_batch *batches; /* in time order */
	size_t nr_batches, max_batches;

	uint32_t looks[SEQUENTIAL_NR_LOOKS]; /* how many quads there were at each that took place */
	size_t nr_looks;
	double p_least;
	bool done;
	uint64_t expected, counted; /* events of all arms' programs */
	int failed;                 /* negative errno; then @error says why */
	struct errline error;

	/* comparison_judge() */
	struct compare_stats stats;
	size_t used;            /* quads */
	double p, p_holm, fdr;
	enum verdict verdict;
	bool control_failed;
	uint64_t needed;        /* quads, if inconclusive */
	char *notes[COMPARISON_MAX_NOTES];
	size_t nr_notes;
	struct comparison_confirmation confirmation;
	char *why; /* of @explain, or NULL */
};

struct comparison {
	struct suite suite, suite_b; /* benches, targets and producers; no points of theirs are opened */
	struct target targets[QUAD_NR_ARMS]; /* one each, so that objects are loaded for each arm */
	char names[2][256];          /* A and B, as they are shown */
	struct comparison_row *rows;
	size_t nr_rows;

	struct compare_rule rule;
	bool control;
	uint32_t loads;      /* of each arm between two looks */
	double max_seconds;  /* 0: no limit */
	/* Called once for each row, while its programs are loaded; may leave a text in @why. */
	void (*explain)(struct comparison_row *row);
	bool to_the_end;     /* no row stops before the last look, or before the time is up */
	double warmup;       /* seconds of each row, at most; < 0: default */
	uint64_t seed;

	uint64_t begin_ns;
	double seconds;      /* that it took */
	uint32_t rounds;
	uint32_t epochs;     /* loads of each arm, over all looks */
	bool out_of_time;
	double steal_percent; /* while it ran */

	/* comparison_judge() */
	struct effect geomean; /* n is 0 with one row */
	struct effect control_mean; /* … of the control of all rows */
	bool control_failed;
};

/* From the command line: A, B and benches in @opts->args. Releases what it made if it fails. */
int comparison_build(struct comparison *c, const struct opts *opts, struct errline *e);
void comparison_release(struct comparison *c);

/* Memory for @nr rows with their numbers. */
int comparison_alloc_rows(struct comparison *c, size_t nr, struct errline *e);
/* Release the rows and what was measured. */
void comparison_free_rows(struct comparison *c);

/*
 * Measure all rows; c->suite.producers are running. Rows that fail their checks are marked. -EINTR after
 * a signal.
 */
int comparison_measure(struct comparison *c, struct errline *e);

/* The verdicts. 0, or -ENOMEM. */
int comparison_judge(struct comparison *c);

/* The quads of @row that count, in a new array of *@n. NULL: out of memory. */
struct quad *comparison_used_quads(const struct comparison_row *row, size_t *n);

/* Events that the costs of @row are of: those of a batch, on the basis of its figures. */
static inline double comparison_row_events(const struct comparison_row *row)
{
	return (double)row->ops * (double)(row->stats.basis == BASIS_NET ? row->events_per_op :
									    row->executed_per_op);
}

/* True if @row is slower than @above (a share), as far as its interval says. */
bool comparison_is_regression(const struct comparison_row *row, double above);
/*
 * Measure the rows that are, once more with a new seed and new loads, and note in each what came of it.
 */
int comparison_confirm(struct comparison *c, double above, struct errline *e);

__attribute__((format(printf, 2, 3))) void comparison_note(struct comparison_row *row, const char *fmt,
							   ...);

#endif
