// SPDX-License-Identifier: BSD-2-Clause
/* Counts of kernels. Numbers of reasons are given in the order of cells, the same reason once. */
#include "report/report_counts_matrix.h"

#include <errno.h>
#include <string.h>

bool report_counts_is_matrix(const struct count_report *r)
{
	bool kernels = false;

	for (size_t k = 0; k < r->nr_targets; k++)
		kernels |= target_is_vm(&r->targets[k].target);
	return kernels && r->nr_targets > 1 && r->nr_targets < TABLE_MAX_COLS;
}

/* Benches of all targets, in the order in which they first occur; NULL behind the last one. */
static const char *label_at(const struct count_report *r, size_t row)
{
	for (size_t k = 0; k < r->nr_targets; k++) {
		for (size_t i = 0; i < r->targets[k].nr_points; i++) {
			const char *label = r->targets[k].points[i].label;
			bool seen = false;

			for (size_t before = 0; before < k && !seen; before++)
				seen = count_point_find(&r->targets[before], label);
			if (!seen && !row--)
				return label;
		}
	}
	return NULL;
}

/*
 * Calls @fn for each reason that is met for the first time, up to the cell of @end, or of all; the number
 * of the last reason met, which is that of @end's.
 */
static unsigned int each_reason(const struct count_report *r, const struct count_point *end,
				void (*fn)(FILE *f, unsigned int number, const char *text), FILE *f)
{
	const char *seen[64], *label;
	unsigned int nr = 0, number = 0;

	for (size_t i = 0; (label = label_at(r, i)) != NULL; i++) {
		for (size_t k = 0; k < r->nr_targets; k++) {
			const struct count_point *pt = count_point_find(&r->targets[k], label);

			if (!pt || !pt->failed.text[0])
				continue;
			for (number = 0; number < nr; number++)
				if (!strcmp(seen[number], pt->failed.text))
					break;
			if (number == nr && nr < sizeof(seen) / sizeof(seen[0])) {
				seen[nr++] = pt->failed.text;
				if (fn)
					fn(f, nr, pt->failed.text);
			}
			if (pt == end)
				return number + 1;
		}
	}
	return 0;
}

static void put_cell(const struct count_report *r, const struct count_point *pt, char *cell)
{
	if (!pt)
		snprintf(cell, TABLE_CELL, "-");
	else if (pt->failed.text[0])
		snprintf(cell, TABLE_CELL, "[%u]", each_reason(r, pt, NULL, NULL));
	else
		snprintf(cell, TABLE_CELL, "%s%.6g", count_is_exact(pt) ? "" : "~",
			 fraction_value(pt->value.net));
}

int report_counts_matrix(const struct count_report *r, struct table *t)
{
	const char *titles[TABLE_MAX_COLS + 1] = { "insns/event" }, *label;
	int err;

	for (size_t k = 0; k < r->nr_targets; k++)
		titles[k + 1] = r->targets[k].spec;
	err = table_init(t, 1, titles);
	for (size_t i = 0; !err && (label = label_at(r, i)) != NULL; i++) {
		char(*row)[TABLE_CELL] = table_row(t);

		if (!row)
			return -ENOMEM;
		snprintf(row[0], TABLE_CELL, "%.150s", label);
		for (size_t k = 0; k < r->nr_targets; k++)
			put_cell(r, count_point_find(&r->targets[k], label), row[k + 1]);
	}
	return err;
}

static void put_reason(FILE *f, unsigned int number, const char *text)
{
	fprintf(f, "[%u] %s\n", number, text);
}

void report_counts_reasons(FILE *f, const struct count_report *r)
{
	each_reason(r, NULL, put_reason, f);
}
