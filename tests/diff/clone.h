/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of a loaded program in the interpreter, from its rewritten or its original instructions. */
#ifndef BPFU_TESTS_DIFF_CLONE_H
#define BPFU_TESTS_DIFF_CLONE_H

#include "diff.h"

enum clone_form { CLONE_XLATED, CLONE_RAW, CLONE_FORMS };

bool clone_possible(const struct diff_case *c, enum clone_form form);

/* As BPF_PROG_TEST_RUN of @prog_fd with @attr; @fds are the side's maps of the case's shape. */
int clone_run(int prog_fd, const struct diff_case *c, const int *fds, enum clone_form form,
	      union bpf_attr *attr);

#endif
