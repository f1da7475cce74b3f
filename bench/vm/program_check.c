// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that cannot start in a guest would be told as "No such file or directory" there, whatever it
 * is that is missing; its headers tell it before.
 */
#include "vm/program_check.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/unpack.h"

#define MAX_PROGRAM (1u << 30)

static bool has_loader(const uint8_t *data, size_t len)
{
	Elf64_Ehdr head;
	Elf64_Phdr p;

	memcpy(&head, data, sizeof(head));
	for (size_t i = 0; i < head.e_phnum; i++) {
		uint64_t at = head.e_phoff + i * sizeof(p);

		if (head.e_phoff > len || at + sizeof(p) > len)
			return false;
		memcpy(&p, data + at, sizeof(p));
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static int check(const char *path, const uint8_t *data, size_t len, const struct machine_kind *machine,
		 struct errline *e)
{
	Elf64_Ehdr head;

	if (len < sizeof(head) || memcmp(data, ELFMAG, SELFMAG) || data[EI_CLASS] != ELFCLASS64)
		return errline_set(e, -EINVAL, "'%s' is no 64-bit ELF program: a guest has no shell and no "
				   "interpreter to run it", path);
	memcpy(&head, data, sizeof(head));
	if (head.e_machine != machine->elf)
		return errline_set(e, -EINVAL, "'%s' is a program for another machine, the guest's is %s",
				   path, machine->name);
	if (has_loader(data, len))
		return errline_set(e, -EINVAL, "'%s' is linked dynamically, and a guest has no libraries: link it "
				   "with -static", path);
	return 0;
}

int program_check(const char *path, const struct machine_kind *machine, struct errline *e)
{
	void *data;
	size_t len;
	int err = unpack_read(path, MAX_PROGRAM, &data, &len, e);

	if (err)
		return err;
	err = check(path, data, len, machine, e);
	free(data);
	return err;
}
