// SPDX-License-Identifier: BSD-2-Clause
/* What both kinds of listing share. */
#include "dump/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const listing_kind_names[LISTING_KINDS] = {
	[LISTING_COMPUTE] = "compute", [LISTING_LOAD] = "load",	  [LISTING_STORE] = "store",
	[LISTING_BRANCH] = "branch",   [LISTING_CALL] = "call",	  [LISTING_RETURN] = "return",
};

void listing_release(struct listing *l)
{
	for (size_t f = 0; f < l->nr; f++) {
		for (size_t i = 0; i < l->funcs[f].nr; i++)
			free(l->funcs[f].insns[i].text);
		free(l->funcs[f].insns);
	}
	free(l->funcs);
	memset(l, 0, sizeof(*l));
}

const char *listing_text(const struct listing_func *f, size_t idx, char *buf, size_t size)
{
	const struct listing_insn *insn = &f->insns[idx];

	if (insn->target < 0)
		snprintf(buf, size, "%s", insn->text);
	else
		snprintf(buf, size, "%s L%u", insn->text, f->insns[insn->target].label);
	return buf;
}

void listing_number_labels(struct listing_func *f)
{
	uint32_t last = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].target >= 0)
			f->insns[f->insns[i].target].label = 1;
	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].label)
			f->insns[i].label = ++last;
}
