// SPDX-License-Identifier: BSD-2-Clause
/* Random bytes; getrandom(2) is in every kernel since 3.17. */
#include "util/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "util/log.h"

void bpfu_random_fill(void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno != EINTR) {
			/* A sandbox that forbids it; numbers that can be foreseen would be worse. */
			bpfu_warn("getrandom: not permitted; hardening needs it");
			abort();
		}
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
}

uint32_t bpfu_random_below(uint32_t n)
{
	uint64_t v;

	bpfu_random_fill(&v, sizeof(v));
	return (uint32_t)(((unsigned __int128)v * n) >> 64);
}
