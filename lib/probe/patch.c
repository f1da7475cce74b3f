// SPDX-License-Identifier: BSD-2-Clause
/* Live patching of sites; the scheme is in patch.h. */
#include "probe/patch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "probe/insn.h"
#include "probe/text.h"
#include "probe/trap.h"
#include "util/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one batch at a time */

int bpfu_site_find(const void *addr, struct bpfu_site *site)
{
	return bpfu_entry_find(addr, &site->at, &site->sled);
}

const void *bpfu_site_after(const struct bpfu_site *site)
{
	return site->at + BPFU_ENTRY_SIZE;
}

/* A site with its old and new bytes, in the order of addresses. */
struct change {
	struct bpfu_site *site;
	uint8_t old_bytes[BPFU_ENTRY_SIZE];
	uint8_t new_bytes[BPFU_ENTRY_SIZE];
};

static int cmp_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->site->at < y->site->at ? -1 : x->site->at > y->site->at;
}

static int changes_init(struct change *changes, struct bpfu_site *const *sites, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		changes[i].site = sites[i];
		memcpy(changes[i].old_bytes, sites[i]->at, BPFU_ENTRY_SIZE);
		if (!sites[i]->dest)
			bpfu_entry_nop(changes[i].new_bytes);
		else if (bpfu_entry_jump(changes[i].new_bytes, sites[i]->at, sites[i]->dest))
			return -ERANGE;
	}
	qsort(changes, cnt, sizeof(*changes), cmp_change);
	return 0;
}

#if defined(__x86_64__)

static const uint8_t int3 = BPFU_INT3;

static int write_part(const struct change *changes, size_t cnt, size_t from, size_t n, bool old)
{
	for (size_t i = 0; i < cnt; i++) {
		const uint8_t *bytes = old ? changes[i].old_bytes : changes[i].new_bytes;
		int err = bpfu_text_write(changes[i].site->at + from, bytes + from, n);

		if (err)
			return err;
	}
	bpfu_text_sync();
	return 0;
}

static int write_traps(const struct change *changes, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		int err = bpfu_text_write(changes[i].site->at, &int3, 1);

		if (err)
			return err;
	}
	bpfu_text_sync();
	return 0;
}

/* Threads that meet a breakpoint go where the new instruction leads. */
static struct bpfu_trap *make_traps(const struct change *changes, size_t cnt)
{
	struct bpfu_trap *traps = malloc(cnt * sizeof(*traps));

	for (size_t i = 0; i < cnt && traps; i++) {
		const struct bpfu_site *site = changes[i].site;
		const void *to = site->dest ? site->dest : bpfu_site_after(site);

		traps[i] = (struct bpfu_trap){ (uintptr_t)site->at, (uintptr_t)to };
	}
	return traps;
}

static int apply(const struct change *changes, size_t cnt)
{
	struct bpfu_trap *traps = make_traps(changes, cnt);
	bool sled = false;
	int err;

	if (!traps)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		sled |= changes[i].site->sled;
	bpfu_trap_init();
	bpfu_trap_set(traps, cnt);
	err = write_traps(changes, cnt);
	if (!err && sled)
		err = bpfu_trap_evict(BPFU_ENTRY_SIZE);
	if (!err)
		err = write_part(changes, cnt, 1, BPFU_ENTRY_SIZE - 1, false);
	if (!err)
		err = write_part(changes, cnt, 0, 1, false);
	if (err && err != -EACCES) /* what could be written can be written back */
		write_part(changes, cnt, 0, 1, true);
	bpfu_trap_clear();
	free(traps);
	return err;
}

#else

static int apply(const struct change *changes, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		int err = bpfu_text_write(changes[i].site->at, changes[i].new_bytes,
					  BPFU_ENTRY_SIZE);

		if (err)
			return err;
		__builtin___clear_cache((char *)changes[i].site->at,
					(char *)changes[i].site->at + BPFU_ENTRY_SIZE);
	}
	bpfu_text_sync();
	return 0;
}

#endif

int bpfu_patch(struct bpfu_site *const *sites, size_t cnt)
{
	struct change *changes = calloc(cnt ? cnt : 1, sizeof(*changes));
	int err;

	if (!changes)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	err = changes_init(changes, sites, cnt);
	if (!err && cnt)
		err = apply(changes, cnt);
	for (size_t i = 0; i < cnt && !err; i++)
		sites[i]->sled = false;
	pthread_mutex_unlock(&lock);
	free(changes);
	return err;
}
