/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for the addresses of a program: the functions in its symbol table. */
#ifndef BPFLAB_COUNT_ELF_SYMBOLS_H
#define BPFLAB_COUNT_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct elf_symbols {
	struct elf_symbol {
		uint64_t addr, size; /* addr first, for items_up_to() */
		char *name;
	} *items; /* by address */
	size_t nr, max;
};

/* Read those of the ELF file @path; none if it is stripped or cannot be read. elf_symbols_release() frees. */
void elf_symbols_read(struct elf_symbols *s, const char *path);
void elf_symbols_release(struct elf_symbols *s);

/* The function that @addr is in, as the file has addresses; NULL if none is. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t addr);

#endif
