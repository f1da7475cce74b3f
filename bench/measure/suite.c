// SPDX-License-Identifier: BSD-2-Clause
/* Loading the points of a suite, checking what they left behind, and releasing them. */
#include "measure/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "measure/object.h"
#include "util/interrupt.h"
#include "util/libbpf_log.h"

int point_open(struct point *pt, struct errline *e)
{
	int err = target_enter(pt->inst.target, e);

	if (err)
		return err;
	libbpf_log_clear();
	err = pt->inst.bench->open(&pt->inst, e);
	target_leave(pt->inst.target);
	return err;
}

/* A program that computes wrong results has failed its checks, as later; the others go on. */
static int open_or_mark(struct point *pt, bool keep_going, struct errline *e)
{
	int err = point_open(pt, e);

	if (!err || (err != -EBADMSG && !keep_going))
		return err;
	pt->failed = err;
	pt->unavailable = err != -EBADMSG;
	pt->error = *e;
	return 0;
}

int suite_start_producers(struct suite *s, const struct opts *opts, struct errline *e)
{
	struct producers_config config = {
		.nr = 1,
		.pin = opts->affinity,
		.has_cpus = opts->has_prod_cpus,
		.cpus = opts->prod_cpus,
	};

	s->pinned = opts->affinity;
	for (size_t i = 0; i < s->nr_points; i++)
		if (s->points[i].inst.params.producers > config.nr)
			config.nr = s->points[i].inst.params.producers;
	return producers_start(&s->producers, &config, e);
}

int suite_open(struct suite *s, const struct opts *opts, struct errline *e)
{
	int err = 0;

	if (opts->has_seed)
		s->seed = opts->seed;
	else if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
		s->seed = sample_now_ns();
	s->rng.state = s->seed;
	for (size_t i = 0; i < s->nr_points && !err; i++)
		err = interrupt_signal() ? -EINTR : open_or_mark(&s->points[i], opts->keep_going, e);
	return err ? err : suite_start_producers(s, opts, e);
}

void point_verify(struct point *pt)
{
	const struct bench_inst *inst = &pt->inst;
	uint64_t left, expected = pt->counted + (sample_fault() == FAULT_LOSE_UPDATE);
	int err;

	if (pt->failed || !inst->bench->left_behind)
		return;
	err = inst->bench->left_behind(&pt->inst, &left);
	if (err) {
		pt->failed = err;
		errline_set(&pt->error, err, "%s on %s: cannot read its counters back: %s",
			    inst->bench->name, inst->target->spec, strerror(-err));
		return;
	}
	pt->left_behind = left;
	pt->has_left_behind = true;
	if (left == expected)
		return;
	/*
	 * The kernel may preempt a program between the load and the store of an increment, and run
	 * another on that CPU: with several producers it can lose updates. libbpfu cannot.
	 */
	if (inst->target->kind == &target_kind_host && inst->params.producers > 1 && left < expected)
		return;
	pt->failed = -EBADMSG;
	errline_set(&pt->error, -EBADMSG, "%s on %s: its counters hold %llu events of %llu executed",
		    inst->bench->name, inst->target->spec, (unsigned long long)left,
		    (unsigned long long)expected);
}

void suite_verify(struct suite *s)
{
	for (size_t i = 0; i < s->nr_points; i++)
		point_verify(&s->points[i]);
}

void suite_release(struct suite *s)
{
	producers_stop(s->producers);
	for (size_t i = 0; i < s->nr_points; i++) {
		struct point *pt = &s->points[i];

		if (pt->inst.priv)
			pt->inst.bench->close(&pt->inst);
		free(pt->batches);
	}
	object_release_all(s);
	for (size_t i = 0; i < s->nr_skipped; i++)
		free(s->skipped[i]);
	free(s->points);
	free(s->targets);
}
