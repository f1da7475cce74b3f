// SPDX-License-Identifier: BSD-2-Clause
/* Stored results for other programs: JSON lines as they came, and CSV. */
#include <errno.h>
#include <math.h>

#include "report/form.h"
#include "report/report_compare.h"
#include "util/json_line.h"

int form_json(FILE *f, const void *ctx)
{
	const struct form *form = ctx;
	int err = 0;

	for (size_t i = 0; i < form->list->nr && !err; i++)
		err = json_line_put(f, json_incref(form->list->items[i].json));
	return err;
}

static void put_number(FILE *f, double x)
{
	putc(',', f);
	if (isfinite(x))
		fprintf(f, "%.9g", x);
}

static void csv_row(FILE *f, const struct record *r)
{
	static const char *const kinds[] = { [RECORD_RESULT] = "result", [RECORD_COMPARE] = "compare",
					     [RECORD_NOISE] = "noise" };
	const json_t *effect = json_object_get(r->json, "effect");
	const json_t *of = json_is_object(effect) ? effect : r->json;
	struct interval ci = record_interval(r->json, "ci95"), change = record_interval(of, "ci");
	bool compare = r->kind == RECORD_COMPARE;

	fputs(kinds[r->kind], f);
	putc(',', f);
	report_csv_text(f, r->label);
	putc(',', f);
	report_csv_text(f, r->target);
	put_number(f, r->ns);
	put_number(f, compare ? NAN : ci.lo);
	put_number(f, compare ? NAN : ci.hi);
	put_number(f, record_number(json_object_get(r->json, "a"), "ns_per_event"));
	put_number(f, record_number(json_object_get(r->json, "b"), "ns_per_event"));
	put_number(f, compare ? record_number(of, "ratio") : NAN);
	put_number(f, compare ? change.lo : NAN);
	put_number(f, compare ? change.hi : NAN);
	putc(',', f);
	report_csv_text(f, compare ? record_text(r->json, "verdict") : "");
	putc(',', f);
	report_csv_text(f, record_text(r->json, "seed"));
	putc('\n', f);
}

int form_csv(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	fputs("kind,bench,target,ns_per_op,ci95_lo,ci95_hi,a_ns_per_op,b_ns_per_op,ratio,ratio_lo,ratio_hi,"
	      "verdict,seed\n", f);
	for (size_t i = 0; i < form->list->nr; i++)
		csv_row(f, &form->list->items[i]);
	return ferror(f) ? -EIO : 0;
}
