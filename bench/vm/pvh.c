// SPDX-License-Identifier: BSD-2-Clause
/*
 * A bzImage says in its header where the packed kernel lies (Documentation/arch/x86/boot.rst of the kernel); behind
 * it are four bytes with its unpacked length. It is an ELF file whose notes name the entry. Nothing here is
 * trusted: what makes no sense is not unpacked.
 */
#include "vm/pvh.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "vm/unpack.h"

#define MAX_PACKED (256u << 20)
#define MAX_KERNEL (1u << 30)

#define SETUP_SECTORS 0x1f1
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define NOTE_PVH_ENTRY 18 /* of owner Xen */

static uint32_t word_at(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The packed kernel in @image, without the length behind it, which goes to *@unpacked. */
static const unsigned char *find_payload(const unsigned char *image, size_t len, size_t *payload_len,
					 size_t *unpacked)
{
	size_t begin, payload;

	if (len < 0x268 || memcmp(image + 0x202, "HdrS", 4))
		return NULL;
	begin = ((image[SETUP_SECTORS] ? image[SETUP_SECTORS] : 4) + 1) * 512u;
	payload = word_at(image + PAYLOAD_LENGTH);
	begin += word_at(image + PAYLOAD_OFFSET);
	if (payload < 8 || begin > len || payload > len - begin)
		return NULL;
	*payload_len = payload - 4;
	*unpacked = word_at(image + begin + payload - 4);
	return *unpacked && *unpacked <= MAX_KERNEL ? image + begin : NULL;
}

static bool has_entry(const char *notes, size_t len)
{
	while (len >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const void *)notes;
		size_t name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size_t size = sizeof(*n) + name + (((size_t)n->n_descsz + 3) & ~(size_t)3);

		if (n->n_type == NOTE_PVH_ENTRY && n->n_namesz == 4 && len >= sizeof(*n) + 4 &&
		    !memcmp(notes + sizeof(*n), "Xen", 4))
			return true;
		if (size >= len)
			break;
		notes += size;
		len -= size;
	}
	return false;
}

static bool is_pvh(const char *elf, size_t len)
{
	const Elf64_Ehdr *h = (const void *)elf;

	if (len < sizeof(*h) || memcmp(elf, ELFMAG, SELFMAG) || h->e_phentsize != sizeof(Elf64_Phdr) ||
	    h->e_phoff % 8 || h->e_phoff > len || h->e_phnum > (len - h->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 0; i < h->e_phnum; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(elf + h->e_phoff) + i;

		if (p->p_type == PT_NOTE && p->p_offset % 4 == 0 && p->p_offset <= len &&
		    p->p_filesz <= len - p->p_offset && has_entry(elf + p->p_offset, p->p_filesz))
			return true;
	}
	return false;
}

int pvh_kernel(const char *vmlinuz)
{
	size_t len, payload_len, unpacked = 0;
	const unsigned char *payload;
	struct errline ignored;
	void *image;
	char *elf = MAP_FAILED;
	bool good = false;
	int fd = -1;

	if (unpack_read(vmlinuz, MAX_PACKED, &image, &len, &ignored))
		return -1;
	payload = find_payload(image, len, &payload_len, &unpacked);
	if (payload)
		fd = memfd_create("bpflab-kernel", 0);
	if (fd >= 0 && !ftruncate(fd, (off_t)unpacked))
		elf = mmap(NULL, unpacked, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (elf != MAP_FAILED) {
		good = ZSTD_decompress(elf, unpacked, payload, payload_len) == unpacked && is_pvh(elf, unpacked);
		munmap(elf, unpacked);
	}
	free(image);
	if (fd >= 0 && !good)
		close(fd);
	return good ? fd : -1;
}
