/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exact costs: how many instructions an event takes. The scheme is that of times (measure/estimate.h)
 * without its statistics. With I(N) the instructions of a window of N operations, and E events in the
 * 7N/8 by which the windows of N and N/8 operations differ,
 *
 *	gross = (I(N) - I(N/8)) / E          no trigger in it
 *	null                                 the same of the null program
 *	net   = gross - null                 what the bench claims
 *
 * These are fractions of whole numbers, and every run, a process of its own, has to give the same ones. If
 * all do, the figure is exact. If not, it is the one that most runs gave, and the others are told.
 */
#ifndef BPFLAB_COUNT_COUNTS_H
#define BPFLAB_COUNT_COUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/emulator.h"
#include "count/functions.h"
#include "errline.h"
#include "opts.h"
#include "stats/fraction.h"
#include "target.h"
#include "vm/store.h"

#define COUNT_RUNS 10 /* processes, unless --runs says otherwise */

/* What one run found about a bench. */
struct count_figures {
	struct fraction net, gross, null;
	struct fraction trigger; /* invalid if the bench has none */
	bool linear;             /* I(N) - I(N/2) is what I(N/2) - I(N/8) promises */
	struct count_functions functions; /* of net; none unless asked for */
};

/* A bench on a target, over all runs. */
struct count_point {
	json_t *line; /* what the first run said of it (windows.h), with "insns" in its windows */
	const char *bench, *label; /* in @line */
	size_t first_window;       /* of its windows, among all of the first run */
	struct count_figures *runs;
	size_t nr_runs;
	struct count_figures value; /* of most runs; of those that most give, the smallest */
	size_t equal;               /* runs that gave it */
	struct fraction lo, hi;     /* of net, over all runs */
	struct errline failed;      /* not "" once it failed its checks; there are no figures then */
	bool unavailable;           /* it failed because it could not be loaded, which was to be expected */
};

/* One target with its benches. */
struct count_target {
	struct target target;   /* as the bpflab in the emulator takes it */
	char spec[288];         /* as it is shown: with arch= */
	const struct kernel *kernel; /* of a vm, if it is none of the store */
	struct emulator emulator;
	struct count_point *points;
	size_t nr_points;
	size_t runs;
	const struct guest_files *files; /* of a vm: what its command names */
	/* of a vm, from the options */
	const char *qemu_args;
	double max_seconds; /* 0: not given */
};

static inline bool count_is_exact(const struct count_point *pt)
{
	return pt->nr_runs && pt->equal == pt->nr_runs;
}

/*
 * A target as the command line has it: user or native, with their variants and arch=. -EINVAL or
 * -ENOENT with a line.
 */
int count_target_init(struct count_target *t, const char *spec, struct errline *e);

/* The same for @kernel, wherever it lies, which is to outlive @t; @spec is vm:…, with its options. */
int count_target_init_kernel(struct count_target *t, const char *spec, const struct kernel *kernel,
			     struct errline *e);

/*
 * Count @benches (NULL-terminated) with the parameters of @opts on @t, in @opts->runs processes. 0, or a
 * negative errno with a line. count_target_release() frees, also after an error.
 */
int count_measure(struct count_target *t, const char *const *benches, const struct opts *opts,
		  struct errline *e);
void count_target_release(struct count_target *t);

/*
 * Count @bench on @t in one process, by address and with the code of its program; @t->points has the
 * result, and @res what the plugin noted. emulated_release() frees it, also after an error.
 */
int count_profile_run(struct count_target *t, const char *bench, const struct opts *opts,
		      struct emulated *res, struct errline *e);

/*
 * What the bpflab in an emulator printed, and what the plugin noted: the points with the instructions of
 * each window, and their figures. Joins by the order of windows; -EPROTO if the two do not match, or if
 * other processors ran while a window was open. *@points: a new array of *@nr, which the caller frees
 * with count_points_free().
 */
int counts_join(const char *out, const char *counts, struct count_point **points, size_t *nr,
		struct errline *e);
void count_points_free(struct count_point *points, size_t nr);

/* The only run of @from becomes @to's; both are of the same bench. */
int count_point_add(struct count_point *to, struct count_point *from, struct errline *e);
/* The point of @t with @label, or NULL: machines do not have all the same benches. */
const struct count_point *count_point_find(const struct count_target *t, const char *label);

/* Fill in what is over all runs. */
void count_point_summarise(struct count_point *pt);

#endif
