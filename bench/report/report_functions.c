// SPDX-License-Identifier: BSD-2-Clause
#include "report/report_functions.h"

#include <math.h>
#include <stdlib.h>

#define SHOWN 0.005 /* instructions an event: what rounds to nothing is left out of a difference */

void report_functions(FILE *f, const char *spec, const struct count_point *pt)
{
	const struct count_functions *list = &pt->value.functions;
	char text[64];

	fprintf(f, "\n%s on %s: %s instructions per event\n", pt->label, spec,
		fraction_text(pt->value.net, false, text, sizeof(text)));
	for (size_t i = 0; i < list->nr; i++)
		fprintf(f, "%10s  %s\n",
			fraction_text(fraction_make(list->items[i].times, list->events), false, text,
				      sizeof(text)),
			list->items[i].name);
}

void report_functions_difference(FILE *f, const struct count_functions *a, const struct count_functions *b)
{
	struct count_function_pair *pairs;
	bool any = false;
	size_t nr;

	if (!a->nr || !b->nr)
		return;
	pairs = count_functions_pair(a, b, &nr);
	for (size_t i = 0; pairs && i < nr; i++) {
		double by = pairs[i].b - pairs[i].a;

		if (fabs(by) < SHOWN)
			continue;
		if (!any)
			fprintf(f, "%10s  %9s  %9s  function\n", "B - A", "A", "B");
		fprintf(f, "%+10.6g  %9.6g  %9.6g  %s\n", by, pairs[i].a, pairs[i].b, pairs[i].name);
		any = true;
	}
	free(pairs);
}

json_t *report_functions_json(const struct count_functions *functions)
{
	json_t *list = json_array();

	for (size_t i = 0; i < functions->nr; i++) {
		struct fraction x = fraction_make(functions->items[i].times, functions->events);

		json_array_append_new(list, json_pack("{s:s, s:[I, I]}", "name", functions->items[i].name,
						      "insns", (json_int_t)x.num, (json_int_t)x.den));
	}
	return list;
}
