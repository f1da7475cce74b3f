/* SPDX-License-Identifier: BSD-2-Clause */
/* Listings and their differences, as text and as JSON. */
#ifndef BPFLAB_DUMP_VIEW_H
#define BPFLAB_DUMP_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "dump/listing_diff.h"

/* One program in one form. */
struct dump_item {
	const char *target;
	const struct dump_prog *prog;
	const struct listing *listing;
	bool jited;
};

struct dump_style {
	bool bytes;  /* show them */
	bool source; /* show source lines */
};

void dump_view_text(FILE *f, const struct dump_item *item, const struct dump_style *style);
void dump_view_diff_text(FILE *f, const struct dump_item *a, const struct dump_item *b,
			 const struct listing_diff *d);

/* NULL if out of memory. */
json_t *dump_view_json(const struct dump_item *item);
json_t *dump_view_diff_json(const struct dump_item *a, const struct dump_item *b,
			    const struct listing_diff *d);

#endif
