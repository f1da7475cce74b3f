/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of `bpflab compare` that gates share. */
#ifndef BPFLAB_COMPARE_LIVE_H
#define BPFLAB_COMPARE_LIVE_H

#include "compare/comparison.h"
#include "opts.h"
#include "result/record.h"

/*
 * Measure A and B of @opts->args side by side, print what came of it, and hand it to @then as stored
 * results, if that is not NULL. The exit status of the process.
 */
int compare_live(const struct opts *opts,
		 int (*then)(const struct record_list *list, const struct opts *opts, struct errline *e));

/* Two kernels to boot (compare_vm.c). The exit status of the process. */
int compare_vm(const struct opts *opts);
struct historical;
/* Print what came of comparing runs, in the forms that were asked for. */
int compare_write_stored(const struct historical *h, const struct opts *opts, struct errline *e);

/* For comparison.explain: the difference of the code of A and B, in @row->why (compare_why.c). */
void compare_explain(struct comparison_row *row);

#endif
