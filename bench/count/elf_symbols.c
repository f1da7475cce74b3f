// SPDX-License-Identifier: BSD-2-Clause
#include "count/elf_symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/items_up_to.h"

static void add(struct elf_symbols *s, const GElf_Sym *sym, const char *name)
{
	if (s->nr == s->max) {
		size_t max = s->max ? 2 * s->max : 1024;
		struct elf_symbol *grown = realloc(s->items, max * sizeof(*grown));

		if (!grown)
			return; /* an address without a name */
		s->items = grown;
		s->max = max;
	}
	s->items[s->nr].addr = sym->st_value;
	s->items[s->nr].size = sym->st_size;
	s->items[s->nr].name = strdup(name);
	s->nr += s->items[s->nr].name != NULL;
}

static void read_table(struct elf_symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = data && sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;

	for (size_t i = 0; i < nr; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    !sym.st_size)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name)
			add(s, &sym, name);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void elf_symbols_read(struct elf_symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	Elf *elf;

	memset(s, 0, sizeof(*s));
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	while (elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			read_table(s, elf, scn, &sh);
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
	if (s->nr)
		qsort(s->items, s->nr, sizeof(*s->items), by_address);
}

void elf_symbols_release(struct elf_symbols *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->items[i].name);
	free(s->items);
	memset(s, 0, sizeof(*s));
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t addr)
{
	size_t lo = items_up_to(s->items, s->nr, sizeof(*s->items), addr);

	return lo && addr - s->items[lo - 1].addr < s->items[lo - 1].size ? &s->items[lo - 1] : NULL;
}
