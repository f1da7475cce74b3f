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

static const struct count_point *point_at(const struct count_report *r, size_t bench, size_t target)
{
	const struct count_target *t = &r->targets[target];

	return bench < t->nr_points ? &t->points[bench] : NULL;
}

/*
 * Calls @fn for each reason that is met for the first time, up to the cell of @end, or of all; the number
 * of the last reason met, which is that of @end's.
 */
static unsigned int each_reason(const struct count_report *r, const struct count_point *end,
				void (*fn)(FILE *f, unsigned int number, const char *text), FILE *f)
{
	const char *seen[64];
	unsigned int nr = 0, number = 0;

	for (size_t i = 0; i < r->targets[0].nr_points; i++) {
		for (size_t k = 0; k < r->nr_targets; k++) {
			const struct count_point *pt = point_at(r, i, k);

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
	const char *titles[TABLE_MAX_COLS + 1] = { "insns/event" };
	int err;

	for (size_t k = 0; k < r->nr_targets; k++)
		titles[k + 1] = r->targets[k].spec;
	err = table_init(t, 1, titles);
	for (size_t i = 0; i < r->targets[0].nr_points && !err; i++) {
		char(*row)[TABLE_CELL] = table_row(t);

		if (!row)
			return -ENOMEM;
		snprintf(row[0], TABLE_CELL, "%.150s", r->targets[0].points[i].label);
		for (size_t k = 0; k < r->nr_targets; k++)
			put_cell(r, point_at(r, i, k), row[k + 1]);
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
