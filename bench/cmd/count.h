/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that take --count=insns share. */
#ifndef BPFLAB_CMD_COUNT_H
#define BPFLAB_CMD_COUNT_H

#include "count/counts.h"

/* -EINVAL for the first option of @opts that does not go with --count=insns. */
int count_check_options(const struct opts *opts, struct errline *e);
/* The command line that repeats this one. */
void count_command_text(const struct opts *opts, char *buf, size_t size);
/* Every bench that failed its checks gets its line. */
int count_exit_status(const struct count_target *targets, size_t nr);

#endif
