/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that nobody can foresee: the system's. */
#ifndef BPFU_UTIL_RANDOM_H
#define BPFU_UTIL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fill @buf with @n random bytes. Waits for the system's pool once after boot; cannot fail then. */
void bpfu_random_fill(void *buf, size_t n);

/* A number below @n (> 0). The bias is below n / 2^64. */
uint32_t bpfu_random_below(uint32_t n);

#endif
