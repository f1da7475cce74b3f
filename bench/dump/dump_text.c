// SPDX-License-Identifier: BSD-2-Clause
/*
 * Listings for people. Offsets of machine code are hexadecimal and from the start of the function,
 * those of BPF instructions decimal.
 */
#include <inttypes.h>
#include <string.h>

#include "dump/dump_view.h"

#define TEXT_SIZE 512
#define BYTES_WIDTH 21 /* seven bytes; longer instructions push the text to the right */
#define CONTEXT 3      /* unchanged lines around a difference */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t total_insns(const struct listing *l, size_t *bytes)
{
	size_t insns = 0;

	*bytes = 0;
	for (size_t i = 0; i < l->nr; i++) {
		insns += l->funcs[i].nr;
		*bytes += l->funcs[i].bytes;
	}
	return insns;
}

static void put_offset(FILE *f, const struct dump_item *item, const struct listing_insn *insn)
{
	fprintf(f, item->jited ? "%6" PRIx64 : "%6" PRIu64, insn->off);
}

static void put_bytes(FILE *f, const struct listing_insn *insn)
{
	for (unsigned int i = 0; i < insn->len; i++)
		fprintf(f, "%02x ", insn->bytes[i]);
	for (int width = 3 * insn->len; width < BYTES_WIDTH; width++)
		fputc(' ', f);
	fputc(' ', f);
}

/* A line that @last is a part of as well is not repeated; number 0 stands for no line at all. */
static void put_source(FILE *f, const struct dump_line *line, const struct dump_line **last)
{
	const struct dump_line *before = *last;

	if (!line || !line->number ||
	    (before && before->number == line->number && !strcmp(before->file, line->file)))
		return;
	*last = line;
	fprintf(f, "; %s:%u: %s\n", base_name(line->file), line->number, line->text);
}

static void put_insn(FILE *f, const struct dump_item *item, const struct listing_func *func, size_t i,
		     const struct dump_style *style)
{
	const struct listing_insn *insn = &func->insns[i];
	char text[TEXT_SIZE];

	if (insn->label)
		fprintf(f, "L%u:\n", insn->label);
	put_offset(f, item, insn);
	fputs(":  ", f);
	if (style->bytes)
		put_bytes(f, insn);
	fprintf(f, "%s\n", listing_text(func, i, text, sizeof(text)));
}

void dump_view_text(FILE *f, const struct dump_item *item, const struct dump_style *style)
{
	const struct listing *l = item->listing;
	size_t bytes, insns = total_insns(l, &bytes);

	fprintf(f, "%s on %s, %s: %zu function%s, %zu instructions, %zu bytes, tag %s\n",
		item->prog->name, item->target, item->jited ? item->prog->arch : "xlated", l->nr,
		l->nr == 1 ? "" : "s", insns, bytes, item->prog->tag);
	for (size_t k = 0; k < l->nr; k++) {
		const struct listing_func *func = &l->funcs[k];

		const struct dump_line *last = NULL;

		fprintf(f, "\n%s:\n", func->name);
		for (size_t i = 0; i < func->nr; i++) {
			if (style->source)
				put_source(f, func->insns[i].line, &last);
			put_insn(f, item, func, i, style);
		}
	}
}

/* ---- differences ---- */

static bool is_change(const struct diff_row *row)
{
	return row->a < 0 || row->b < 0;
}

/* Is row @i within CONTEXT rows of a difference? */
static bool is_shown(const struct diff_func *func, size_t i)
{
	size_t from = i < CONTEXT ? 0 : i - CONTEXT;

	for (size_t k = from; k <= i + CONTEXT && k < func->nr; k++)
		if (is_change(&func->rows[k]))
			return true;
	return false;
}

static void put_side(FILE *f, const struct dump_item *item, const struct listing_func *func,
		     int32_t line)
{
	if (line < 0)
		fputs("      ", f);
	else
		put_offset(f, item, &func->insns[line]);
}

static void put_row(FILE *f, const struct dump_item *a, const struct dump_item *b,
		    const struct diff_func *func, const struct diff_row *row)
{
	const struct listing_func *of = row->a >= 0 ? func->a : func->b;
	size_t line = (size_t)(row->a >= 0 ? row->a : row->b);
	uint32_t label = of->insns[line].label;
	char text[TEXT_SIZE], mark[16] = "";

	if (label)
		snprintf(mark, sizeof(mark), "L%u:", label);
	fputc(row->b < 0 ? '-' : row->a < 0 ? '+' : ' ', f);
	put_side(f, a, func->a, row->a);
	put_side(f, b, func->b, row->b);
	fprintf(f, "  %-5s%s\n", mark, listing_text(of, line, text, sizeof(text)));
}

static void put_diff_func(FILE *f, const struct dump_item *a, const struct dump_item *b,
			  const struct diff_func *func)
{
	size_t hidden = 0;
	bool same = true;

	for (size_t i = 0; i < func->nr; i++)
		same &= !is_change(&func->rows[i]);
	fprintf(f, "\n%s:%s\n", func->a ? func->a->name : func->b->name,
		same ? " the same" :
		!func->b ? " only in A" :
		!func->a ? " only in B" :
		func->coarse ? " too different to align" : "");
	for (size_t i = 0; i < func->nr && !same; i++) {
		bool shown = is_shown(func, i);

		if (!shown)
			hidden++;
		if (hidden && (shown || i + 1 == func->nr)) {
			fprintf(f, "       ...      %zu the same\n", hidden);
			hidden = 0;
		}
		if (shown)
			put_row(f, a, b, func, &func->rows[i]);
	}
}

static void put_count(FILE *f, const char *name, const size_t cnt[2])
{
	if (cnt[0] || cnt[1])
		fprintf(f, "%-14s%8zu%8zu%+9zd\n", name, cnt[0], cnt[1],
			(ssize_t)(cnt[1] - cnt[0]));
}

void dump_view_diff_text(FILE *f, const struct dump_item *a, const struct dump_item *b,
			 const struct listing_diff *d)
{
	const struct diff_counts *c = &d->counts;

	fprintf(f, "- A: %s on %s, %s\n", a->prog->name, a->target,
		a->jited ? a->prog->arch : "xlated");
	fprintf(f, "+ B: %s on %s, %s\n", b->prog->name, b->target,
		b->jited ? b->prog->arch : "xlated");
	for (size_t i = 0; i < d->nr; i++)
		put_diff_func(f, a, b, &d->funcs[i]);
	fprintf(f, "\n%-14s%8s%8s%9s\n", "", "A", "B", "B - A");
	put_count(f, "functions", c->funcs);
	put_count(f, "instructions", c->insns);
	put_count(f, "bytes", c->bytes);
	for (int k = 0; k < LISTING_KINDS; k++)
		put_count(f, listing_kind_names[k], c->kinds[k]);
	fprintf(f, "%zu instructions the same, %zu only in A, %zu only in B\n", c->same, c->removed,
		c->added);
}
