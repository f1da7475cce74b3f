// SPDX-License-Identifier: BSD-2-Clause
/* The same as JSON, one object a program or difference. Fields may be added, never renamed. */
#include <jansson.h>

#include "dump/dump_view.h"

static json_t *bytes_json(const struct listing_insn *insn)
{
	char hex[2 * sizeof(insn->bytes) + 1] = "";

	for (unsigned int i = 0; i < insn->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", insn->bytes[i]);
	return json_string(hex);
}

static json_t *insn_json(const struct listing_func *func, size_t i)
{
	const struct listing_insn *insn = &func->insns[i];
	char text[512];
	json_t *o = json_pack("{s:I, s:o, s:s, s:s}", "offset", (json_int_t)insn->off, "bytes",
			      bytes_json(insn), "kind", listing_kind_names[insn->kind], "text",
			      listing_text(func, i, text, sizeof(text)));

	if (insn->label)
		json_object_set_new(o, "label", json_sprintf("L%u", insn->label));
	if (insn->target >= 0)
		json_object_set_new(o, "target",
				    json_integer((json_int_t)func->insns[insn->target].off));
	if (insn->line)
		json_object_set_new(o, "source",
				    json_pack("{s:s, s:I, s:s}", "file", insn->line->file, "line",
					      (json_int_t)insn->line->number, "text",
					      insn->line->text));
	return o;
}

static json_t *header_json(const struct dump_item *item)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "program", item->prog->name, "target",
			      item->target, "tag", item->prog->tag, "form",
			      item->jited ? "jited" : "xlated");

	if (item->jited)
		json_object_set_new(o, "arch", json_string(item->prog->arch));
	return o;
}

json_t *dump_view_json(const struct dump_item *item)
{
	json_t *o = header_json(item), *funcs = json_array();

	json_object_set_new(o, "schema", json_string("bpflab.dump/1"));
	for (size_t k = 0; k < item->listing->nr; k++) {
		const struct listing_func *func = &item->listing->funcs[k];
		json_t *insns = json_array();

		for (size_t i = 0; i < func->nr; i++)
			json_array_append_new(insns, insn_json(func, i));
		json_array_append_new(funcs, json_pack("{s:s, s:I, s:o}", "name", func->name, "bytes",
						       (json_int_t)func->bytes, "instructions",
						       insns));
	}
	json_object_set_new(o, "functions", funcs);
	return o;
}

/* ---- differences ---- */

static json_t *row_json(const struct diff_func *func, const struct diff_row *row)
{
	const struct listing_func *of = row->a >= 0 ? func->a : func->b;
	size_t line = (size_t)(row->a >= 0 ? row->a : row->b);
	char text[512];
	json_t *o = json_pack("{s:s, s:s}", "in", row->b < 0 ? "a" : row->a < 0 ? "b" : "both",
			      "text", listing_text(of, line, text, sizeof(text)));

	if (row->a >= 0)
		json_object_set_new(o, "a_offset",
				    json_integer((json_int_t)func->a->insns[row->a].off));
	if (row->b >= 0)
		json_object_set_new(o, "b_offset",
				    json_integer((json_int_t)func->b->insns[row->b].off));
	return o;
}

static json_t *pair_json(const size_t cnt[2])
{
	return json_pack("{s:I, s:I}", "a", (json_int_t)cnt[0], "b", (json_int_t)cnt[1]);
}

static json_t *counts_json(const struct diff_counts *c)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I}", "functions", pair_json(c->funcs),
			      "instructions", pair_json(c->insns), "bytes", pair_json(c->bytes),
			      "same", (json_int_t)c->same, "only_a", (json_int_t)c->removed, "only_b",
			      (json_int_t)c->added);

	for (int k = 0; k < LISTING_KINDS; k++)
		json_object_set_new(o, listing_kind_names[k], pair_json(c->kinds[k]));
	return o;
}

json_t *dump_view_diff_json(const struct dump_item *a, const struct dump_item *b,
			    const struct listing_diff *d)
{
	json_t *funcs = json_array();

	for (size_t k = 0; k < d->nr; k++) {
		const struct diff_func *func = &d->funcs[k];
		json_t *rows = json_array();

		for (size_t i = 0; i < func->nr; i++)
			json_array_append_new(rows, row_json(func, &func->rows[i]));
		json_array_append_new(funcs, json_pack("{s:s, s:b, s:o}", "name",
						       func->a ? func->a->name : func->b->name,
						       "aligned", !func->coarse, "instructions",
						       rows));
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema", "bpflab.dump-diff/1", "a",
			 header_json(a), "b", header_json(b), "summary", counts_json(&d->counts),
			 "functions", funcs);
}
