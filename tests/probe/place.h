/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of uprobes share: from addresses to files and offsets, and links of uprobe.multi. */
#ifndef TESTS_PROBE_PLACE_H
#define TESTS_PROBE_PLACE_H

#include <errno.h>
#include <link.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define SELF "/proc/self/exe"

struct place_search {
	uintptr_t addr;
	uint64_t found;
	const char *path;
};

static inline int place_in(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct place_search *s = ctx;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || s->addr < start || s->addr >= start + p->p_filesz)
			continue;
		s->found = s->addr - start + p->p_offset;
		s->path = info->dlpi_name[0] ? info->dlpi_name : SELF; /* the program has no name */
		return 1;
	}
	return 0;
}

/*
 * Where the file @path (may be NULL) has what is loaded at @addr; -1: nowhere. Not from /proc/self/maps, in
 * which a page that libbpfu had to replace is no longer the file's.
 */
static inline uint64_t place_of(const void *addr, char path[256])
{
	struct place_search s = { .addr = (uintptr_t)addr, .found = -1 };

	if (dl_iterate_phdr(place_in, &s) && path)
		snprintf(path, 256, "%s", s.path);
	return s.found;
}

/* link_create.uprobe_multi, which the host's header may lack. */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

#define ATTACH_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1

/* A descriptor, or -errno. */
static inline int place_attach(const struct bpf_program *prog, const char *path,
			       const uint64_t *offsets, const uint64_t *cookies, uint32_t cnt,
			       uint32_t flags)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = cnt,
		.multi_flags = flags,
	};

	return bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
}

/* Runs that were missed, since the thread was in a program already. */
static inline uint64_t misses_of(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len), 0);
	return info.recursion_misses;
}

#endif
