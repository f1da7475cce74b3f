/* SPDX-License-Identifier: BSD-2-Clause */
/* What `bpflab bisect` over kernels and its single step for `git bisect run` share. */
#ifndef BPFLAB_CMD_BISECT_H
#define BPFLAB_CMD_BISECT_H

#include "compare/bisect.h"
#include "count/emulator.h"
#include "opts.h"
#include "vm/store.h"

/* What is measured on each kernel. */
struct bisect_bench {
	struct opts opts;         /* with the number of boots */
	const char *name;
	char label[192];          /* with its parameters; "" before the first kernel was measured */
	struct emulator emulator; /* the last one's */
};

/* Check the options and the name of the bench. */
int bisect_bench_init(struct bisect_bench *b, const struct opts *opts, struct errline *e);

/*
 * Count on @k. 0; 1 if @k does not boot or the bench not run on it, with the reason in @e; or a negative errno with a
 * line if it is not the kernel's fault.
 */
int bisect_measure(struct bisect_bench *b, const struct kernel *k, struct bisect_cost *cost, struct errline *e);

/* The kernels from the good one to the bad one, in order (bisect_kernels.c). */
int bisect_kernels(struct kernel_list *list, const struct opts *opts, struct errline *e);
/* The one that @word names: an image, or a name of the store. */
int bisect_kernel(struct kernel *k, const char *word, const struct opts *opts, struct errline *e);

/* `bpflab bisect --run` (bisect_step.c). */
int cmd_bisect_step(const struct opts *opts);

#endif
