// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel tool's method: producers run triggers without a pause, a timer thread reads how many
 * events they have done once a second, and the summary is the mean and standard deviation over these
 * intervals, after those of the warm-up. Nothing is subtracted. Other than the kernel's tool, an
 * interval counts with the time it really took, and the events are checked.
 */
#include "report/classic.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stats/stats.h"
#include "util/interrupt.h"

#define DEFAULT_SECONDS 5
#define DEFAULT_WARMUP 1
#define INTERVAL_NS 1000000000ull

/* One producer's counts, on cache lines of their own; read by the timer thread. */
struct producer_count {
	uint64_t events;   /* atomic */
	uint64_t expected; /* of the finished triggers; read after the run */
	int err;
} __attribute__((aligned(128)));

struct classic {
	struct bench_inst *inst;
	struct producer_count *counts;
	uint64_t ops; /* per trigger */
	bool stop;    /* atomic */
	bool quiet;
	int warmup, seconds;
	double *rates; /* of the intervals after the warm-up */
	size_t nr_rates;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the producers are done before the timer */
	bool producers_done; /* under lock */
};

static void print_common(FILE *f, int iter, double delta_ns, double rate, unsigned int producers)
{
	fprintf(f, "Iter %3d (%7.3lfus): ", iter, (delta_ns - 1e9) / 1e3);
	fprintf(f, "hits %8.3lfM/s (%7.3lfM/prod)", rate, rate / producers);
}

void classic_print_interval(FILE *f, bool ops, int iter, double delta_ns, double rate,
			    unsigned int producers)
{
	print_common(f, iter, delta_ns, rate, producers);
	if (!ops)
		fprintf(f, ", drops %8.3lfM/s, total operations %8.3lfM/s", 0.0, rate);
	fputc('\n', f);
}

void classic_print_summary(FILE *f, bool ops, const double *rates, size_t nr,
			   unsigned int producers)
{
	double mean = stats_mean(rates, nr), sd = stats_stddev(rates, nr);

	if (ops) {
		fprintf(f, "Summary: throughput %8.3lf \u00B1 %5.3lf M ops/s (%7.3lfM ops/prod), ", mean,
			sd, mean / producers);
		fprintf(f, "latency %8.3lf ns/op\n", 1000.0 / mean * producers);
		return;
	}
	fprintf(f, "Summary: hits %8.3lf \u00B1 %5.3lfM/s (%7.3lfM/prod), ", mean, sd, mean / producers);
	fprintf(f, "drops %8.3lf \u00B1 %5.3lfM/s, ", 0.0, 0.0);
	fprintf(f, "total operations %8.3lf \u00B1 %5.3lfM/s\n", mean, sd);
}

static void produce(unsigned int idx, void *ctx)
{
	struct classic *c = ctx;
	struct producer_count *count = &c->counts[idx];
	uint64_t per_op = bench_executed_per_op(c->inst, ARM_PLAIN), events;
	uint64_t dropped = sample_fault() == FAULT_DROP_EVENT;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED) && !interrupt_signal()) {
		count->err = c->inst->bench->trigger(c->inst, idx, ARM_PLAIN, c->ops - dropped,
							 &events);
		if (count->err)
			break;
		count->expected += c->ops * per_op;
		__atomic_store_n(&count->events, count->events + events, __ATOMIC_RELAXED);
	}
	/* One that fails ends the run of all. */
	__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
}

static uint64_t events_so_far(const struct classic *c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < c->inst->params.producers; i++)
		sum += __atomic_load_n(&c->counts[i].events, __ATOMIC_RELAXED);
	return sum;
}

/* Sleep until @deadline_ns, or until the producers are done. True in the first case. */
static bool sleep_until(struct classic *c, uint64_t deadline_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline_ns / 1000000000u),
			       .tv_nsec = (long)(deadline_ns % 1000000000u) };
	bool done;

	pthread_mutex_lock(&c->lock);
	while (!c->producers_done && pthread_cond_timedwait(&c->wake, &c->lock, &ts) != ETIMEDOUT)
		;
	done = c->producers_done;
	pthread_mutex_unlock(&c->lock);
	return !done;
}

static void *time_intervals(void *arg)
{
	struct classic *c = arg;
	bool ops = c->inst->bench->flags & BENCH_OPS_REPORT;
	uint64_t begin = sample_now_ns(), last = begin, last_events = 0;

	for (int iter = 0; iter < c->warmup + c->seconds; iter++) {
		uint64_t now, events;
		double rate;

		if (!sleep_until(c, begin + (uint64_t)(iter + 1) * INTERVAL_NS))
			break;
		now = sample_now_ns();
		events = events_so_far(c);
		rate = (double)(events - last_events) / (double)(now - last) * 1e3;
		if (!c->quiet) {
			classic_print_interval(stdout, ops, iter, (double)(now - last), rate,
					       c->inst->params.producers);
			fflush(stdout);
		}
		if (iter >= c->warmup)
			c->rates[c->nr_rates++] = rate;
		last = now;
		last_events = events;
	}
	__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
	return NULL;
}

static int run_threads(struct suite *s, struct classic *c)
{
	pthread_condattr_t attr;
	pthread_t timer;
	int err;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->wake, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&timer, NULL, time_intervals, c);
	if (!err) {
		producers_run(s->producers, c->inst->params.producers, produce, c);
		pthread_mutex_lock(&c->lock);
		c->producers_done = true;
		pthread_cond_signal(&c->wake);
		pthread_mutex_unlock(&c->lock);
		pthread_join(timer, NULL);
	}
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	return -err;
}

static int check_counts(struct point *pt, const struct classic *c, struct errline *e)
{
	const char *name = pt->inst.bench->name, *target = pt->inst.target->spec;

	for (unsigned int i = 0; i < pt->inst.params.producers; i++) {
		pt->counted += c->counts[i].events;
		pt->expected += c->counts[i].expected;
		if (c->counts[i].err)
			return errline_set(e, c->counts[i].err, "%s on %s: running the program fails: %s",
					   name, target, strerror(-c->counts[i].err));
	}
	if (pt->counted == pt->expected)
		return 0;
	return errline_set(e, -EBADMSG, "%s on %s: the program executed %llu events of %llu asked for",
			   name, target, (unsigned long long)pt->counted,
			   (unsigned long long)pt->expected);
}

static void print_heading(const struct point *pt, const struct opts *opts, size_t nr_points)
{
	if (!opts->quiet) {
		printf("Setting up benchmark '%s'...\n", pt->inst.bench->name);
		printf("Benchmark '%s' started.\n", pt->inst.bench->name);
	}
	/* The kernel's tool runs one bench, and need not say which. */
	if (nr_points > 1)
		printf("%s on %s:\n", pt->label, pt->inst.target->spec);
	fflush(stdout);
}

static int run_point(struct suite *s, struct point *pt, const struct opts *opts, struct errline *e)
{
	uint32_t iters = pt->inst.params.trig_batch_iters;
	struct classic c = {
		.inst = &pt->inst,
		.ops = iters ? iters : pt->inst.bench->classic_ops,
		.quiet = opts->quiet,
		.seconds = opts->duration > 0 ? (int)ceil(opts->duration) : DEFAULT_SECONDS,
		.warmup = opts->warmup >= 0 ? (int)ceil(opts->warmup) : DEFAULT_WARMUP,
	};
	size_t size = pt->inst.params.producers * sizeof(*c.counts);
	const struct bench *bench = pt->inst.bench;
	bool prepared = false;
	int err = -ENOMEM;

	c.counts = aligned_alloc(128, size);
	c.rates = calloc((size_t)c.seconds, sizeof(*c.rates));
	if (c.counts && c.rates) {
		memset(c.counts, 0, size);
		print_heading(pt, opts, s->nr_points);
		err = bench->prepare ? bench->prepare(&pt->inst, ARM_PLAIN, e) : 0;
		prepared = !err;
	}
	if (prepared) {
		err = run_threads(s, &c);
		if (bench->finish)
			bench->finish(&pt->inst, ARM_PLAIN);
	}
	if (err && !e->text[0])
		errline_set(e, err, "cannot run %s: %s", pt->inst.bench->name, strerror(-err));
	else if (!err && interrupt_signal())
		err = -EINTR;
	else if (!err)
		err = check_counts(pt, &c, e);
	if (!err) {
		point_verify(pt);
		err = pt->failed;
	}
	if (!err)
		classic_print_summary(stdout, pt->inst.bench->flags & BENCH_OPS_REPORT, c.rates,
				      c.nr_rates, pt->inst.params.producers);
	free(c.rates);
	free(c.counts);
	return err;
}

int classic_run(struct suite *s, const struct opts *opts, struct errline *e)
{
	for (size_t i = 0; i < s->nr_points; i++) {
		struct point *pt = &s->points[i];
		struct errline why = { "" };
		int err;

		if (pt->failed)
			continue;
		err = run_point(s, pt, opts, &why);

		if (err == -EINTR || err == -ENOMEM) {
			*e = why;
			return err;
		}
		if (pt->failed)
			continue; /* by its counters, with a line of its own */
		pt->failed = err;
		pt->error = why;
	}
	return 0;
}
