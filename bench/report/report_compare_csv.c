// SPDX-License-Identifier: BSD-2-Clause
/* Comparisons as CSV with a header line: one line a row, no samples. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_compare.h"

static const char header[] =
	"bench,a,b,a_ns,b_ns,ratio,ci_lo,ci_hi,basis,ratio_gross,gross_lo,gross_hi,verdict,p,p_holm,"
	"quads,loads,null_share_a,null_share_b,control,control_lo,control_hi,control_ok,historical,seed,"
	"notes\n";

void report_csv_text(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', f);
		putc(*text, f);
	}
	putc('"', f);
}

/* A figure and a comma; nothing for what there is none of. */
static void put(FILE *f, double x)
{
	if (isfinite(x))
		fprintf(f, "%.9g", x);
	putc(',', f);
}

static void put_effect(FILE *f, const struct effect *effect, bool has_ci)
{
	put(f, effect->n ? exp(effect->log_ratio) : NAN);
	put(f, has_ci ? exp(effect->ci.lo) : NAN);
	put(f, has_ci ? exp(effect->ci.hi) : NAN);
}

static void put_text(FILE *f, const char *text)
{
	report_csv_text(f, text);
	putc(',', f);
}

static void put_row(FILE *f, const struct comparison *c, const struct comparison_row *row)
{
	const struct compare_stats *st = &row->stats;
	double per = comparison_row_events(row);
	char notes[2048] = "";
	size_t len = 0;

	put_text(f, row->label);
	put_text(f, c->names[0]);
	put_text(f, c->names[1]);
	put(f, st->cost[0].ns / per);
	put(f, st->cost[1].ns / per);
	put_effect(f, &st->effect, st->effect.has_ci);
	put_text(f, st->basis == BASIS_NET ? "net" : "gross");
	put_effect(f, &st->gross, st->gross.has_ci);
	put_text(f, verdict_name(row->verdict));
	put(f, row->p);
	put(f, row->p_holm);
	fprintf(f, "%zu,%zu,", row->used, st->effect.loads);
	put(f, st->null_share[0]);
	put(f, st->null_share[1]);
	put_effect(f, &st->control, st->control.has_ci);
	if (c->control)
		fprintf(f, "%d", !row->control_failed && !c->control_failed);
	fprintf(f, ",0,0x%016llx,", (unsigned long long)c->seed);
	for (size_t i = 0; i < row->nr_notes && len < sizeof(notes); i++)
		len += (size_t)snprintf(notes + len, sizeof(notes) - len, "%s%s", i ? "; " : "",
					row->notes[i]);
	report_csv_text(f, notes);
	putc('\n', f);
}

int report_compare_csv(FILE *f, const void *ctx)
{
	const struct compare_report *r = ctx;

	fputs(header, f);
	for (size_t i = 0; i < r->comparison->nr_rows; i++)
		if (!r->comparison->rows[i].failed)
			put_row(f, r->comparison, &r->comparison->rows[i]);
	return ferror(f) ? -EIO : 0;
}

int report_historical_csv(FILE *f, const void *ctx)
{
	const struct historical *h = ctx;

	fputs(header, f);
	for (size_t i = 0; i < h->nr_rows; i++) {
		const struct historical_row *row = &h->rows[i];

		put_text(f, row->label);
		put_text(f, row->side[0].target);
		put_text(f, row->side[1].target);
		put(f, row->side[0].ns);
		put(f, row->side[1].ns);
		put_effect(f, &row->effect, row->effect.has_ci);
		fputs("net,,,,", f);
		put_text(f, verdict_name(row->verdict));
		put(f, row->effect.has_ci ? row->effect.p : NAN);
		put(f, row->effect.has_ci ? row->p_holm : NAN);
		fputs(",,,,,,,,1,,", f);
		report_csv_text(f, row->reason ? row->reason : "");
		putc('\n', f);
	}
	return ferror(f) ? -EIO : 0;
}
