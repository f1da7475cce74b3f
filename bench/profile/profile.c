// SPDX-License-Identifier: BSD-2-Clause
/* Running points under the sampler; see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/kallsyms.h"
#include "profile/sampler.h"
#include "util/interrupt.h"

#define SLICE_S 0.25
#define FIRST_OPS 64
#define BATCH_NS 1e6 /* a batch is at least as long, the ring is emptied between two */
#define NORMAL_95 1.959964
#define COUNTED_EVERY 4 /* batches: sampling is not to be counted */

struct session {
	struct point *pt;
	struct profile *out;
	struct samples samples;
	struct code_symbol *symbols; /* of those that are resolved, if they are the kernel's */
	size_t resolved;
	uint64_t ops; /* of a batch; 0: not known yet */
	double ns;
	struct counters counters;
	uint64_t batches;
	uint64_t counted; /* events of those that were counted */
};

/* ---- running ---- */

/* One batch of the measured arm. A bench with --trig-batch-iters takes as many triggers as it needs. */
static int run_batch(struct session *s, uint64_t ops, struct errline *e)
{
	struct bench_inst *inst = &s->pt->inst;
	uint32_t iters = inst->params.trig_batch_iters;
	uint64_t per = iters ? iters : ops, expected, events;

	for (uint64_t done = 0; done < ops; done += per) {
		int err = inst->bench->trigger(inst, 0, ARM_FULL, per, &events);

		if (err)
			return errline_set(e, err, "%s on %s: %s", inst->bench->name,
					   inst->target->spec, strerror(-err));
		expected = per * bench_executed_per_op(inst, ARM_FULL);
		if (events != expected)
			return errline_set(e, -EBADMSG, "%s on %s: %llu events of %llu were executed",
					   inst->bench->name, inst->target->spec,
					   (unsigned long long)events, (unsigned long long)expected);
		s->pt->counted += events;
		s->out->events += per * bench_events_per_op(inst);
	}
	return interrupt_signal() ? -EINTR : 0;
}

/* Batches twice as long until they are long enough. */
static int find_ops(struct session *s, struct errline *e)
{
	double ns = 0;
	int err = 0;

	for (s->ops = point_round_ops(s->pt, FIRST_OPS); ns < BATCH_NS && !err;) {
		uint64_t begin = sample_now_ns();

		err = run_batch(s, s->ops, e);
		ns = (double)(sample_now_ns() - begin);
		if (ns < BATCH_NS)
			s->ops = point_round_ops(s->pt, 2.0 * (double)s->ops);
	}
	s->out->events = 0;
	return err;
}

/* The sampler's clock: what other threads take is nobody's cost. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * The kernel's trampolines have names while programs are attached, and each time they are attached another one. So
 * what was hit is looked up before they are detached.
 */
static int resolve(struct session *s)
{
	size_t nr = s->samples.nr;
	struct code_symbol *grown;

	if (nr == s->resolved)
		return 0;
	grown = realloc(s->symbols, nr * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->symbols = grown;
	if (s->pt->inst.bench->finish)
		kallsyms_forget();
	for (; s->resolved < nr; s->resolved++)
		if (symbols_is_kernel(s->samples.addrs[s->resolved]))
			symbols_find_kernel(s->samples.addrs[s->resolved], &s->symbols[s->resolved]);
	return 0;
}

/* One batch, under the sampler or counted. */
static int observe_batch(struct session *s, struct sampler *sampler, struct errline *e)
{
	uint64_t before = s->out->events;
	int err;

	if (s->batches++ % COUNTED_EVERY) {
		sampler_start(sampler);
		err = run_batch(s, s->ops, e);
		sampler_stop(sampler);
		return err;
	}
	counters_start(&s->counters);
	err = run_batch(s, s->ops, e);
	counters_stop(&s->counters);
	s->counted += s->out->events - before;
	return err;
}

static int run_slice(struct session *s, struct sampler *sampler, struct errline *e)
{
	struct bench_inst *inst = &s->pt->inst;
	double spent = 0;
	int err = inst->bench->prepare ? inst->bench->prepare(inst, ARM_FULL, e) : 0;

	if (err)
		return err;
	if (!s->ops)
		err = find_ops(s, e);
	while (!err && spent < SLICE_S * 1e9) {
		double begin = cpu_ns();

		err = observe_batch(s, sampler, e);
		spent += cpu_ns() - begin;
		if (!err && sampler_drain(sampler, &s->samples))
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	s->ns += spent;
	if (!err && resolve(s))
		err = errline_set(e, -ENOMEM, "out of memory");
	if (inst->bench->finish)
		inst->bench->finish(inst, ARM_FULL);
	return err;
}

/* ---- counting ---- */

static int by_symbol(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->symbol.kind != y->symbol.kind)
		return x->symbol.kind < y->symbol.kind ? -1 : 1;
	return strcmp(x->symbol.name, y->symbol.name);
}

static int by_samples(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_symbol(a, b);
}

static void set_interval(struct profile_row *row, uint64_t all)
{
	double n = (double)all, p = (double)row->samples / n, z2 = NORMAL_95 * NORMAL_95;
	double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	double half = NORMAL_95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));

	row->share = p;
	row->low = fmax(0, middle - half);
	row->high = fmin(1, middle + half);
}

static int count(struct session *s, const struct symbols *symbols)
{
	struct profile *p = s->out;
	size_t kept = 0;

	p->samples = s->samples.nr;
	p->lost = s->samples.lost;
	p->rows = calloc(s->samples.nr + 1, sizeof(*p->rows));
	if (!p->rows)
		return -ENOMEM;
	for (size_t i = 0; i < s->samples.nr; i++) {
		if (symbols_is_kernel(s->samples.addrs[i]))
			p->rows[i].symbol = s->symbols[i];
		else
			symbols_find(symbols, s->samples.addrs[i], &p->rows[i].symbol);
		p->rows[i].samples = 1;
	}
	qsort(p->rows, s->samples.nr, sizeof(p->rows[0]), by_symbol);
	for (size_t i = 0; i < s->samples.nr; i++) {
		if (kept && !by_symbol(&p->rows[kept - 1], &p->rows[i]))
			p->rows[kept - 1].samples++;
		else
			p->rows[kept++] = p->rows[i];
	}
	p->nr_rows = kept;
	for (size_t i = 0; i < kept; i++)
		set_interval(&p->rows[i], p->samples);
	qsort(p->rows, kept, sizeof(p->rows[0]), by_samples);
	p->seconds = s->ns / 1e9;
	p->ns_per_event = p->events ? s->ns / (double)p->events : NAN;
	return 0;
}

static void read_counters(const struct session *s)
{
	struct profile *p = s->out;

	p->nr_counters = s->counted ? counters_read(&s->counters, p->counters) : 0;
	p->no_pmu = s->counters.no_pmu;
	for (size_t i = 0; i < p->nr_counters; i++)
		p->counters[i].value /= (double)s->counted;
}

static int count_all(struct session *sessions, size_t nr, struct errline *e)
{
	struct symbols *symbols;
	int err = symbols_open(&symbols, e);

	if (err)
		return err;
	for (size_t i = 0; i < nr && !err; i++) {
		if (!sessions[i].samples.nr)
			err = errline_set(e, -ENODATA, "%s on %s: no samples; a longer run (-d) has some",
					  sessions[i].pt->label, sessions[i].pt->inst.target->spec);
		else if (count(&sessions[i], symbols))
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	symbols_close(symbols);
	return err;
}

int profile_run(struct point *const *points, size_t nr, double seconds, struct profile *out,
		struct errline *e)
{
	struct session *sessions = calloc(nr, sizeof(*sessions));
	struct sampler *sampler = NULL;
	size_t opened = 0;
	int err;

	memset(out, 0, nr * sizeof(*out));
	if (!sessions)
		return errline_set(e, -ENOMEM, "out of memory");
	err = sampler_open(&sampler, e);
	for (size_t i = 0; i < nr && !err; i++) {
		sessions[i] = (struct session){ .pt = points[i], .out = &out[i] };
		counters_open(&sessions[i].counters);
		opened++;
		out[i].point = points[i];
		snprintf(out[i].label, sizeof(out[i].label), "%s", points[i]->label);
		snprintf(out[i].target, sizeof(out[i].target), "%s", points[i]->inst.target->spec);
		snprintf(out[i].sampler, sizeof(out[i].sampler), "%s", sampler_text(sampler));
	}
	while (!err && sessions[nr - 1].ns < seconds * 1e9)
		for (size_t i = 0; i < nr && !err; i++)
			err = run_slice(&sessions[i], sampler, e);
	sampler_close(sampler);
	if (!err)
		err = count_all(sessions, nr, e);
	for (size_t i = 0; i < opened; i++) {
		read_counters(&sessions[i]);
		counters_close(&sessions[i].counters);
	}
	for (size_t i = 0; i < nr; i++) {
		free(sessions[i].samples.addrs);
		free(sessions[i].symbols);
	}
	free(sessions);
	return err;
}

void profile_release(struct profile *p)
{
	free(p->rows);
	memset(p, 0, sizeof(*p));
}
