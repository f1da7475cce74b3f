// SPDX-License-Identifier: BSD-2-Clause
/*
 * A page that needs nothing but itself: tables as they are in every other form, the scripts and styles of
 * web/ and third_party/uplot, and the data for the plots as JSON.
 *
 * Names and labels come from files that anybody may have made. They go into the page in two ways only:
 * through put_text(), and inside JSON strings in which <, > and & are escaped. The content security
 * policy admits the one script and the one style by their hashes, so that even a mistake in this would
 * execute nothing, and no address outside of the page is ever loaded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "page_assets.h"
#include "report/form.h"

static void put_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			putc(*text, f);
		}
	}
}

static void put_element(FILE *f, const char *tag, const char *text)
{
	fprintf(f, "<%s>", tag);
	put_text(f, text);
	fprintf(f, "</%s>\n", tag);
}

/* -------------------------------------------------------------- data of the plots */

static json_t *number_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *copy_of(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return json_is_number(v) || json_is_string(v) || json_is_boolean(v) ? json_incref(v) : json_null();
}

/* Columns of @names, one entry a sample: a tenth of the size of a list of objects. */
static json_t *columns_of(const json_t *samples, const char *const *names)
{
	json_t *o = json_object();

	for (size_t c = 0; names[c]; c++) {
		json_t *list = json_array();

		for (size_t i = 0; i < json_array_size(samples); i++)
			json_array_append_new(list, copy_of(json_array_get(samples, i), names[c]));
		json_object_set_new(o, names[c], list);
	}
	return o;
}

/* Nanoseconds to seconds. */
static void scale_time(json_t *columns)
{
	json_t *list = json_object_get(columns, "t");

	for (size_t i = 0; i < json_array_size(list); i++)
		json_array_set_new(list, i, number_or_null(json_number_value(json_array_get(list, i)) / 1e9));
}

static double time_of(const struct record *r)
{
	const char *text = record_text(json_object_get(r->json, "env"), "time");
	struct tm tm = { 0 };

	return strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (double)timegm(&tm) : NAN;
}

/* Numbers only: a parameter is an axis. */
static json_t *params_of(const struct record *r)
{
	json_t *params = json_object_get(r->json, "params"), *o = json_object(), *value;
	const char *key;

	json_object_foreach(params, key, value)
		if (json_is_number(value))
			json_object_set(o, key, value);
	return o;
}

static json_t *result_data(const struct record *r, size_t id)
{
	static const char *const names[] = { "t", "arm", "size", "ns", "ops", NULL };
	struct interval ci = record_interval(r->json, "ci95");
	double per = record_number(json_object_get(r->json, "batch"), "events_per_op");
	json_t *samples = json_object_get(r->json, "samples"), *o;

	o = json_pack("{s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:[o,o,o], s:f}", "kind", "result", "id",
		      (json_int_t)id, "label", r->label, "target", r->target, "bench",
		      record_text(r->json, "bench"), "params", params_of(r), "time",
		      number_or_null(time_of(r)), "est", number_or_null(r->ns), number_or_null(ci.lo),
		      number_or_null(ci.hi), "per", per >= 1 ? per : 1);
	if (o && json_array_size(samples)) {
		json_t *columns = columns_of(samples, names);

		scale_time(columns);
		json_object_set_new(o, "samples", columns);
	}
	return o;
}

static json_t *compare_data(const struct record *r, size_t id)
{
	static const char *const names[] = { "t", "arm", "null", "ns", "ops", "quad", NULL };
	const json_t *effect = json_object_get(r->json, "effect");
	const json_t *of = json_is_object(effect) ? effect : r->json;
	struct interval ci = record_interval(of, "ci");
	json_t *samples = json_object_get(r->json, "samples"), *o;

	o = json_pack("{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:s}", "kind", "compare", "id", (json_int_t)id,
		      "label", r->label, "ratio", number_or_null(record_number(of, "ratio")), "lo",
		      number_or_null(ci.lo), "hi", number_or_null(ci.hi), "margin",
		      number_or_null(record_number(r->json, "margin")), "verdict",
		      record_text(r->json, "verdict"));
	if (o && json_array_size(samples)) {
		json_t *columns = columns_of(samples, names);

		scale_time(columns);
		json_object_set_new(o, "samples", columns);
	}
	return o;
}

static json_t *data_of(const struct record *r, size_t id)
{
	if (r->kind == RECORD_RESULT)
		return result_data(r, id);
	if (r->kind == RECORD_COMPARE)
		return compare_data(r, id);
	return json_pack("{s:s, s:I}", "kind", "noise", "id", (json_int_t)id);
}

static int put_data(FILE *f, const struct record_list *list)
{
	json_t *all = json_array();
	char *text;

	for (size_t i = 0; i < list->nr; i++)
		if (json_array_append_new(all, data_of(&list->items[i], i))) {
			json_decref(all);
			return -ENOMEM;
		}
	text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7));
	json_decref(all);
	if (!text)
		return -ENOMEM;
	fputs("<script type=\"application/json\" id=\"data\">", f);
	/* outside of strings JSON has none of these */
	for (const char *p = text; *p; p++) {
		if (*p == '<' || *p == '>' || *p == '&')
			fprintf(f, "\\u%04x", *p);
		else
			putc(*p, f);
	}
	fputs("</script>\n", f);
	free(text);
	return 0;
}

/* -------------------------------------------------------------- tables */

static bool is_verdict(const char *text, const char *word)
{
	return !strcmp(text, word);
}

static void put_table(FILE *f, const struct sheet *s)
{
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table><thead><tr>", f);
	for (size_t c = 0; c < s->nr_cols; c++) {
		fputs("<th scope=\"col\">", f);
		put_text(f, s->titles[c]);
		fputs("</th>", f);
	}
	fputs("</tr></thead>\n<tbody>\n", f);
	for (size_t r = 0; r < s->nr_rows; r++) {
		fputs("<tr>", f);
		for (size_t c = 0; c < s->nr_cols; c++) {
			const char *cell = sheet_cell(s, r, c);
			const char *name = is_verdict(cell, "faster") ? "faster" :
					   is_verdict(cell, "slower") ? "slower" :
					   is_verdict(cell, "untrusted") ? "untrusted" : NULL;

			if (s->kind == RECORD_COMPARE && c == 4 && name)
				fprintf(f, "<td class=\"%s\">", name);
			else
				fputs("<td>", f);
			put_text(f, cell);
			fputs("</td>", f);
		}
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div>\n", f);
}

/* Members of @o that are texts or numbers, as a table of two columns. */
static void put_members(FILE *f, const json_t *o)
{
	const char *key;
	json_t *value;

	fputs("<table><tbody>\n", f);
	json_object_foreach((json_t *)o, key, value) {
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

		fputs("<tr><th scope=\"row\">", f);
		put_text(f, key);
		fputs("</th><td>", f);
		put_text(f, json_is_string(value) ? json_string_value(value) : text ? text : "");
		fputs("</td></tr>\n", f);
		free(text);
	}
	fputs("</tbody></table>\n", f);
}

static void put_environment(FILE *f, const struct record *r)
{
	const json_t *env = json_object_get(r->json, "env");

	if (!json_object_size(env))
		return;
	fputs("<details><summary>Environment</summary>\n<div class=\"scroll\">", f);
	put_members(f, env);
	fputs("</div></details>\n", f);
}

/* Listings and their difference, where the file has them: { "title": "text", … }. */
static void put_listings(FILE *f, const struct record *r)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(r->json, "why"), key, value) {
		if (!json_is_string(value))
			continue;
		fputs("<details><summary>", f);
		put_text(f, key);
		fputs("</summary>\n<pre tabindex=\"0\">", f);
		put_text(f, json_string_value(value));
		fputs("</pre></details>\n", f);
	}
}

static void put_record(FILE *f, const struct record *r, size_t id)
{
	const char *command = record_text(r->json, "command");

	if (!json_array_size(json_object_get(r->json, "samples")) && !command[0])
		return;
	fputs("<h3>", f);
	put_text(f, r->label);
	if (r->target[0]) {
		fputs(" on ", f);
		put_text(f, r->target);
	}
	fprintf(f, "</h3>\n<div class=\"plots\" id=\"record-%zu\"></div>\n", id);
	put_listings(f, r);
	if (command[0]) {
		fputs("<p class=\"faint\">To repeat it:</p>\n<pre tabindex=\"0\">", f);
		put_text(f, command);
		fputs("</pre>\n", f);
	}
	put_environment(f, r);
}

static void put_sheet(FILE *f, const struct form *form, size_t idx)
{
	const struct sheet *s = &form->sheets->items[idx];

	fprintf(f, "<section id=\"part-%zu\" data-first=\"%zu\" data-count=\"%zu\">\n", idx, s->first,
		s->nr_records);
	put_element(f, "h2", s->head);
	put_table(f, s);
	if (s->nr_remarks) {
		fputs("<ul class=\"remarks\">\n", f);
		for (size_t i = 0; i < s->nr_remarks; i++)
			put_element(f, "li", s->remarks[i]);
		fputs("</ul>\n", f);
	}
	fputs("<div class=\"plots\"></div>\n", f);
	for (size_t i = 0; i < s->nr_records; i++)
		put_record(f, &form->list->items[s->first + i], s->first + i);
	fputs("</section>\n", f);
}

static void put_head(FILE *f)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
	      "form-action 'none'; script-src '", f);
	fputs(page_script_hash, f);
	fputs("'; style-src '", f);
	fputs(page_style_hash, f);
	fputs("'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>bpflab report</title>\n<style>", f);
	fwrite(page_style, 1, sizeof(page_style), f);
	fputs("</style>\n</head>\n<body>\n", f);
}

static void put_contents(FILE *f, const struct form *form)
{
	fputs("<header>\n<h1>bpflab report</h1>\n", f);
	if (form->sheets->nr > 1) {
		fputs("<nav aria-label=\"parts\"><ul>\n", f);
		for (size_t i = 0; i < form->sheets->nr; i++)
			fprintf(f, "<li><a href=\"#part-%zu\">%s %zu</a></li>\n", i,
				form->sheets->items[i].kind == RECORD_RESULT ? "Results" :
				form->sheets->items[i].kind == RECORD_COMPARE ? "Comparison" : "Noise",
				i + 1);
		fputs("</ul></nav>\n", f);
	}
	fputs("<noscript><p>Plots need JavaScript; the tables are complete without.</p></noscript>\n</header>\n",
	      f);
}

int form_html(FILE *f, const void *ctx)
{
	const struct form *form = ctx;
	int err;

	put_head(f);
	put_contents(f, form);
	fputs("<main>\n", f);
	for (size_t i = 0; i < form->sheets->nr; i++)
		put_sheet(f, form, i);
	fprintf(f, "</main>\n<footer><p class=\"faint\">bpflab %s</p></footer>\n", BPFU_VERSION);
	err = put_data(f, form->list);
	if (err)
		return err;
	fputs("<script>", f);
	fwrite(page_script, 1, sizeof(page_script), f);
	fputs("</script>\n</body>\n</html>\n", f);
	return ferror(f) ? -EIO : 0;
}
