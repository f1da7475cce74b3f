/* SPDX-License-Identifier: BSD-2-Clause */
/* Edits of a case that keep jumps, calls and callbacks pointing where they did. */
#ifndef BPFU_TESTS_DIFF_EDIT_H
#define BPFU_TESTS_DIFF_EDIT_H

#include "diff.h"

/* Replace instructions [from, to) by nothing. False if that is not possible. */
bool edit_remove(struct case_prog *p, uint32_t from, uint32_t to);

/* Drop what control flow cannot reach, whole subprograms included. */
void edit_drop_unreachable(struct case_prog *p);

#endif
