/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4), for program tags and map hashes. */
#ifndef BPFU_UTIL_SHA256_H
#define BPFU_UTIL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define BPFU_SHA256_SIZE 32

void bpfu_sha256(const void *data, size_t len, uint8_t digest[BPFU_SHA256_SIZE]);

#endif
