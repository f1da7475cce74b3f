// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counted instructions. Rows are benches, and the targets of each one below the other; with kernels among
 * them, across (report_counts_matrix.h).
 */
#include "report/report_counts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/report_counts_matrix.h"
#include "report/report_functions.h"
#include "report/report_json.h"
#include "result/record.h"
#include "util/json_line.h"

/* ---- table ---- */

static const char *const titles[] = { "bench", "target", "insns/event", "trigger", "null", "runs equal",
				      NULL };

/* Calls @fn for each point that has figures, bench by bench. Ends at the first that is not 0. */
static int each_point(const struct count_report *r,
		      int (*fn)(const struct count_target *t, const struct count_point *pt, void *ctx),
		      void *ctx)
{
	int err = 0;

	for (size_t i = 0; r->nr_targets && i < r->targets[0].nr_points; i++)
		for (size_t k = 0; k < r->nr_targets && !err; k++)
			if (i < r->targets[k].nr_points && !r->targets[k].points[i].failed.text[0])
				err = fn(&r->targets[k], &r->targets[k].points[i], ctx);
	return err;
}

static int add_row(const struct count_target *t, const struct count_point *pt, void *ctx)
{
	char(*row)[TABLE_CELL] = table_row(ctx);
	char text[64];

	if (!row)
		return -ENOMEM;
	snprintf(row[0], TABLE_CELL, "%.150s", pt->label);
	snprintf(row[1], TABLE_CELL, "%.150s", t->spec);
	snprintf(row[2], TABLE_CELL, "%s",
		 fraction_text(pt->value.net, true, text, sizeof(text)));
	snprintf(row[3], TABLE_CELL, "%s",
		 fraction_text(pt->value.trigger, false, text, sizeof(text)));
	snprintf(row[4], TABLE_CELL, "%s", fraction_text(pt->value.null, false, text, sizeof(text)));
	snprintf(row[5], TABLE_CELL, "%zu of %zu", pt->equal, pt->nr_runs);
	return 0;
}

static int print_remark(const struct count_target *t, const struct count_point *pt, void *ctx)
{
	char lo[64], hi[64];
	FILE *f = ctx;

	if (!count_is_exact(pt))
		fprintf(f, "%s on %s: the runs do not agree (%s to %s); shown is what most of them gave\n",
			pt->label, t->spec, fraction_text(pt->lo, false, lo, sizeof(lo)),
			fraction_text(pt->hi, false, hi, sizeof(hi)));
	if (!pt->value.linear)
		fprintf(f, "%s on %s: an event costs not the same in windows of different sizes; the "
			   "figure is a mean\n", pt->label, t->spec);
	return 0;
}

void report_counts_where(FILE *f, const struct count_target *targets, size_t nr)
{
	bool kernels = false;

	fprintf(f, "Counted under ");
	for (size_t i = 0; i < nr; i++) {
		const struct emulator *em = &targets[i].emulator;
		bool told = false;

		kernels |= target_is_vm(&targets[i].target);
		for (size_t k = 0; k < i; k++)
			told |= !strcmp(targets[k].emulator.program, em->program);
		if (!told)
			fprintf(f, "%s%s %s (-cpu %s)", i ? " and " : "", em->program, em->version,
				em->cpu);
	}
	fprintf(f, ": emulated.\nThat is what a processor would execute in user space%s, and says nothing about "
		   "time.\n", kernels ? " and, on a vm, in the kernel" : "");
}

/* ---- ratios to native code of the same architecture ---- */

struct pair {
	const struct count_target *target, *base;
	double log_sum;
	size_t summed;
};

static size_t find_pairs(const struct count_report *r, struct pair *pairs, size_t max)
{
	size_t nr = 0;

	for (size_t k = 0; k < r->nr_targets; k++)
		for (size_t b = 0; b < r->nr_targets && nr < max; b++) {
			const struct count_target *t = &r->targets[k], *base = &r->targets[b];

			if (target_is_native(&base->target) && !target_is_native(&t->target) &&
			    !strcmp(t->emulator.arch, base->emulator.arch))
				pairs[nr++] = (struct pair){ .target = t, .base = base };
		}
	return nr;
}

static double ratio_of(const struct pair *p, size_t i)
{
	if (p->target->points[i].failed.text[0] || p->base->points[i].failed.text[0])
		return NAN;
	return fraction_value(fraction_div(p->target->points[i].value.net,
					   p->base->points[i].value.net));
}

static void put_ratio(char *cell, double ratio)
{
	if (isfinite(ratio))
		snprintf(cell, TABLE_CELL, "%.3f", ratio);
	else
		snprintf(cell, TABLE_CELL, "-");
}

static int ratio_rows(const struct count_report *r, struct pair *pairs, size_t nr, struct table *table)
{
	char(*row)[TABLE_CELL];

	for (size_t i = 0; i < r->targets[0].nr_points; i++) {
		row = table_row(table);
		if (!row)
			return -ENOMEM;
		snprintf(row[0], TABLE_CELL, "%.150s", r->targets[0].points[i].label);
		for (size_t k = 0; k < nr; k++) {
			double ratio = ratio_of(&pairs[k], i);

			put_ratio(row[k + 1], ratio);
			if (isfinite(ratio) && ratio > 0) {
				pairs[k].log_sum += log(ratio);
				pairs[k].summed++;
			}
		}
	}
	row = r->targets[0].nr_points > 1 ? table_row(table) : NULL;
	if (row)
		snprintf(row[0], TABLE_CELL, "geometric mean");
	for (size_t k = 0; row && k < nr; k++)
		put_ratio(row[k + 1], pairs[k].summed ? exp(pairs[k].log_sum / (double)pairs[k].summed) :
							NAN);
	return 0;
}

/* insns ÷ insns of each target to each native one; no rows if there is none. */
static int make_ratios(const struct count_report *r, struct table *table)
{
	char names[TABLE_MAX_COLS][TABLE_CELL];
	const char *heads[TABLE_MAX_COLS + 1] = { "insns / insns" };
	struct pair pairs[TABLE_MAX_COLS - 1];
	size_t nr = find_pairs(r, pairs, TABLE_MAX_COLS - 1);
	int err;

	memset(table, 0, sizeof(*table));
	if (!nr)
		return 0;
	for (size_t k = 0; k < nr; k++) {
		snprintf(names[k], TABLE_CELL, "%s: %.60s / %.60s", pairs[k].target->emulator.arch,
			 pairs[k].target->target.spec, pairs[k].base->target.spec);
		heads[k + 1] = names[k];
	}
	err = table_init(table, 1, heads);
	return err ? err : ratio_rows(r, pairs, nr, table);
}

static int print_matrix(FILE *f, const struct count_report *r, void (*put)(FILE *f, const struct table *t))
{
	struct table table;
	int err = report_counts_matrix(r, &table);

	if (!err)
		put(f, &table);
	table_release(&table);
	return err;
}

static int print_rows(FILE *f, const struct count_report *r, void (*put)(FILE *f, const struct table *t))
{
	struct table table, ratios = { 0 };
	int err = table_init(&table, 2, titles);

	if (!err)
		err = each_point(r, add_row, &table);
	if (!err && table.nr_rows > 1)
		err = make_ratios(r, &ratios);
	if (!err && table.nr_rows > 1) {
		put(f, &table);
		if (ratios.nr_rows) {
			putc('\n', f);
			put(f, &ratios);
		}
	}
	table_release(&table);
	table_release(&ratios);
	return err;
}

static int print(FILE *f, const struct count_report *r, void (*put)(FILE *f, const struct table *t))
{
	return report_counts_is_matrix(r) ? print_matrix(f, r, put) : print_rows(f, r, put);
}

static void print_remarks(FILE *f, const struct count_report *r)
{
	if (report_counts_is_matrix(r))
		report_counts_reasons(f, r);
	each_point(r, print_remark, f);
}

static int print_functions(const struct count_target *t, const struct count_point *pt, void *ctx)
{
	if (pt->value.functions.nr)
		report_functions(ctx, t->spec, pt);
	return 0;
}

void report_counts_table(FILE *f, const struct count_report *r)
{
	if (print(f, r, table_print))
		return;
	each_point(r, print_functions, f);
	if (r->quiet)
		return;
	putc('\n', f);
	print_remarks(f, r);
	fprintf(f, "Instructions that one event executes, trigger and null program subtracted; exact if all "
		   "runs,\neach a process of its own, are equal.\n");
	report_counts_where(f, r->targets, r->nr_targets);
}

int report_counts_markdown(FILE *f, const void *ctx)
{
	const struct count_report *r = ctx;
	int err = print(f, r, table_print_markdown);

	if (err)
		return err;
	putc('\n', f);
	print_remarks(f, r);
	report_counts_where(f, r->targets, r->nr_targets);
	return ferror(f) ? -EIO : 0;
}

/* ---- CSV ---- */

static int put_csv(const struct count_target *t, const struct count_point *pt, void *ctx)
{
	FILE *f = ctx;

	fprintf(f, "\"%s\",\"%s\",%.9g,%lld,%lld,%.9g,%.9g,", pt->label, t->spec,
		fraction_value(pt->value.net), (long long)pt->value.net.num,
		(long long)pt->value.net.den, fraction_value(pt->value.gross),
		fraction_value(pt->value.null));
	if (fraction_is_valid(pt->value.trigger))
		fprintf(f, "%.9g", fraction_value(pt->value.trigger));
	fprintf(f, ",%zu,%zu,%d\n", pt->equal, pt->nr_runs, pt->value.linear);
	return 0;
}

int report_counts_csv(FILE *f, const void *ctx)
{
	fputs("bench,target,insns_per_event,numerator,denominator,gross,null,trigger,runs_equal,runs,"
	      "linear\n", f);
	each_point(ctx, put_csv, f);
	return ferror(f) ? -EIO : 0;
}

/* ---- JSON ---- */

json_t *report_counts_fraction(struct fraction x)
{
	return fraction_is_valid(x) ? json_pack("[I, I]", (json_int_t)x.num, (json_int_t)x.den) :
				      json_null();
}

json_t *report_counts_variant(const struct count_target *t)
{
	json_t *o = report_json_variant(&t->target);

	json_object_set_new(o, "arch", json_string(t->emulator.arch));
	return o;
}

struct json_ctx {
	const struct count_report *r;
	FILE *f;
};

static json_t *member(const struct count_point *pt, const char *key)
{
	json_t *v = json_object_get(pt->line, key);

	return v ? json_incref(v) : json_null();
}

static json_t *emulator_json(const struct emulator *em)
{
	return json_pack("{s:s, s:s, s:s}", "program", em->program, "version", em->version, "cpu",
			 em->cpu);
}

static int put_json(const struct count_target *t, const struct count_point *pt, void *ctx)
{
	const struct json_ctx *c = ctx;
	const struct count_figures *v = &pt->value;
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:o}", "schema", SCHEMA_COUNT, "bench",
			      pt->bench, "target", t->target.kind->name, "variant",
			      report_counts_variant(t), "params", member(pt, "params"), "unit",
			      "insns/event", "estimate", number(fraction_value(v->net)));

	if (!o)
		return -ENOMEM;
	json_object_set_new(o, "exact", json_boolean(count_is_exact(pt)));
	json_object_set_new(o, "fraction", report_counts_fraction(v->net));
	json_object_set_new(o, "gross", report_counts_fraction(v->gross));
	json_object_set_new(o, "null", report_counts_fraction(v->null));
	json_object_set_new(o, "trigger", report_counts_fraction(v->trigger));
	json_object_set_new(o, "linear", json_boolean(v->linear));
	json_object_set_new(o, "runs", json_integer((json_int_t)pt->nr_runs));
	json_object_set_new(o, "runs_equal", json_integer((json_int_t)pt->equal));
	json_object_set_new(o, "least", report_counts_fraction(pt->lo));
	json_object_set_new(o, "most", report_counts_fraction(pt->hi));
	json_object_set_new(o, "emulated", json_true());
	json_object_set_new(o, "emulator", emulator_json(&t->emulator));
	json_object_set_new(o, "prog", member(pt, "prog"));
	json_object_set_new(o, "events_per_op", member(pt, "events_per_op"));
	json_object_set_new(o, "windows", member(pt, "windows"));
	if (v->functions.nr)
		json_object_set_new(o, "functions", report_functions_json(&v->functions));
	json_object_set_new(o, "command", json_string(c->r->command));
	json_object_set_new(o, "env", env_json(c->r->env));
	return json_line_put(c->f, o);
}

int report_counts_json(FILE *f, const void *ctx)
{
	struct json_ctx c = { .r = ctx, .f = f };

	return each_point(c.r, put_json, &c);
}
