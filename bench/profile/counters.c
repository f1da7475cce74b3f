// SPDX-License-Identifier: BSD-2-Clause
/* perf_event_open(2) for what happens to a thread; see counters.h. */
#include "profile/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_MISS(cache)                                                                          \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} kinds[COUNTERS_MAX] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISS(ITLB) },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK }, /* ns */
};

static int open_one(size_t i, bool kernel)
{
	struct perf_event_attr attr = {
		.type = kinds[i].type,
		.size = sizeof(attr),
		.config = kinds[i].config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void counters_open(struct counters *c)
{
	c->no_pmu = true;
	for (size_t i = 0; i < COUNTERS_MAX; i++) {
		c->fds[i] = open_one(i, true);
		if (c->fds[i] < 0 && (errno == EACCES || errno == EPERM))
			c->fds[i] = open_one(i, false);
		c->no_pmu &= c->fds[i] < 0 || kinds[i].type == PERF_TYPE_SOFTWARE;
	}
}

void counters_close(struct counters *c)
{
	for (size_t i = 0; i < COUNTERS_MAX; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
}

static void all(const struct counters *c, unsigned long request)
{
	for (size_t i = 0; i < COUNTERS_MAX; i++)
		if (c->fds[i] >= 0)
			ioctl(c->fds[i], request, 0);
}

void counters_start(const struct counters *c)
{
	all(c, PERF_EVENT_IOC_ENABLE);
}

void counters_stop(const struct counters *c)
{
	all(c, PERF_EVENT_IOC_DISABLE);
}

size_t counters_read(const struct counters *c, struct counter_value out[COUNTERS_MAX])
{
	size_t nr = 0;

	for (size_t i = 0; i < COUNTERS_MAX; i++) {
		uint64_t words[3]; /* value, ns enabled, ns counting */

		if (c->fds[i] < 0 || read(c->fds[i], words, sizeof(words)) != sizeof(words) || !words[2])
			continue;
		snprintf(out[nr].name, sizeof(out[nr].name), "%s", kinds[i].name);
		out[nr].share = (double)words[2] / (double)words[1];
		out[nr].value = (double)words[0] / out[nr].share;
		nr++;
	}
	return nr;
}
