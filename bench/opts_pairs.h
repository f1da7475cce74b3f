/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that mean something only beside another one, or with some targets. */
#ifndef BPFLAB_OPTS_PAIRS_H
#define BPFLAB_OPTS_PAIRS_H

#include "errline.h"
#include "opts.h"

/*
 * 0, or -EINVAL and a line for the first option of @opts that would have no effect. Options with rules that
 * are a command's own are left to the command.
 */
int opts_check_pairs(const struct opts *opts, struct errline *e);

#endif
