// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/kallsyms, read when first asked and sorted. Of several symbols at one address the first stays: aliases and
 * __pfx_ padding come in an order that puts the function's own name there.
 */
#include "machine/kallsyms.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t addr;
	uint32_t rank; /* place in the file: equal addresses keep their order */
	char *name;
};

static struct symbol *symbols;
static size_t nr_symbols;
static bool loaded;

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool add(size_t *room, uint64_t addr, const char *name)
{
	struct symbol *grown = symbols;

	if (nr_symbols == *room) {
		*room = *room ? 2 * *room : 1 << 16;
		grown = realloc(symbols, *room * sizeof(*symbols));
		if (!grown)
			return false;
		symbols = grown;
	}
	symbols[nr_symbols] = (struct symbol){ addr, (uint32_t)nr_symbols, strdup(name) };
	return symbols[nr_symbols].name && ++nr_symbols;
}

static void load(void)
{
	char line[512], name[256], type;
	unsigned long long addr;
	size_t room = 0;
	FILE *f;

	if (loaded)
		return;
	loaded = true;
	f = fopen("/proc/kallsyms", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		/* Zero: hidden. Types t, T, w, W are code. */
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) == 3 && addr &&
		    strchr("tTwW", type) && !add(&room, addr, name))
			break;
	fclose(f);
	qsort(symbols, nr_symbols, sizeof(*symbols), compare);
}

void kallsyms_forget(void)
{
	for (size_t i = 0; i < nr_symbols; i++)
		free(symbols[i].name);
	free(symbols);
	symbols = NULL;
	nr_symbols = 0;
	loaded = false;
}

const char *kallsyms_name(uint64_t addr)
{
	size_t lo = 0, hi;

	load();
	hi = nr_symbols;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (symbols[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr_symbols && symbols[lo].addr == addr ? symbols[lo].name : NULL;
}

const char *kallsyms_near(uint64_t addr)
{
	size_t lo = 0, hi;

	load();
	hi = nr_symbols;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && symbols[lo - 1].addr ? symbols[lo - 1].name : NULL;
}

uint64_t kallsyms_addr(const char *name)
{
	load();
	for (size_t i = 0; i < nr_symbols; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].addr;
	return 0;
}
