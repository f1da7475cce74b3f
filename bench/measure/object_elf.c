// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a file must be to be handed to libbpf: an ELF file of this machine's byte order, for BPF,
 * relocatable and whole. libbpf reports these in several lines, some of them misleading.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/object.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif

#define REMEDY "compile it with clang -g -O2 -target bpf -c"

static int check_header(const char *path, const Elf64_Ehdr *eh, off_t size, struct errline *e)
{
	unsigned char data = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return errline_set(e, -ENOEXEC, "'%s' is not an ELF file; " REMEDY, path);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_BPF)
		return errline_set(e, -ENOEXEC, "'%s' is an ELF file, but not for BPF; " REMEDY, path);
	if (eh->e_ident[EI_DATA] != data)
		return errline_set(e, -ENOEXEC, "'%s' is for a machine of the other byte order; " REMEDY,
				   path);
	if (eh->e_type != ET_REL)
		return errline_set(e, -ENOEXEC, "'%s' is linked, not relocatable; " REMEDY, path);
	if (eh->e_shentsize != sizeof(Elf64_Shdr) || !eh->e_shnum || eh->e_shoff > (uint64_t)size ||
	    eh->e_shnum > ((uint64_t)size - eh->e_shoff) / sizeof(Elf64_Shdr))
		return errline_set(e, -ENOEXEC, "'%s' is cut short: its section table is not in the "
				   "file; copy or compile it again", path);
	return 0;
}

static int check_sections(const char *path, int fd, const Elf64_Ehdr *eh, off_t size,
			  struct errline *e)
{
	for (unsigned int i = 0; i < eh->e_shnum; i++) {
		off_t pos = (off_t)(eh->e_shoff + i * sizeof(Elf64_Shdr));
		Elf64_Shdr sh;

		if (pread(fd, &sh, sizeof(sh), pos) != sizeof(sh))
			return errline_set(e, -EIO, "cannot read '%s'", path);
		if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL)
			continue;
		if (sh.sh_offset > (uint64_t)size || sh.sh_size > (uint64_t)size - sh.sh_offset)
			return errline_set(e, -ENOEXEC, "'%s' is cut short: section %u is not in the "
					   "file; copy or compile it again", path, i);
	}
	return 0;
}

static int check_file(const char *path, int fd, struct errline *e)
{
	Elf64_Ehdr eh = { 0 };
	struct stat st;
	ssize_t n;
	int err;

	if (fstat(fd, &st))
		return errline_set(e, -errno, "cannot stat '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return errline_set(e, -EINVAL, "'%s' is not a regular file", path);
	if (!st.st_size)
		return errline_set(e, -ENOEXEC, "'%s' is empty; " REMEDY, path);
	n = pread(fd, &eh, sizeof(eh), 0);
	if (n < 0)
		return errline_set(e, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (n < (ssize_t)sizeof(eh) && !memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return errline_set(e, -ENOEXEC, "'%s' is cut short: it ends within the ELF header; copy "
				   "or compile it again", path);
	err = check_header(path, &eh, st.st_size, e);
	return err ? err : check_sections(path, fd, &eh, st.st_size, e);
}

int object_check_elf(const char *path, struct errline *e)
{
	/* Not to hang on a FIFO that nobody writes. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return errline_set(e, -errno, "cannot open '%s': %s", path, strerror(errno));
	err = check_file(path, fd, e);
	close(fd);
	return err;
}
