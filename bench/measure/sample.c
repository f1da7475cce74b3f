// SPDX-License-Identifier: BSD-2-Clause
/*
 * The timed part of everything bpflab measures. Between the two clock readings there are triggers and
 * nothing else.
 */
#include "measure/sample.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "measure/mark.h"
#include "target.h"

struct part {
	uint64_t begin_ns, end_ns;
	uint64_t events;
	int err;
	int cpu_before, cpu_after;
	uint32_t nvcsw, nivcsw;
};

struct job {
	struct bench_inst *inst;
	const struct batch *batch;
	uint64_t per_trigger, triggers, dropped;
	struct part *parts;
};

uint64_t sample_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

enum sample_fault sample_fault(void)
{
	const char *fault = getenv("BPFLAB_FAULT");

	if (!fault)
		return FAULT_NONE;
	if (!strcmp(fault, "drop-event"))
		return FAULT_DROP_EVENT;
	if (!strcmp(fault, "lose-update"))
		return FAULT_LOSE_UPDATE;
	if (!strcmp(fault, "wrong-result"))
		return FAULT_WRONG_RESULT;
	if (!strcmp(fault, "bias-control"))
		return FAULT_BIAS_CONTROL;
	if (!strcmp(fault, "drift"))
		return FAULT_DRIFT;
	if (!strcmp(fault, "warm-up"))
		return FAULT_WARM_UP;
	if (!strcmp(fault, "nonlinear"))
		return FAULT_NONLINEAR;
	return FAULT_NONE;
}

/* What an injected fault makes of the time of @b. */
static double fault_factor(const struct batch *b)
{
	switch (sample_fault()) {
	case FAULT_DRIFT:
		return 1 + b->round / 20.0;
	case FAULT_WARM_UP:
		return b->arm == ARM_FULL && b->round < 25 ? 10 : 1;
	case FAULT_NONLINEAR:
		return b->arm == ARM_FULL && b->size == SIZE_N ? 1.5 : 1;
	default:
		return 1;
	}
}

static void run_triggers(struct job *job, unsigned int producer, struct part *part)
{
	struct bench_inst *inst = job->inst;
	enum bench_arm arm = job->batch->arm;
	uint64_t per_trigger = job->per_trigger - job->dropped, events;

	for (uint64_t i = 0; i < job->triggers; i++) {
		part->err = inst->bench->trigger(inst, producer, arm, per_trigger, &events);
		if (part->err)
			break;
		part->events += events;
	}
}

/*
 * Sleep until shortly after a tick of the kernel's clock: what comes then is undisturbed by another for almost as
 * long as they are apart. The time limit of a socket is one of the kernel's timers that ticks let expire, so that
 * the wheel of these has just been turned; that spares some windows a few instructions where a program
 * starts such a timer (return probes in user space do). What else the tick woke has a moment to be done.
 */
static void wait_for_tick(void)
{
	static int sockets[2] = { -1, -1 };
	const struct timespec moment = { .tv_nsec = 100000 };
	struct timespec tick = { .tv_nsec = 4000000 };
	struct timeval limit;
	char byte;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	limit = (struct timeval){ .tv_usec = tick.tv_nsec / 800 }; /* one and a quarter: two ticks */
	if (sockets[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets))
		return;
	if (!setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    recv(sockets[0], &byte, 1, 0) < 0)
		nanosleep(&moment, NULL);
}

static void run_part(unsigned int producer, void *ctx)
{
	struct job *job = ctx;
	struct part *part = &job->parts[producer];
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	part->cpu_before = sched_getcpu();
	if (job->batch->after_tick)
		wait_for_tick();
	if (job->batch->marked) {
		mark_begin();
		run_triggers(job, producer, part);
		mark_end();
	} else {
		part->begin_ns = sample_now_ns();
		run_triggers(job, producer, part);
		part->end_ns = sample_now_ns();
	}
	part->cpu_after = sched_getcpu();
	getrusage(RUSAGE_THREAD, &after);
	part->nvcsw = (uint32_t)(after.ru_nvcsw - before.ru_nvcsw);
	part->nivcsw = (uint32_t)(after.ru_nivcsw - before.ru_nivcsw);
}

static void plan_job(struct job *job, const struct batch *b)
{
	uint32_t iters = job->inst->params.trig_batch_iters;

	if (b->arm == ARM_TRIGGER) {
		job->per_trigger = 0;
		job->triggers = b->ops;
	} else if (iters) {
		job->per_trigger = iters;
		job->triggers = b->ops / iters;
	} else {
		job->per_trigger = b->ops;
		job->triggers = 1;
	}
	job->dropped = b->arm == ARM_FULL && sample_fault() == FAULT_DROP_EVENT;
}

static int check_batch(const struct bench_inst *inst, const struct batch *b, int err,
		       struct errline *e)
{
	static const char *const arm_names[] = { "the program", "its null program", "its trigger" };

	if (err == -EBADMSG)
		return errline_set(e, err, "%s on %s: %s computed a wrong result", inst->bench->name,
				   inst->target->spec, arm_names[b->arm]);
	if (err)
		return errline_set(e, err, "%s on %s: running %s fails: %s", inst->bench->name,
				   inst->target->spec, arm_names[b->arm], strerror(-err));
	if (b->events != b->expected)
		return errline_set(e, -EBADMSG, "%s on %s: %s executed %llu events of %llu asked for",
				   inst->bench->name, inst->target->spec, arm_names[b->arm],
				   (unsigned long long)b->events, (unsigned long long)b->expected);
	return 0;
}

int sample_batch(struct bench_inst *inst, struct producers *producers, struct batch *b,
		 struct errline *e)
{
	unsigned int nr = inst->params.producers;
	uint64_t first = UINT64_MAX, last = 0;
	struct part one = { 0 }, *parts = nr == 1 ? &one : calloc(nr, sizeof(*parts));
	struct job job = { .inst = inst, .batch = b, .parts = parts };
	int err = 0;

	if (!parts)
		return errline_set(e, -ENOMEM, "out of memory");
	plan_job(&job, b);
	if (inst->bench->prepare)
		err = inst->bench->prepare(inst, b->arm, e);
	if (err) {
		if (parts != &one)
			free(parts);
		return err;
	}
	producers_run(producers, nr, run_part, &job);
	if (inst->bench->finish)
		inst->bench->finish(inst, b->arm);
	b->ns = 0;
	b->events = 0;
	b->nvcsw = b->nivcsw = 0;
	b->migrated = false;
	b->cpu = parts[0].cpu_before;
	for (unsigned int i = 0; i < nr; i++) {
		b->ns += (double)(parts[i].end_ns - parts[i].begin_ns) / nr;
		first = parts[i].begin_ns < first ? parts[i].begin_ns : first;
		last = parts[i].end_ns > last ? parts[i].end_ns : last;
		b->events += parts[i].events;
		b->nvcsw += parts[i].nvcsw;
		b->nivcsw += parts[i].nivcsw;
		b->migrated |= parts[i].cpu_before != parts[i].cpu_after;
		if (parts[i].err)
			err = parts[i].err;
	}
	b->wall_ns = (double)(last - first) * fault_factor(b);
	b->ns *= fault_factor(b);
	b->expected = job.per_trigger * job.triggers * nr * bench_executed_per_op(inst, b->arm);
	if (parts != &one)
		free(parts);
	return check_batch(inst, b, err, e);
}
