/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for the addresses of a program: the functions in its symbol table. */
#ifndef BPFLAB_COUNT_SYMBOLS_H
#define BPFLAB_COUNT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols {
	struct symbol {
		uint64_t addr, size;
		char *name;
	} *items; /* by address */
	size_t nr, max;
};

/* Read those of the ELF file @path; none if it is stripped or cannot be read. symbols_release() frees. */
void symbols_read(struct symbols *s, const char *path);
void symbols_release(struct symbols *s);

/* The function that @addr is in, as the file has addresses; NULL if none is. */
const struct symbol *symbols_find(const struct symbols *s, uint64_t addr);

#endif
