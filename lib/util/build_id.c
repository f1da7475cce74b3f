// SPDX-License-Identifier: BSD-2-Clause
/*
 * Build ids, from the notes of files as they lie in memory. A file is loaded from its beginning, so its ELF
 * header is at the start of it; one that is loaded otherwise has no build id here.
 */
#include "util/build_id.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "util/bits.h"
#include "util/cfi.h"

/* The id among the @size bytes of notes at @p. */
static bool find_id(const uint8_t *p, uint64_t size, uint8_t id[BPFU_BUILD_ID_SIZE])
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)p;
		uint64_t name = BPFU_ROUND_UP((uint64_t)n->n_namesz, 4);
		uint64_t desc = BPFU_ROUND_UP((uint64_t)n->n_descsz, 4);

		if (name + desc > size - sizeof(*n))
			return false;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == sizeof("GNU") &&
		    !memcmp(n + 1, "GNU", sizeof("GNU")) && n->n_descsz &&
		    n->n_descsz <= BPFU_BUILD_ID_SIZE) {
			memset(id, 0, BPFU_BUILD_ID_SIZE);
			memcpy(id, p + sizeof(*n) + name, n->n_descsz);
			return true;
		}
		p += sizeof(*n) + name + desc;
		size -= sizeof(*n) + name + desc;
	}
	return false;
}

bool bpfu_build_id_of(uint64_t addr, uint8_t id[BPFU_BUILD_ID_SIZE], uint64_t *off)
{
	const void *start, *eh_frame_hdr;
	const ElfW(Phdr) *phdrs;
	const ElfW(Ehdr) *ehdr;
	bool has_id = false, has_off = false;
	uint64_t bias = 0;

	if (!bpfu_loaded_file(addr, &start, &eh_frame_hdr))
		return false;
	ehdr = start;
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_phentsize != sizeof(*phdrs))
		return false;
	phdrs = (const ElfW(Phdr) *)((const char *)start + ehdr->e_phoff);
	for (int i = 0; i < ehdr->e_phnum; i++) {
		if (phdrs[i].p_type == PT_LOAD && !phdrs[i].p_offset) {
			bias = bpfu_u64(start) - phdrs[i].p_vaddr;
			break;
		}
	}
	for (int i = 0; i < ehdr->e_phnum; i++) {
		const ElfW(Phdr) *ph = &phdrs[i];
		uint64_t at = bias + ph->p_vaddr;

		if (ph->p_type == PT_NOTE && !has_id)
			has_id = find_id(bpfu_ptr(at), ph->p_memsz, id);
		if (ph->p_type == PT_LOAD && addr >= at && addr - at < ph->p_memsz) {
			*off = addr - at + ph->p_offset;
			has_off = true;
		}
	}
	return has_id && has_off;
}
