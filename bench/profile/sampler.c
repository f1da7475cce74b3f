// SPDX-License-Identifier: BSD-2-Clause
/* Samplers; see sampler.h. */
#include "profile/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SAMPLES_PER_SECOND 5000
#define RING_PAGES 32
#define TIMER_ROOM (1u << 16)

struct sampler {
	int fd;     /* -1: the timer */
	bool kernel; /* samples of kernel code, too */
	struct perf_event_mmap_page *ring;
	size_t ring_size;
	timer_t timer;
	struct sigaction old;
	char text[160];
};

/* Of the timer's handler. */
static uint64_t timer_addrs[TIMER_ROOM];
static _Atomic uint32_t timer_cnt;
static _Atomic uint32_t timer_lost;

/* ---- perf_event ---- */

static int open_event(bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = SAMPLES_PER_SECOND,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_perf(struct sampler *s)
{
	long page = sysconf(_SC_PAGESIZE);

	s->kernel = true;
	s->fd = open_event(true);
	if (s->fd < 0) {
		s->kernel = false;
		s->fd = open_event(false);
	}
	if (s->fd < 0)
		return -errno;
	s->ring_size = (size_t)(1 + RING_PAGES) * (size_t)page;
	s->ring = mmap(NULL, s->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->ring == MAP_FAILED) {
		int err = -errno;

		close(s->fd);
		s->ring = NULL;
		s->fd = -1;
		return err;
	}
	snprintf(s->text, sizeof(s->text), "perf_event on the CPU clock, %d samples a second%s",
		 SAMPLES_PER_SECOND, s->kernel ? "" : ", none of kernel code");
	return 0;
}

static int add(struct samples *to, uint64_t addr)
{
	if (to->nr == to->room) {
		size_t room = to->room ? 2 * to->room : 4096;
		uint64_t *addrs = realloc(to->addrs, room * sizeof(*addrs));

		if (!addrs)
			return -ENOMEM;
		to->addrs = addrs;
		to->room = room;
	}
	to->addrs[to->nr++] = addr;
	return 0;
}

/* Records are multiples of 8 bytes and may wrap around. */
static uint64_t ring_word(const struct sampler *s, uint64_t at)
{
	uint64_t word;

	memcpy(&word, (const char *)s->ring + s->ring->data_offset + at % s->ring->data_size, 8);
	return word;
}

static int drain_perf(struct sampler *s, struct samples *to)
{
	uint64_t head = __atomic_load_n(&s->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = s->ring->data_tail;
	int err = 0;

	while (tail < head && !err) {
		uint64_t word = ring_word(s, tail);
		struct perf_event_header header;

		memcpy(&header, &word, sizeof(header));
		if (header.type == PERF_RECORD_SAMPLE)
			err = add(to, ring_word(s, tail + 8));
		else if (header.type == PERF_RECORD_LOST)
			to->lost += ring_word(s, tail + 16);
		tail += header.size;
	}
	__atomic_store_n(&s->ring->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

/* ---- timer ---- */

static void on_tick(int sig, siginfo_t *info, void *uc)
{
	const ucontext_t *context = uc;
	uint32_t i = atomic_load_explicit(&timer_cnt, memory_order_relaxed);

	if (i == TIMER_ROOM) {
		atomic_fetch_add_explicit(&timer_lost, 1, memory_order_relaxed);
		return;
	}
#if defined(__x86_64__)
	timer_addrs[i] = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	timer_addrs[i] = context->uc_mcontext.pc;
#endif
	atomic_store_explicit(&timer_cnt, i + 1, memory_order_relaxed);
}

static int open_timer(struct sampler *s, const char *why)
{
	struct sigaction sa = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	int err = 0;

	ev._sigev_un._tid = (int)syscall(SYS_gettid);
	if (sigaction(SIGPROF, &sa, &s->old))
		return -errno;
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &s->timer))
		err = -errno;
	if (err)
		sigaction(SIGPROF, &s->old, NULL);
	snprintf(s->text, sizeof(s->text), "a timer, one sample a tick, none of kernel code; %s", why);
	return err;
}

static int drain_timer(struct samples *to)
{
	uint32_t cnt = atomic_load(&timer_cnt);
	int err = 0;

	for (uint32_t i = 0; i < cnt && !err; i++)
		err = add(to, timer_addrs[i]);
	to->lost += atomic_exchange(&timer_lost, 0);
	atomic_store(&timer_cnt, 0);
	return err;
}

/* ---- both ---- */

int sampler_open(struct sampler **out, struct errline *e)
{
	const char *which = getenv("BPFLAB_SAMPLER");
	struct sampler *s;
	char why[96] = "BPFLAB_SAMPLER asks for it";
	int err = -EPERM;

	if (which && strcmp(which, "perf") && strcmp(which, "timer"))
		return errline_set(e, -EINVAL, "BPFLAB_SAMPLER: '%s' is not perf or timer", which);
	s = calloc(1, sizeof(*s));
	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	s->fd = -1;
	if (!which || !strcmp(which, "perf")) {
		err = open_perf(s);
		if (err)
			snprintf(why, sizeof(why), "perf_event_open: %s", strerror(-err));
	}
	if (err && which && !strcmp(which, "perf")) {
		errline_set(e, err, "%s; leave BPFLAB_SAMPLER out for the timer", why);
	} else if (err) {
		err = open_timer(s, why);
		if (err)
			errline_set(e, err, "cannot sample: no timer: %s", strerror(-err));
	}
	if (err)
		free(s);
	else
		*out = s;
	return err;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	if (s->fd >= 0) {
		munmap(s->ring, s->ring_size);
		close(s->fd);
	} else {
		timer_delete(s->timer);
		sigaction(SIGPROF, &s->old, NULL);
	}
	free(s);
}

static void set_timer(struct sampler *s, long ns)
{
	const struct itimerspec every = { { 0, ns }, { 0, ns } };

	timer_settime(s->timer, 0, &every, NULL);
}

void sampler_start(struct sampler *s)
{
	if (s->fd >= 0)
		ioctl(s->fd, PERF_EVENT_IOC_ENABLE, 0);
	else
		set_timer(s, 1000000000 / SAMPLES_PER_SECOND);
}

void sampler_stop(struct sampler *s)
{
	if (s->fd >= 0)
		ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0);
	else
		set_timer(s, 0);
}

int sampler_drain(struct sampler *s, struct samples *to)
{
	return s->fd >= 0 ? drain_perf(s, to) : drain_timer(to);
}

const char *sampler_text(const struct sampler *s)
{
	return s->text;
}
