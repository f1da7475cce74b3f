// SPDX-License-Identifier: BSD-2-Clause
/* Live patching of sites; the scheme is in patch.h. */
#include "probe/patch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "probe/evict.h"
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
	return site->at + (site->len ? site->len : BPFU_ENTRY_SIZE);
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
		if (!sites[i]->dest && sites[i]->nop)
			memcpy(changes[i].new_bytes, sites[i]->nop, BPFU_ENTRY_SIZE);
		else if (!sites[i]->dest)
			bpfu_entry_nop(changes[i].new_bytes);
		else if (bpfu_entry_jump(changes[i].new_bytes, sites[i]->at, sites[i]->dest))
			return -ERANGE;
	}
	qsort(changes, cnt, sizeof(*changes), cmp_change);
	return 0;
}

#if defined(__x86_64__)

/* One step of all changes: @n bytes each, from offset @from of the instruction. */
struct step {
	uint8_t from, n;
	bool trap; /* breakpoints instead of the new bytes */
	bool undo; /* the old bytes */
};

static const uint8_t *bytes_of(const struct change *c, const struct step *step)
{
	static const uint8_t int3 = BPFU_INT3;

	return step->trap ? &int3 : (step->undo ? c->old_bytes : c->new_bytes) + step->from;
}

#define SPAN 4096 /* written at once; what lies between two sites is written as it is */

/* The changes from @first on that one write reaches; *@err is the write's. */
static size_t write_span(const struct change *first, size_t cnt, const struct step *step, int *err)
{
	uint8_t *start = first->site->at + step->from;
	uint8_t buf[SPAN];
	size_t done = 0, len = 0;

	while (done < cnt) {
		size_t end = (size_t)(first[done].site->at + step->from - start) + step->n;

		if (end > SPAN)
			break;
		memcpy(buf + len, start + len, end - len);
		memcpy(buf + end - step->n, bytes_of(&first[done], step), step->n);
		len = end;
		done++;
	}
	*err = bpfu_text_write(start, buf, len);
	return done;
}

static int write_step(const struct change *changes, size_t cnt, const struct step *step)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err;)
		i += write_span(changes + i, cnt - i, step, &err);
	if (!err)
		bpfu_text_sync();
	return err;
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
	err = write_step(changes, cnt, &(struct step){ .n = 1, .trap = true });
	if (!err && sled)
		err = bpfu_evict(BPFU_ENTRY_SIZE);
	if (!err)
		err = write_step(changes, cnt, &(struct step){ .from = 1, .n = BPFU_ENTRY_SIZE - 1 });
	if (!err)
		err = write_step(changes, cnt, &(struct step){ .n = 1 });
	if (err && !write_step(changes, cnt, &(struct step){ .from = 1, .n = BPFU_ENTRY_SIZE - 1,
							      .undo = true }))
		write_step(changes, cnt, &(struct step){ .n = 1, .undo = true });
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
	if (!err && cnt) {
		bpfu_text_open();
		err = apply(changes, cnt);
		bpfu_text_close();
	}
	for (size_t i = 0; i < cnt && !err; i++)
		sites[i]->sled = false;
	pthread_mutex_unlock(&lock);
	free(changes);
	return err;
}

int bpfu_patch_write(const struct bpfu_write *writes, size_t cnt)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	bpfu_text_open();
	for (size_t i = 0; i < cnt && !err; i++) {
		err = bpfu_text_write(writes[i].at, writes[i].bytes, writes[i].n);
		__builtin___clear_cache((char *)writes[i].at, (char *)writes[i].at + writes[i].n);
	}
	bpfu_text_close();
	bpfu_text_sync();
	pthread_mutex_unlock(&lock);
	return err;
}
