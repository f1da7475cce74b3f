// SPDX-License-Identifier: BSD-2-Clause
/*
 * Text of the process, by the dynamic linker's list of files and their .eh_frame_hdr: a table of
 * functions sorted by address, each with a description that has its length (Linux Standard Base,
 * "Exception Frames"). The list is right whatever has been mapped over the text since.
 */
#include "probe/extent.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

/* ---- functions ---- */

struct query {
	uintptr_t addr;
	struct bpfu_extent *func;
	bool text, found;
};

/* How pointers are encoded, as far as linkers make use of it. */
enum { ENC_UDATA4 = 0x03, ENC_SDATA4 = 0x1b, ENC_TABLE = 0x3b, ENC_PCREL_SDATA4 = 0x1b };

struct header {
	uint8_t version, eh_frame_enc, cnt_enc, table_enc;
	int32_t eh_frame;
	uint32_t cnt;
	struct {
		int32_t start, fde; /* from the header */
	} rows[];
};

/* A description: length, distance to what is common to several, start, size. */
struct fde {
	uint32_t len, cie;
	int32_t start;
	uint32_t size;
};

static void find_func(struct query *q, const struct header *h)
{
	uint32_t lo = 0, hi = h->cnt;
	const struct fde *fde;

	if (h->version != 1 || h->cnt_enc != ENC_UDATA4 || h->table_enc != ENC_TABLE ||
	    h->eh_frame_enc != ENC_SDATA4)
		return;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((uintptr_t)h + (uintptr_t)(intptr_t)h->rows[mid].start <= q->addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return;
	fde = (const struct fde *)((uintptr_t)h + (uintptr_t)(intptr_t)h->rows[lo - 1].fde);
	q->func->start = (uintptr_t)h + (uintptr_t)(intptr_t)h->rows[lo - 1].start;
	/* In another encoding than the usual one the start would not agree. */
	if ((uintptr_t)&fde->start + (uintptr_t)(intptr_t)fde->start != q->func->start)
		return;
	q->func->end = q->func->start + fde->size;
	q->found = q->addr < q->func->end;
}

static int look_in_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct header *h = NULL;
	struct query *q = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && q->addr >= start &&
		    q->addr < start + ph->p_memsz)
			q->text = true;
		if (ph->p_type == PT_GNU_EH_FRAME)
			h = (const struct header *)start;
	}
	if (q->text && h)
		find_func(q, h);
	return q->text;
}

bool bpfu_extent_find(uintptr_t addr, struct bpfu_extent *func, bool *text)
{
	struct query q = { .addr = addr, .func = func };

	dl_iterate_phdr(look_in_file, &q);
	if (text)
		*text = q.text;
	return q.found;
}

/* ---- files ---- */

struct file_query {
	struct stat wanted;
	uint64_t off;
	enum bpfu_file_part part;
	uintptr_t addr;
	bool loaded, found;
};

static bool is_same_file(const struct stat *wanted, const char *name)
{
	struct stat st;

	/* The program itself has no name, the kernel's vdso no file. */
	return !stat(name && name[0] ? name : "/proc/self/exe", &st) &&
	       st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino;
}

static int look_for_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct file_query *q = arg;

	if (!is_same_file(&q->wanted, info->dlpi_name))
		return 0;
	q->loaded = true;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		bool fits = q->part == BPFU_FILE_TEXT ? ph->p_flags & PF_X : ph->p_flags & PF_W;

		if (ph->p_type != PT_LOAD || !fits || q->off < ph->p_offset ||
		    q->off >= ph->p_offset + ph->p_filesz)
			continue;
		q->addr = info->dlpi_addr + ph->p_vaddr + (q->off - ph->p_offset);
		q->found = true;
		return 1;
	}
	return 0;
}

int bpfu_file_addr(const char *path, uint64_t off, enum bpfu_file_part part, uintptr_t *addr)
{
	struct file_query q = { .off = off, .part = part };

	if (stat(path, &q.wanted))
		return -errno;
	if (!S_ISREG(q.wanted.st_mode))
		return -EINVAL;
	dl_iterate_phdr(look_for_offset, &q);
	if (!q.loaded)
		return -EOPNOTSUPP;
	*addr = q.addr;
	return q.found ? 0 : -EINVAL;
}
