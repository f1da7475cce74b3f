// SPDX-License-Identifier: BSD-2-Clause
/* From stored results to the cells of a table. */
#include "report/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_text.h"
#include "report/report.h"

#define TEXT 512

struct builder {
	struct sheets *sheets;
	struct sheet *sheet;
};

static const char *const result_titles[] = {
	"bench", "target", "ns/event", "95 % CI", "trigger ns", "null ns", "throughput M/s",
};
static const bool result_narrow[] = { true, true, true, true, false, false, false };

static const char *const compare_titles[] = {
	"bench", "A", "B", "B vs A [95 % CI]", "verdict", "n",
};
static const bool compare_narrow[] = { true, false, false, true, true, true };

static const char *const noise_titles[] = { "bench", "target", "in 1 s", "in 10 s", "in 60 s" };
static const bool noise_narrow[] = { true, true, true, true, true };

int sheet_columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* -------------------------------------------------------------- memory */

static char *keep(struct builder *b, const char *text)
{
	char *copy = strdup(text);

	if (!copy) {
		b->sheets->failed = true;
		return NULL;
	}
	record_clean(copy);
	return copy;
}

static void begin(struct builder *b, enum record_kind kind, size_t first)
{
	struct sheet *grown = realloc(b->sheets->items, (b->sheets->nr + 1) * sizeof(*grown));

	if (!grown) {
		b->sheets->failed = true;
		return;
	}
	b->sheets->items = grown;
	b->sheet = &grown[b->sheets->nr++];
	*b->sheet = (struct sheet){ .kind = kind, .first = first };
	b->sheet->titles = kind == RECORD_RESULT ? result_titles :
			   kind == RECORD_COMPARE ? compare_titles : noise_titles;
	b->sheet->narrow = kind == RECORD_RESULT ? result_narrow :
			   kind == RECORD_COMPARE ? compare_narrow : noise_narrow;
	b->sheet->nr_cols = kind == RECORD_RESULT ? 7 : kind == RECORD_COMPARE ? 6 : 5;
}

static void add_row(struct builder *b, const char *const *cells)
{
	struct sheet *s = b->sheet;
	char **grown = realloc(s->cells, (s->nr_rows + 1) * s->nr_cols * sizeof(*grown));

	if (!grown) {
		b->sheets->failed = true;
		return;
	}
	s->cells = grown;
	for (size_t i = 0; i < s->nr_cols; i++)
		grown[s->nr_rows * s->nr_cols + i] = keep(b, cells[i]);
	s->nr_rows++;
}

__attribute__((format(printf, 2, 3))) static void remark(struct builder *b, const char *fmt, ...)
{
	struct sheet *s = b->sheet;
	char text[2 * TEXT], **grown;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < s->nr_remarks; i++)
		if (s->remarks[i] && !strcmp(s->remarks[i], text))
			return;
	grown = realloc(s->remarks, (s->nr_remarks + 1) * sizeof(*grown));
	if (!grown) {
		b->sheets->failed = true;
		return;
	}
	s->remarks = grown;
	grown[s->nr_remarks++] = keep(b, text);
}

/* -------------------------------------------------------------- what all kinds have */

static void remark_list(struct builder *b, const struct record *r, const char *key)
{
	const json_t *list = json_object_get(r->json, key);

	for (size_t i = 0; i < json_array_size(list); i++)
		remark(b, "%s%s%s: %.400s", r->label, r->target[0] ? " on " : "", r->target,
		       json_string_value(json_array_get(list, i)));
}

static void remark_machine(struct builder *b, const struct record *r)
{
	const json_t *env = json_object_get(r->json, "env");
	const char *cpu = record_text(env, "cpu"), *hypervisor = record_text(env, "hypervisor");

	if (!json_is_object(env))
		return;
	remark(b, "%.120s, Linux %.120s%s%.100s%s%s, %.40s", cpu[0] ? cpu : record_text(env, "arch"),
	       record_text(env, "kernel"), hypervisor[0] ? ", virtual machine (" : "", hypervisor,
	       hypervisor[0] ? ")" : "",
	       json_is_false(json_object_get(env, "pmu")) ? ", no PMU" : "", record_text(env, "time"));
}

static void remark_command(struct builder *b, const struct record *r)
{
	const char *command = record_text(r->json, "command"), *seed = record_text(r->json, "seed");

	if (command[0])
		remark(b, "Repeat: %.600s", command);
	else if (seed[0])
		remark(b, "seed %.40s", seed);
}

/* -------------------------------------------------------------- results */

static void interval_text(char *buf, size_t size, const struct interval *ci)
{
	char lo[32], hi[32];

	if (isnan(ci->lo) || isnan(ci->hi)) {
		snprintf(buf, size, "-");
		return;
	}
	report_format_ns(lo, sizeof(lo), ci->lo);
	report_format_ns(hi, sizeof(hi), ci->hi);
	snprintf(buf, size, "[%s, %s]", lo, hi);
}

static void add_result(struct builder *b, const struct record *r)
{
	const json_t *rate = json_object_get(r->json, "throughput");
	struct interval ci = record_interval(r->json, "ci95");
	bool known = !isnan(r->ns);
	char ns[32], figure[80], interval[96], trigger[32], null[32], text[96];
	const char *cells[SHEET_MAX_COLS];

	report_format_ns(ns, sizeof(ns), known ? r->ns : record_number(r->json, "below"));
	snprintf(figure, sizeof(figure), "%s%s%s%s", known ? "" : "< ", ns,
		 json_is_true(json_object_get(r->json, "gross_only")) ? " gross" : "",
		 json_is_true(json_object_get(r->json, "emulated")) ? " emulated" : "");
	interval_text(interval, sizeof(interval), &ci);
	report_format_ns(trigger, sizeof(trigger), record_number(r->json, "trigger_ns"));
	report_format_ns(null, sizeof(null), record_number(r->json, "null_ns"));
	if (isnan(record_number(rate, "mean")))
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), "%.3f \u00b1 %.3f", record_number(rate, "mean"),
			 record_number(rate, "stddev"));
	cells[0] = r->label;
	cells[1] = r->target;
	cells[2] = figure;
	cells[3] = interval;
	cells[4] = trigger;
	cells[5] = null;
	cells[6] = text;
	add_row(b, cells);
}

static void finish_results(struct builder *b, const struct record *r, size_t nr)
{
	const struct record *last = &r[nr - 1];

	b->sheet->head = keep(b, "Median cost of one event, trigger and null program subtracted");
	for (size_t i = 0; i < nr; i++)
		remark_list(b, &r[i], "warnings");
	for (size_t i = 0; i < nr; i++)
		if (json_is_true(json_object_get(r[i].json, "emulated")))
			remark(b, "Emulated: times of QEMU's translation, not of a CPU; compare them with no other");
	if (!isnan(record_number(last->json, "rounds")) && !isnan(record_number(last->json, "seconds")))
		remark(b, "%.0f rounds spread over %.1f s", record_number(last->json, "rounds"),
		       record_number(last->json, "seconds"));
	for (size_t i = 0; i < nr; i++) {
		remark_machine(b, &r[i]);
		remark_command(b, &r[i]);
	}
}

/* -------------------------------------------------------------- comparisons */

static void effect_of(const json_t *o, struct effect *effect)
{
	struct interval ci = record_interval(o, "ci");
	double n = record_number(o, "n");

	*effect = (struct effect){ .log_ratio = log(record_number(o, "ratio")),
				   .ci = { log(ci.lo), log(ci.hi) },
				   .has_ci = ci.lo > 0 && isfinite(ci.hi),
				   .n = n >= 1 && n < 1e9 ? (size_t)n : 1 };
}

static void row_effect(const struct record *r, struct effect *effect)
{
	const json_t *o = json_object_get(r->json, "effect");

	effect_of(json_is_object(o) ? o : r->json, effect);
}

static enum verdict row_verdict(const struct record *r)
{
	for (int v = 0; v < NR_VERDICTS; v++)
		if (!strcmp(record_text(r->json, "verdict"), verdict_name(v)))
			return v;
	return VERDICT_INCONCLUSIVE;
}

static void cost_text(char *buf, size_t size, const json_t *side)
{
	struct interval ci = record_interval(side, "ci95");
	char ns[32], half[32];

	report_format_ns(ns, sizeof(ns), record_number(side, "ns_per_event"));
	report_format_ns(half, sizeof(half), (ci.hi - ci.lo) / 2);
	if (isnan(ci.hi - ci.lo))
		snprintf(buf, size, "%s ns", ns);
	else
		snprintf(buf, size, "%s ns \u00b1%s", ns, half);
}

static void add_comparison(struct builder *b, const struct record *r)
{
	double quads = record_number(r->json, "quads");
	char a[80], bb[80], change[112], n[48];
	struct effect effect;
	const char *cells[] = { r->label, a, bb, change, record_text(r->json, "verdict"), n };
	const json_t *side_a = json_object_get(r->json, "a"), *side_b = json_object_get(r->json, "b");

	cost_text(a, sizeof(a), side_a);
	cost_text(bb, sizeof(bb), side_b);
	row_effect(r, &effect);
	compare_text_effect(change, sizeof(change), &effect);
	if (!strcmp(record_text(r->json, "basis"), "gross"))
		strncat(change, " gross", sizeof(change) - strlen(change) - 1);
	if (isnan(quads) && isnan(record_number(side_a, "runs")))
		snprintf(n, sizeof(n), "-");
	else if (isnan(quads))
		snprintf(n, sizeof(n), "%.0f/%.0f runs", record_number(side_a, "runs"),
			 record_number(side_b, "runs"));
	else
		snprintf(n, sizeof(n), "%.0f", quads);
	add_row(b, cells);
}

static const char *side_name(const struct record *r, const char *side)
{
	const json_t *o = json_object_get(r->json, side);
	const char *name = record_text(o, "name");

	return name[0] ? name : record_text(o, "target");
}

static bool any_control_failed(const struct record *r, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (json_is_false(json_object_get(json_object_get(r[i].json, "control"), "ok")))
			return true;
	return false;
}

/* Of several rows the control is that of their mean, and one that failed counts for all. */
static void control_text(char *buf, size_t size, const struct record *r, size_t nr)
{
	const json_t *control = json_object_get(r->json, "control");
	const json_t *mean = json_object_get(json_object_get(r->json, "suite"), "control");
	struct effect effect;
	char text[96];

	if (nr > 1 && json_is_object(mean))
		control = mean;
	if (!json_is_object(control)) {
		snprintf(buf, size, json_is_true(json_object_get(r->json, "historical")) ?
			 "measured at other times, not side by side" : "no control");
		return;
	}
	effect_of(control, &effect);
	compare_text_effect(text, sizeof(text), &effect);
	snprintf(buf, size, "control A/A %s %s", text, any_control_failed(r, nr) ? "FAILED" : "fine");
}

static void head_of_comparison(struct builder *b, const struct record *r, size_t nr)
{
	size_t counts[NR_VERDICTS] = { 0 };
	char text[TEXT] = "", head[3 * TEXT], control[160];
	size_t len = 0;

	for (size_t i = 0; i < nr; i++)
		counts[row_verdict(&r[i])]++;
	if (nr == 1) {
		struct effect effect;
		const struct compare_sentence s = { r->label, row_verdict(r), &effect,
						    log1p(record_number(r->json, "margin")), 0, "quads" };

		row_effect(r, &effect);
		compare_text_sentence(text, sizeof(text), &s);
	} else {
		len = (size_t)snprintf(text, sizeof(text), "Of %zu benches on B:", nr);
		for (int v = 0; v < NR_VERDICTS && len < sizeof(text); v++)
			if (counts[v])
				len += (size_t)snprintf(text + len, sizeof(text) - len, " %zu %s,",
							counts[v], verdict_name(v));
		text[strlen(text) - 1] = '\0';
	}
	control_text(control, sizeof(control), r, nr);
	snprintf(head, sizeof(head), "%s; %s. A: %.200s, B: %.200s", text, control, side_name(r, "a"),
		 side_name(r, "b"));
	b->sheet->head = keep(b, head);
}

static void remark_confirmation(struct builder *b, const struct record *r)
{
	const json_t *again = json_object_get(r->json, "confirmation");
	struct effect effect;
	char text[96];

	if (!json_is_object(again))
		return;
	effect_of(again, &effect);
	compare_text_effect(text, sizeof(text), &effect);
	remark(b, "%s: %s by a fresh run: %s", r->label,
	       json_is_true(json_object_get(again, "confirmed")) ? "confirmed" : "NOT confirmed", text);
}

static void finish_comparison(struct builder *b, const struct record *r, size_t nr)
{
	head_of_comparison(b, r, nr);
	for (size_t i = 0; i < nr; i++) {
		remark_confirmation(b, &r[i]);
		remark_list(b, &r[i], "notes");
		if (record_text(r[i].json, "reason")[0])
			remark(b, "%s: %.200s", r[i].label, record_text(r[i].json, "reason"));
	}
	for (size_t i = 0; i < nr; i++) {
		remark_machine(b, &r[i]);
		remark_command(b, &r[i]);
	}
}

/* -------------------------------------------------------------- noise */

static void add_noise(struct builder *b, const struct record *r)
{
	static const char *const spans[] = { "1", "10", "60" };
	const json_t *smallest = json_object_get(r->json, "smallest_difference");
	char text[3][32];
	const char *cells[] = { r->label, r->target, text[0], text[1], text[2] };

	for (int i = 0; i < 3; i++)
		snprintf(text[i], sizeof(text[i]), "%.2f %%", 100 * record_number(smallest, spans[i]));
	add_row(b, cells);
}

static void finish_noise(struct builder *b, const struct record *r, size_t nr)
{
	b->sheet->head = keep(b, "The smallest difference that a comparison finds here nine times in ten");
	for (size_t i = 0; i < nr; i++) {
		remark_machine(b, &r[i]);
		remark_command(b, &r[i]);
	}
}

/* -------------------------------------------------------------- all */

/* Results go together as they come, comparisons if A and B are the same. */
static bool belongs(const struct record *first, const struct record *r)
{
	if (first->kind != r->kind)
		return false;
	return r->kind != RECORD_COMPARE || (first->file == r->file &&
	       !strcmp(side_name(first, "a"), side_name(r, "a")) &&
	       !strcmp(side_name(first, "b"), side_name(r, "b")));
}

int sheets_make(struct sheets *sheets, const struct record_list *list)
{
	struct builder b = { .sheets = sheets };

	*sheets = (struct sheets){ 0 };
	for (size_t i = 0; i < list->nr && !sheets->failed;) {
		const struct record *first = &list->items[i];
		size_t nr = 0;

		begin(&b, first->kind, i);
		while (i + nr < list->nr && !sheets->failed && belongs(first, &first[nr])) {
			const struct record *r = &first[nr++];

			if (r->kind == RECORD_RESULT)
				add_result(&b, r);
			else if (r->kind == RECORD_COMPARE)
				add_comparison(&b, r);
			else
				add_noise(&b, r);
		}
		if (sheets->failed)
			break;
		b.sheet->nr_records = nr;
		if (first->kind == RECORD_RESULT)
			finish_results(&b, first, nr);
		else if (first->kind == RECORD_COMPARE)
			finish_comparison(&b, first, nr);
		else
			finish_noise(&b, first, nr);
		i += nr;
	}
	if (!sheets->failed)
		return 0;
	sheets_release(sheets);
	return -ENOMEM;
}

void sheets_release(struct sheets *sheets)
{
	for (size_t i = 0; i < sheets->nr; i++) {
		struct sheet *s = &sheets->items[i];

		for (size_t j = 0; j < s->nr_rows * s->nr_cols; j++)
			free(s->cells[j]);
		for (size_t j = 0; j < s->nr_remarks; j++)
			free(s->remarks[j]);
		free(s->cells);
		free(s->remarks);
		free(s->head);
	}
	free(sheets->items);
	sheets->items = NULL;
	sheets->nr = 0;
}
