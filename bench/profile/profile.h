/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the time of a bench goes: its measured arm runs on the calling thread, under the sampler, and
 * what the samples hit is counted per symbol. The share of a symbol has a 95 % interval (Wilson's), as
 * samples are few: 1 % of 1000 samples is anything from 0.5 to 1.8 %.
 */
#ifndef BPFLAB_PROFILE_PROFILE_H
#define BPFLAB_PROFILE_PROFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "errline.h"
#include "measure/suite.h"
#include "profile/counters.h"
#include "profile/symbols.h"

struct profile_row {
	struct code_symbol symbol;
	uint64_t samples;
	double share, low, high;
};

struct profile {
	const struct point *point; /* NULL: it was read */
	char label[192], target[288];
	bool emulated;
	struct profile_row *rows; /* by share, largest first */
	size_t nr_rows;
	uint64_t samples, lost;
	uint64_t events;          /* counted, and as many as were asked for */
	double seconds;
	double ns_per_event;      /* all of it: nothing is subtracted */
	char sampler[160];
	struct counter_value counters[COUNTERS_MAX]; /* per event, in batches without samples */
	size_t nr_counters;
	bool no_pmu;
};

/*
 * Run @nr opened points for @seconds each, in turns of a quarter of a second, so that what the machine
 * does meanwhile befalls all of them. 0; -EINTR after a signal; -EBADMSG if events were lost; or another
 * error. profile_release() each of @out, also after an error.
 */
int profile_run(struct point *const *points, size_t nr, double seconds, struct profile *out,
		struct errline *e);
void profile_release(struct profile *p);

/* What profile_json() wrote, perhaps marked as emulated, from @o. -EPROTO with a line. */
int profile_read(struct profile *p, const json_t *o, struct errline *e);

void profile_print(FILE *f, const struct profile *p);
void profile_print_diff(FILE *f, const struct profile *a, const struct profile *b);

/* One line: bpflab.profile/1. 0 or -EIO, -ENOMEM. */
int profile_json(FILE *f, const struct profile *p);

#endif
