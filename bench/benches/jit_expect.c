// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernels of the suite jit-* compute, said another way: by the textbook, by a library, or from
 * what is known of how the inputs were made.
 */
#include "benches/jit_expect.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "stats/rng.h"

/* ---- inputs ---- */

static const char *const words[] = {
	"bpf", "x1", "_", "42", "needles", "NEEDLE", JIT_NEEDLE, "map_fd", "0x10", "->", "nee", "{",
	"needleneedle", "r10", "=", "31337", "a", "!=", "verifier", "7",
};

static void fill_text(struct jit_data *d, struct rng *rng)
{
	size_t at = 0;

	while (at < JIT_TEXT - 16) {
		const char *word = words[rng_below(rng, sizeof(words) / sizeof(words[0]))];

		memcpy(&d->text[at], word, strlen(word));
		at += strlen(word);
		d->text[at++] = rng_below(rng, 8) ? ' ' : '\n';
	}
	memset(&d->text[at], ' ', sizeof(d->text) - at);
}

static void put_be16(__u8 *p, __u32 v)
{
	p[0] = (__u8)(v >> 8);
	p[1] = (__u8)v;
}

/* What a packet is made of; drawn again when its expectation is computed. */
struct packet {
	bool vlan, v6;
	__u32 ihl, proto, hops;
	__u32 ethertype;
	__u8 addrs[32];
	__u16 sport, dport;
};

static void draw_packet(struct packet *p, struct rng *rng)
{
	static const __u8 protos[] = { 6, 17, 6, 17, 6, 17, 6, 1 };

	p->vlan = !rng_below(rng, 4);
	p->v6 = !rng_below(rng, 3);
	p->ethertype = !rng_below(rng, 16) ? 0x0806 : p->v6 ? 0x86dd : 0x0800;
	p->ihl = rng_below(rng, 4) ? 5 : 5 + rng_below(rng, 4);
	p->proto = protos[rng_below(rng, sizeof(protos))];
	p->hops = rng_below(rng, 16) ? 64 : 1;
	for (size_t i = 0; i < sizeof(p->addrs); i++)
		p->addrs[i] = (__u8)rng_next(rng);
	p->sport = (__u16)rng_next(rng);
	p->dport = (__u16)rng_next(rng);
}

static void write_packet(const struct packet *p, __u8 *at)
{
	__u8 *ip;

	memset(at, 0x5a, 12);
	ip = at + 14;
	if (p->vlan) {
		put_be16(at + 12, 0x8100);
		put_be16(at + 14, 7);
		ip += 4;
	}
	put_be16(ip - 2, p->ethertype);
	if (p->v6) {
		ip[0] = 0x60;
		ip[6] = (__u8)p->proto;
		ip[7] = (__u8)p->hops;
		memcpy(ip + 8, p->addrs, 32);
		ip += 40;
	} else {
		ip[0] = (__u8)(0x40 | p->ihl);
		ip[8] = (__u8)p->hops;
		ip[9] = (__u8)p->proto;
		memcpy(ip + 12, p->addrs, 8);
		ip += 4 * p->ihl;
	}
	put_be16(ip, p->sport);
	put_be16(ip + 2, p->dport);
}

#define PACKET_SEED 4

void jit_fill(struct jit_data *d)
{
	struct rng rng = { .state = 1 }, packets = { .state = PACKET_SEED };

	memset(d, 0, sizeof(*d));
	for (size_t i = 0; i < JIT_BYTES; i++)
		d->in[i] = (__u8)rng_next(&rng);
	fill_text(d, &rng);
	for (size_t i = 0; i < JIT_PACKETS; i++) {
		struct packet p;

		draw_packet(&p, &packets);
		write_packet(&p, &d->packets[i * JIT_PACKET + 2]);
	}
}

/* ---- expectations ---- */

static __u64 load(const __u8 *p, size_t bytes, bool big_endian)
{
	__u64 v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | p[big_endian ? i : bytes - 1 - i];
	return v;
}

static void reverse(__u8 *to, const __u8 *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[bytes - 1 - i];
}

__u64 jit_expect_bswap(struct jit_data *d)
{
	__u64 sum = 0;

	for (size_t at = 0; at < 1024; at += 8) {
		reverse(&d->out[at], &d->in[at], 8);
		sum += load(&d->in[at], 8, true);
	}
	for (size_t at = 1024; at < 2048; at += 4) {
		__u32 v = (__u32)load(&d->in[at], 4, false) + 1;

		reverse(&d->out[at], (const __u8 *)&v, 4);
		sum ^= v;
	}
	for (size_t at = 2048; at < 2560; at += 2) {
		reverse(&d->out[at], &d->in[at], 2);
		sum += load(&d->in[at], 2, true);
	}
	return sum;
}

__u64 jit_expect_calls(struct jit_data *d)
{
	__u64 acc = 1;

	for (__u32 i = 0; i < JIT_CALLS; i++) {
		__u64 x = (acc ^ i) + 3, y = (load(&d->in[4 * i], 4, false) ^ x) + 3;

		acc = (4 * x + x + y + i % 8) ^ acc / 128;
	}
	return acc;
}

__u64 jit_expect_crc32(struct jit_data *d)
{
	return crc32(crc32(0, Z_NULL, 0), d->in, JIT_CRC_BYTES);
}

/* By bytes, of either order: the sum is that of the swapped words, swapped. */
__u64 jit_expect_csum(struct jit_data *d)
{
	__u32 sum = 0;

	for (size_t i = 0; i < JIT_CSUM_BYTES; i++) {
		sum += (__u32)d->in[i] << (i % 2 ? 0 : 8);
		sum = sum % 0x10000 + sum / 0x10000;
	}
	return 0xffff ^ (sum % 256 * 256 + sum / 256);
}

/* The quotient by long division. */
static __u64 divide(__u64 x, __u64 by, __u64 *rest)
{
	__u64 quotient = 0, r = 0;

	for (int bit = 63; bit >= 0; bit--) {
		r = r << 1 | (x >> bit & 1);
		quotient <<= 1;
		if (r >= by) {
			r -= by;
			quotient |= 1;
		}
	}
	*rest = r;
	return quotient;
}

__u64 jit_expect_divmod(struct jit_data *d)
{
	__u64 sum = 0, rest;

	for (__u32 i = 0; i < JIT_DIVISIONS; i++) {
		__u64 x = load(&d->in[8 * i], 8, false), y = load(&d->in[4 * i], 4, false);
		__u64 by = y / 0x100000 | 1;

		sum += divide(x, 10, &rest);
		divide(x, 1000, &rest);
		sum += rest;
		__u64 sevenths = divide(y, 7, &rest);
		divide(y, 60, &rest);
		sum ^= sevenths + rest;
		sum += divide(y / 2, by, &rest);
		divide(x / 8, by, &rest);
		sum ^= rest;
	}
	return sum;
}

/* The prime of FNV is 2^40 + 2^8 + 0xb3. */
__u64 jit_expect_fnv(struct jit_data *d)
{
	__u64 hash = 14695981039346656037ull;

	for (size_t i = 0; i < JIT_FNV_BYTES; i++) {
		hash ^= d->in[i];
		hash = (hash << 40) + (hash << 8) + hash * 0xb3;
	}
	return hash;
}

static int text_class(const struct jit_data *d, size_t i, int before)
{
	int c = d->text[i];

	if (c == ' ' || c == '\n')
		return ' ';
	if (isalpha(c) || (before == 'w' && (c == '_' || isdigit(c))))
		return 'w';
	return isdigit(c) ? '0' : '.';
}

__u64 jit_expect_fsm(struct jit_data *d)
{
	__u64 count[256] = { 0 };
	int before = ' ';

	for (size_t i = 0; i < JIT_FSM_BYTES; i++) {
		int class = text_class(d, i, before);

		count[class] += class != before;
		before = class;
	}
	return count['w'] + (count['0'] << 16) + (count['.'] << 32);
}

__u64 jit_expect_map(struct jit_data *d)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < JIT_MAP_STEPS; i++)
		sum += d->in[i] == d->in[0] ? i : 0;
	return sum;
}

__u64 jit_expect_memcpy(struct jit_data *d)
{
	memcpy(d->out, d->in, 2048);
	memcpy(d->out + 2048, d->in + 2051, 509);
	memcpy(d->out + 2816, d->in + 2816, 1024);
	return load(d->in + 2040, 8, false) + d->in[2559] + load(d->in + 3836, 4, false);
}

__u64 jit_expect_murmur(struct jit_data *d)
{
	const __u64 m = 14313749767032793493ull;
	__u64 hash = 0x1234 ^ m * 4096;

	for (size_t at = 0; at < JIT_BYTES; at += 8) {
		__u64 k = m * load(&d->in[at], 8, false);

		hash ^= (k ^ k / (1ull << 47)) * m;
		hash *= m;
	}
	hash = (hash ^ hash / (1ull << 47)) * m;
	return hash ^ hash / (1ull << 47);
}

static __u64 packet_result(const struct packet *p)
{
	__u32 addrs = 0;

	if (p->ethertype == 0x0806)
		return 3;
	if (p->hops == 1)
		return 2;
	if (p->proto == 1)
		return 1;
	if (p->v6)
		addrs = (__u32)(load(p->addrs, 4, false) ^ load(p->addrs + 12, 4, false) ^
				load(p->addrs + 16, 4, false) ^ load(p->addrs + 28, 4, false));
	else
		addrs = (__u32)(load(p->addrs, 4, false) ^ load(p->addrs + 4, 4, false));
	return (((__u64)addrs << 32) + ((__u32)p->sport << 16) + p->dport) * 11400714819323198485ull ^
	       p->proto;
}

__u64 jit_expect_parse(struct jit_data *d)
{
	struct rng rng = { .state = PACKET_SEED };
	__u64 sum = 0;

	for (size_t i = 0; i < JIT_PACKETS; i++) {
		struct packet p;

		draw_packet(&p, &rng);
		sum = sum * 31 + packet_result(&p);
	}
	return sum;
}

/* By trial division. What is left of even numbers is what the sieve puts there to begin with. */
__u64 jit_expect_sieve(struct jit_data *d)
{
	__u64 primes = 0;

	for (__u32 n = 0; n < JIT_SIEVE; n++) {
		bool prime = n > 1;

		for (__u32 by = 2; by < n && prime; by++)
			prime = n % by;
		primes += prime;
		d->out[n] = n == 1 || (prime && n != 2);
	}
	return primes;
}

static void sip_rounds(__u64 v[4], int n)
{
	static const struct {
		int to, from, by, from_by;
	} steps[] = { { 0, 1, 13, 32 }, { 2, 3, 16, 0 }, { 2, 1, 17, 32 }, { 0, 3, 21, 0 } };
	/* Each half round adds @from to @to, rotates @from by @by and combines; then rotates @to. */
	for (int i = 0; i < n * 2; i++)
		for (int k = i % 2 * 2; k < i % 2 * 2 + 2; k++) {
			__u64 *to = &v[steps[k].to], *from = &v[steps[k].from];

			*to += *from;
			*from = (*from << steps[k].by | *from >> (64 - steps[k].by)) ^ *to;
			if (steps[k].from_by)
				*to = *to << 32 | *to >> 32;
		}
}

__u64 jit_expect_siphash(struct jit_data *d)
{
	__u64 v[4];

	for (int i = 0; i < 4; i++)
		v[i] = load((const __u8 *)"somepseudorandomlygeneratedbytes" + 8 * i, 8, true);
	for (size_t at = 0; at <= JIT_SIP_BYTES; at += 8) {
		__u64 m = at < JIT_SIP_BYTES ? load(&d->in[at], 8, false) :
					       (__u64)(JIT_SIP_BYTES % 256) << 56;

		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	v[2] ^= 255;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static int compare_words(const void *a, const void *b)
{
	__u32 x = *(const __u16 *)a, y = *(const __u16 *)b;

	return (x > y) - (x < y);
}

__u64 jit_expect_sort(struct jit_data *d)
{
	__u16 sorted[JIT_SORT];
	__u64 hash = 0;

	memcpy(sorted, d->in, sizeof(sorted));
	qsort(sorted, JIT_SORT, sizeof(sorted[0]), compare_words);
	for (size_t i = 0; i < JIT_SORT; i++)
		hash = hash * 31 + sorted[i];
	return hash;
}

__u64 jit_expect_strsearch(struct jit_data *d)
{
	const __u8 *end = d->text + sizeof(d->text), *p = d->text;
	__u64 found = 0;

	while ((p = memmem(p, (size_t)(end - p), JIT_NEEDLE, JIT_NEEDLE_LEN))) {
		found += 65536 + (__u64)(p - d->text);
		p++;
	}
	return found;
}

static __u64 rotate(__u64 x, int by)
{
	while (by--)
		x = x * 2 + (x >> 63);
	return x;
}

__u64 jit_expect_switch(struct jit_data *d)
{
	__u64 acc = 1, other = 0x5555;

	for (size_t i = 0; i < JIT_SWITCH_STEPS; i++) {
		__u64 op = d->in[i];
		const __u64 next_acc[16] = {
			acc + other, acc ^ other * 8, acc - op, acc, acc * 8 + acc, acc, -1 - acc,
			rotate(acc, 7), acc, acc + !(acc % 2), acc, acc - acc % 256, acc + acc / 2048,
			acc, acc ^ 19088743, acc,
		};
		const __u64 next_other[16] = {
			other, other, other, other + acc / 32, other, other ^ acc, other, other,
			other - 77, other, acc + op, other, other, other * 2, other, rotate(other, 23),
		};

		acc = next_acc[op % 16];
		other = next_other[op % 16];
	}
	return acc ^ other;
}

__u64 jit_expect_tlv(struct jit_data *d)
{
	__u64 sum = 0;

	for (size_t i = 0; i < JIT_TLV_RECORDS; i++) {
		const __u8 *record = &d->in[1 + 15 * i];

		sum += load(record + 7, 8, false) ^ load(record + 1, 4, false);
		sum += record[5] % 2 * record[0];
		sum = rotate(sum, 1);
	}
	return sum;
}
