// SPDX-License-Identifier: BSD-2-Clause
/* SHA-256 of a buffer in memory: plain, one block at a time (FIPS 180-4, sections 5 and 6.2). */
#include "util/sha256.h"

#include <string.h>

#define BLOCK 64

/* clang-format off */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static const uint32_t initial_state[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};
/* clang-format on */

static uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = x >> (24 - 8 * i);
}

static void expand(const uint8_t *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = load_be32(block + 4 * i);
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], s[8];

	expand(block, w);
	memcpy(s, state, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t ch = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t maj = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t sum0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
		uint32_t sum1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
		uint32_t t1 = s[7] + sum1 + ch + round_constants[i] + w[i];

		memmove(&s[1], &s[0], 7 * sizeof(s[0]));
		s[4] += t1;
		s[0] = t1 + sum0 + maj;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void bpfu_sha256(const void *data, size_t len, uint8_t digest[BPFU_SHA256_SIZE])
{
	const uint8_t *p = data;
	uint8_t tail[2 * BLOCK] = { 0 };
	size_t rest = len % BLOCK, padded;
	uint32_t state[8];

	memcpy(state, initial_state, sizeof(state));
	for (size_t done = 0; done + BLOCK <= len; done += BLOCK)
		compress(state, p + done);
	if (rest)
		memcpy(tail, p + len - rest, rest);
	tail[rest] = 0x80;
	padded = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	store_be32(tail + padded - 8, (uint64_t)len * 8 >> 32);
	store_be32(tail + padded - 4, len * 8);
	for (size_t done = 0; done < padded; done += BLOCK)
		compress(state, tail + done);
	for (int i = 0; i < 8; i++)
		store_be32(digest + 4 * i, state[i]);
}
