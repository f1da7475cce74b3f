/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the calling thread, in user space and, as far as that is allowed, in the kernel: those of
 * the processor where there is a PMU, and its time, which there always is. A PMU counts as many
 * things at once as it has registers for; the others take turns, and their figures are extrapolated.
 */
#ifndef BPFLAB_PROFILE_COUNTERS_H
#define BPFLAB_PROFILE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS_MAX 6

struct counters {
	int fds[COUNTERS_MAX]; /* -1: this machine has no such counter */
	bool no_pmu;           /* it has none of the processor's */
};

struct counter_value {
	char name[24];
	double value;
	double share; /* of the time that it was counted; less than 1: extrapolated */
};

/* Stopped, at 0. Always to be closed. */
void counters_open(struct counters *c);
void counters_close(struct counters *c);

void counters_start(const struct counters *c);
void counters_stop(const struct counters *c);

/* What was counted between starts and stops so far; how many of @out are filled. */
size_t counters_read(const struct counters *c, struct counter_value out[COUNTERS_MAX]);

#endif
