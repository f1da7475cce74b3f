/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads that run benches. The calling thread is producer 0, so that a bench with one producer
 * pays for no hand-over; the others wait until a job for more than one comes, and all of a job's
 * producers leave a barrier together.
 */
#ifndef BPFLAB_PRODUCERS_H
#define BPFLAB_PRODUCERS_H

#include <sched.h>
#include <stdbool.h>

#include "errline.h"

struct producers;

struct producers_config {
	unsigned int nr;  /* the most that any job will use */
	bool pin;         /* pin each to one CPU */
	bool has_cpus;    /* … of @cpus; otherwise of those this process may use */
	cpu_set_t cpus;
};

/* Start them. The caller is pinned too, until producers_stop(). */
int producers_start(struct producers **out, const struct producers_config *config,
		    struct errline *e);
void producers_stop(struct producers *p);

/* Run @fn on producers 0..@nr-1 at the same time and wait for all. */
void producers_run(struct producers *p, unsigned int nr, void (*fn)(unsigned int idx, void *ctx),
		   void *ctx);

#endif
