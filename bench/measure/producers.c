// SPDX-License-Identifier: BSD-2-Clause
/*
 * The pool of producer threads. Jobs are handed out under a mutex and a condition variable; the start
 * barrier spins, because being woken one after the other would put tens of microseconds between the
 * first and the last of them.
 */
#include "measure/producers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct producers {
	unsigned int nr;
	cpu_set_t caller_cpus; /* the caller's affinity before it was pinned */
	bool pinned;

	pthread_mutex_t lock;
	pthread_cond_t posted; /* job_id or stop changed */
	pthread_cond_t done;   /* running became 0 */
	/* under lock */
	unsigned long job_id;
	unsigned int job_nr;
	void (*job_fn)(unsigned int idx, void *ctx);
	void *job_ctx;
	unsigned int running;
	bool stop;

	unsigned int arrived; /* atomic; the start barrier of the current job */
	struct worker {
		struct producers *pool;
		pthread_t thread;
		unsigned int idx;
	} *workers; /* [0] is the caller and has no thread */
};

static void start_together(struct producers *p, unsigned int nr)
{
	unsigned int spins = 0;

	__atomic_add_fetch(&p->arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&p->arrived, __ATOMIC_ACQUIRE) < nr)
		if (++spins > 2000)
			sched_yield();
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct producers *p = w->pool;
	unsigned long seen = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->job_id == seen && !p->stop)
			pthread_cond_wait(&p->posted, &p->lock);
		if (p->stop)
			break;
		seen = p->job_id;
		if (w->idx >= p->job_nr)
			continue;
		pthread_mutex_unlock(&p->lock);
		start_together(p, p->job_nr);
		p->job_fn(w->idx, p->job_ctx);
		pthread_mutex_lock(&p->lock);
		if (!--p->running)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void producers_run(struct producers *p, unsigned int nr, void (*fn)(unsigned int idx, void *ctx),
		   void *ctx)
{
	if (nr == 1) {
		fn(0, ctx);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->job_id++;
	p->job_nr = nr;
	p->job_fn = fn;
	p->job_ctx = ctx;
	p->running = nr - 1;
	__atomic_store_n(&p->arrived, 0, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&p->posted);
	pthread_mutex_unlock(&p->lock);
	start_together(p, nr);
	fn(0, ctx);
	pthread_mutex_lock(&p->lock);
	while (p->running)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* The CPU of producer @idx: the CPUs of @set in order, again from the first if there are too few. */
static int nth_cpu(const cpu_set_t *set, unsigned int idx)
{
	int left = (int)(idx % (unsigned int)CPU_COUNT(set));

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set) && !left--)
			return cpu;
	return -1;
}

static int pin(struct producers *p, unsigned int idx, const cpu_set_t *set, struct errline *e)
{
	int cpu = nth_cpu(set, idx), err;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	err = pthread_setaffinity_np(idx ? p->workers[idx].thread : pthread_self(), sizeof(one), &one);
	if (!err)
		return 0;
	return errline_set(e, -err, "cannot pin producer %u to CPU %d: %s (this process may use CPUs of "
			   "its own affinity only, see taskset(1))", idx, cpu, strerror(err));
}

static int pin_all(struct producers *p, const struct producers_config *config, struct errline *e)
{
	const cpu_set_t *set = config->has_cpus ? &config->cpus : &p->caller_cpus;
	int err = 0;

	p->pinned = true;
	for (unsigned int i = 0; i < p->nr && !err; i++)
		err = pin(p, i, set, e);
	return err;
}

int producers_start(struct producers **out, const struct producers_config *config,
		    struct errline *e)
{
	struct producers *p = calloc(1, sizeof(*p));
	int err;

	if (p)
		p->workers = calloc(config->nr, sizeof(*p->workers));
	if (!p || !p->workers) {
		free(p);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->posted, NULL);
	pthread_cond_init(&p->done, NULL);
	sched_getaffinity(0, sizeof(p->caller_cpus), &p->caller_cpus);
	for (p->nr = 1; p->nr < config->nr; p->nr++) {
		struct worker *w = &p->workers[p->nr];

		w->pool = p;
		w->idx = p->nr;
		err = pthread_create(&w->thread, NULL, worker_main, w);
		if (err) {
			errline_set(e, -err, "cannot start producer %u of %u: %s", p->nr, config->nr,
				    strerror(err));
			producers_stop(p);
			return -err;
		}
	}
	err = config->pin ? pin_all(p, config, e) : 0;
	if (err) {
		producers_stop(p);
		return err;
	}
	*out = p;
	return 0;
}

void producers_stop(struct producers *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->posted);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 1; i < p->nr; i++)
		pthread_join(p->workers[i].thread, NULL);
	if (p->pinned)
		sched_setaffinity(0, sizeof(p->caller_cpus), &p->caller_cpus);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->posted);
	pthread_mutex_destroy(&p->lock);
	free(p->workers);
	free(p);
}
