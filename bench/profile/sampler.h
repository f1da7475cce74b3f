/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of where the calling thread is: by perf_event_open(2) on the clock of its CPU time, so that
 * no PMU is needed, or where that is refused by a timer of the process whose signal handler looks
 * where it came from. The timer sees user space only and ticks with the kernel (100 to 1000 times a
 * second). Environment: BPFLAB_SAMPLER=perf|timer takes one of them.
 */
#ifndef BPFLAB_PROFILE_SAMPLER_H
#define BPFLAB_PROFILE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errline.h"

struct sampler;

struct samples {
	uint64_t *addrs; /* malloc()ed */
	size_t nr, room;
	uint64_t lost;   /* for which there was no room */
};

/* For the calling thread; stopped. One at a time. */
int sampler_open(struct sampler **out, struct errline *e);
void sampler_close(struct sampler *s);

void sampler_start(struct sampler *s);
void sampler_stop(struct sampler *s);

/* Move what there is to @to; often enough, or some are lost. 0 or -ENOMEM. */
int sampler_drain(struct sampler *s, struct samples *to);

/* "perf_event, 5000 a second", and what it cannot see. */
const char *sampler_text(const struct sampler *s);

#endif
