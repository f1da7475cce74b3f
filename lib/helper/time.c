// SPDX-License-Identifier: BSD-2-Clause
/* Helpers that read clocks. */
#include <time.h>

#include "helper/bodies.h"

#define NSEC_PER_SEC 1000000000ull
#define JIFFY_HZ 1000u
/* The kernel starts counting five minutes before the 32-bit value wraps. */
#define INITIAL_JIFFIES ((uint64_t)(uint32_t)(-300 * (int32_t)JIFFY_HZ))

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t bpfu_helper_ktime_get_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bpfu_helper_ktime_get_boot_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t bpfu_helper_ktime_get_coarse_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					 uint64_t r5)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t bpfu_helper_ktime_get_tai_ns(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				      uint64_t r5)
{
	return clock_ns(CLOCK_TAI);
}

uint64_t bpfu_helper_jiffies64(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return INITIAL_JIFFIES + clock_ns(CLOCK_MONOTONIC_COARSE) / (NSEC_PER_SEC / JIFFY_HZ);
}
