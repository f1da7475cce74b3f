// SPDX-License-Identifier: BSD-2-Clause
/* The table for people, and the remarks below it. Column widths follow the contents. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/report_ratio.h"

enum { COL_BENCH, COL_TARGET, COL_NS, COL_CI, COL_TRIGGER, COL_NULL, COL_RATE, NR_COLS };

static const char *const titles[NR_COLS] = {
	"bench", "target", "ns/event", "95 % CI", "trigger ns", "null ns", "throughput M/s",
};

struct row {
	char cells[NR_COLS][128];
};

/* Three significant digits, as that is more than most machines repeat; two decimals from 10 ns on. */
void report_format_ns(char *buf, size_t size, double ns)
{
	if (isnan(ns))
		snprintf(buf, size, "-");
	else if (ns >= 100)
		snprintf(buf, size, "%.1f", ns);
	else if (ns >= 10 || ns == 0)
		snprintf(buf, size, "%.2f", ns);
	else if (ns >= 0.1)
		snprintf(buf, size, "%.3f", ns);
	else
		snprintf(buf, size, "%.4f", ns);
}

static void fill_row(struct row *row, const struct result *res)
{
	const struct estimate *est = &res->est;
	char ns[32], lo[32], hi[32];

	snprintf(row->cells[COL_BENCH], sizeof(row->cells[0]), "%s", res->point->label);
	snprintf(row->cells[COL_TARGET], sizeof(row->cells[0]), "%.120s",
		 res->point->inst.target->spec);
	report_format_ns(ns, sizeof(ns), est->distinguishable ? est->value : est->below);
	snprintf(row->cells[COL_NS], sizeof(row->cells[0]), "%s%s%s", est->distinguishable ? "" : "< ",
		 ns, est->gross_only ? " gross" : "");
	report_format_ns(lo, sizeof(lo), est->ci.lo);
	report_format_ns(hi, sizeof(hi), est->ci.hi);
	snprintf(row->cells[COL_CI], sizeof(row->cells[0]), "[%s, %s]", lo, hi);
	report_format_ns(row->cells[COL_TRIGGER], sizeof(row->cells[0]), est->trigger);
	report_format_ns(row->cells[COL_NULL], sizeof(row->cells[0]), est->null);
	snprintf(row->cells[COL_RATE], sizeof(row->cells[0]), "%.3f \u00b1 %.3f", est->rate_mean,
		 est->rate_stddev);
}

/* Columns on a terminal: UTF-8 continuation bytes take none. */
static int columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_cells(FILE *f, const char *const *cells, const int *widths)
{
	for (int i = 0; i < NR_COLS; i++) {
		int pad = widths[i] - columns(cells[i]);

		if (i <= COL_TARGET)
			fprintf(f, "%s%*s", cells[i], i == NR_COLS - 1 ? 0 : pad + 2, "");
		else
			fprintf(f, "%*s%s%s", pad, "", cells[i], i == NR_COLS - 1 ? "\n" : "  ");
	}
}

static void print_remarks(FILE *f, const struct report *r)
{
	bool any = false;

	for (size_t i = 0; i < r->nr_results; i++) {
		const struct result *res = &r->results[i];

		for (size_t j = 0; j < res->est.nr_warnings; j++) {
			fprintf(f, "%s%s on %s: %s\n", any ? "" : "\n", res->point->label,
				res->point->inst.target->spec, res->est.warnings[j]);
			any = true;
		}
		if (res->note[0]) {
			fprintf(f, "%s%s on %s: %s\n", any ? "" : "\n", res->point->label,
				res->point->inst.target->spec, res->note);
			any = true;
		}
	}
}

/* One line for all rows: on a busy machine it concerns most of them. */
static void print_left_out(FILE *f, const struct report *r)
{
	uint32_t most = 0, rounds = 0, rows = 0;

	for (size_t i = 0; i < r->nr_results; i++) {
		const struct estimate *est = &r->results[i].est;
		uint32_t left_out = est->rounds - est->rounds_used;

		rows += left_out > 0;
		if (left_out > most) {
			most = left_out;
			rounds = est->rounds;
		}
	}
	if (most * 10 > rounds)
		fprintf(f, " The machine is busy:\nrounds that were preempted are left out, up to %u of %u in "
			   "%u of %zu rows.", most, rounds, rows, r->nr_results);
}

static bool has_producers(const struct report *r)
{
	for (size_t i = 0; i < r->nr_results; i++)
		if (r->results[i].point->inst.params.producers > 1)
			return true;
	return false;
}

static void print_footer(FILE *f, const struct report *r)
{
	const struct suite *s = r->suite;

	fprintf(f, "\nMedian cost of one event in the state the machine was in, trigger and null program "
		   "subtracted;\n%u rounds spread over %.1f s, seed 0x%llx.", s->rounds_done, s->seconds,
		(unsigned long long)s->seed);
	if (has_producers(r))
		fprintf(f, " With several producers: the time each of them\nneeds per event of its own, "
			   "and the throughput of all.");
	print_left_out(f, r);
	fprintf(f, "\n%s, Linux %s", r->env->cpu[0] ? r->env->cpu : r->env->arch, r->env->kernel);
	if (r->env->hypervisor[0])
		fprintf(f, ", virtual machine (%s)", r->env->hypervisor);
	if (!r->env->has_pmu)
		fprintf(f, ", no PMU");
	fprintf(f, "\n");
}

void report_table(FILE *f, const struct report *r, bool quiet)
{
	int widths[NR_COLS];
	struct row row;
	const char *cells[NR_COLS];

	if (!r->nr_results)
		return;
	for (int c = 0; c < NR_COLS; c++) {
		widths[c] = columns(titles[c]);
		cells[c] = row.cells[c];
	}
	for (size_t i = 0; i < r->nr_results; i++) {
		fill_row(&row, &r->results[i]);
		for (int c = 0; c < NR_COLS; c++)
			if (columns(row.cells[c]) > widths[c])
				widths[c] = columns(row.cells[c]);
	}
	print_cells(f, titles, widths);
	for (size_t i = 0; i < r->nr_results; i++) {
		fill_row(&row, &r->results[i]);
		print_cells(f, cells, widths);
	}
	report_ratio_table(f, r);
	if (quiet)
		return;
	print_remarks(f, r);
	print_footer(f, r);
}
