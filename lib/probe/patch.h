/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changing the first instruction of functions that other threads may be executing.
 *
 *                    x86-64                                            arm64
 *   resting          nop (5 bytes)                                     nop
 *   1                int3 in its first byte          sync all cores    b thunk  (one aligned word)
 *   2                the other four bytes            sync all cores
 *   3                the first byte: jmp thunk       sync all cores
 *
 * A thread that meets the int3 meanwhile traps; the handler (trap.c) sends it where the new
 * instruction leads. Compilers that write five nops of one byte: a thread may have been interrupted
 * between them, so at the first change every thread is stopped by a signal once, and moved past the
 * nops if it is among them; afterwards the function has one nop of five bytes.
 *
 * Many functions are changed at the price of one: each step is done for all of them.
 */
#ifndef BPFU_PROBE_PATCH_H
#define BPFU_PROBE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpfu_site {
	uint8_t *at;       /* the instruction that changes */
	const void *dest;  /* where it shall lead; NULL: nowhere, the nop */
	const uint8_t *nop; /* what it is while it leads nowhere; NULL: the usual one */
	uint8_t len;       /* of that instruction; 0: the usual length */
	bool sled;         /* single nops until the first change; kept by patch.c */
};

/*
 * Find what there is to patch at the entry of the function @addr. -EOPNOTSUPP: it does not begin with
 * a nop that is large enough.
 */
int bpfu_site_find(const void *addr, struct bpfu_site *site);

/* Where execution goes on behind the site. */
const void *bpfu_site_after(const struct bpfu_site *site);

/*
 * Make the @cnt sites lead to their ->dest. All or nothing: 0, -ERANGE (one is out of reach),
 * -EACCES (text cannot be changed), -EBUSY (see bpfu_evict(), which a sled needs).
 */
int bpfu_patch(struct bpfu_site *const *sites, size_t cnt);

/* Bytes to write at an address. */
struct bpfu_write {
	void *at;
	const void *bytes;
	size_t n;
};

/*
 * Write breakpoints, the bytes that they took the place of, or code that nobody executes yet, and
 * wait until every thread sees them. Each write is one byte or an aligned word, or nobody executes
 * it. 0, or -EACCES; then what has been written stays.
 */
int bpfu_patch_write(const struct bpfu_write *writes, size_t cnt);

#endif
