/* SPDX-License-Identifier: BSD-2-Clause */
/* All the functions that a program can be attached to at once, as the thread's target lists them. */
#ifndef BPFLAB_BENCHES_CROWD_H
#define BPFLAB_BENCHES_CROWD_H

#include <stddef.h>

#include "errline.h"

struct crowd {
	char **names; /* malloc()ed, and each of them */
	size_t cnt;
	double attach_s; /* how long attaching took; the user's */
};

/*
 * Gather them: what the target's available_filter_functions has, without those that benches call and
 * those which the kernel cannot bear a program on. This process offers 10,000 of its own to libbpfu.
 * 0 or an error with a line.
 */
int crowd_gather(struct crowd *crowd, struct errline *e);
void crowd_release(struct crowd *crowd);

#endif
