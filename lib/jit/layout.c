// SPDX-License-Identifier: BSD-2-Clause
/* Branch relaxation and placement; see layout.h. */
#include "jit/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

/* After so many rounds of a function, branches that might grow are made long at once. */
#define RELAX_ROUNDS 16

/* Raw bytes between functions, so that the end of one and the start of the next differ. */
#define SEPARATOR 1

/* Make room for one more row of @size bytes. The rows that exist stay usable on failure. */
static bool row_room(struct bpfu_layout *l, void **rows, uint32_t cnt, uint32_t *cap, size_t size)
{
	uint32_t n;
	void *p;

	if (bpfu_likely(cnt < *cap))
		return true;
	if (l->err)
		return false;
	n = *cap ? *cap * 2 : 16;
	p = realloc(*rows, n * size);
	if (!p) {
		l->err = -ENOMEM;
		return false;
	}
	*rows = p;
	*cap = n;
	return true;
}

#define ROOM(l, what) \
	row_room(l, (void **)&(l)->what##s, (l)->what##_cnt, &(l)->what##_cap, \
		 sizeof((l)->what##s[0]))

void bpfu_layout_init(struct bpfu_layout *l, uint32_t insn_cnt, uint32_t func_cnt,
		      size_t code_hint, bool disp_from_end)
{
	memset(l, 0, sizeof(*l));
	l->disp_from_end = disp_from_end;
	bpfu_codebuf_init(&l->code, code_hint);
	l->label_cap = insn_cnt + insn_cnt / 8 + 3 * func_cnt + 16;
	l->labels = malloc(l->label_cap * sizeof(l->labels[0]));
	l->label_cnt = insn_cnt + 1 + 3 * func_cnt;
	l->func_cap = func_cnt;
	l->funcs = malloc(func_cnt * sizeof(l->funcs[0]));
	l->branch_cap = insn_cnt / 4 + 16;
	l->branches = malloc(l->branch_cap * sizeof(l->branches[0]));
	if (!l->labels || !l->funcs || !l->branches)
		l->err = -ENOMEM;
}

void bpfu_layout_release(struct bpfu_layout *l)
{
	bpfu_codebuf_release(&l->code);
	free(l->labels);
	free(l->branches);
	free(l->relocs);
	free(l->exts);
	free(l->cfis);
	free(l->funcs);
	free(l->grow);
}

void bpfu_layout_func(struct bpfu_layout *l)
{
	BPFU_BUG_ON(l->func_cnt == l->func_cap, "more functions than announced");
	/* A row of its own, whose growth is the space before this function (func_stop()). */
	bpfu_layout_branch(l, 0, 0, SEPARATOR, 0, 0);
	if (!l->err)
		l->funcs[l->func_cnt++].start = bpfu_layout_here(l);
}

/* End of function @f; its labels are before the row that separates it from the next. */
static struct bpfu_pos func_stop(const struct bpfu_layout *l, uint32_t f)
{
	struct bpfu_pos pos;

	if (f + 1 == l->func_cnt)
		return bpfu_layout_here(l);
	pos = l->funcs[f + 1].start;
	pos.raw -= SEPARATOR;
	pos.br--;
	return pos;
}

uint32_t bpfu_layout_new_label(struct bpfu_layout *l)
{
	/* After an error the end label stands in: never read, as bpfu_layout_run() fails. */
	return ROOM(l, label) ? l->label_cnt++ : 0;
}

void bpfu_layout_branch(struct bpfu_layout *l, uint32_t label, uint8_t kind, uint8_t short_len,
			uint8_t long_len, uint8_t reach)
{
	uint8_t *p = bpfu_codebuf_room(&l->code);

	if (!row_room(l, (void **)&l->branches, l->branch_cnt, &l->branch_cap,
		      sizeof(l->branches[0])))
		return;
	l->branches[l->branch_cnt++] = (struct bpfu_branch){
		.raw = l->code.len, .label = label, .kind = kind,
		.short_len = short_len, .long_len = long_len, .reach = reach,
	};
	memset(p, 0, short_len);
	bpfu_codebuf_commit(&l->code, p + short_len);
}

/* One raw byte, so that a label behind the padding differs from one before it. */
void bpfu_layout_align_loop(struct bpfu_layout *l, uint32_t end)
{
	uint32_t row = l->branch_cnt;

	bpfu_layout_branch(l, end, 0, SEPARATOR,
			   end == BPFU_LOOP_ANYWHERE ? BPFU_LOOP_ALIGN - 1 : BPFU_LOOP_PAD, 0);
	if (row == l->branch_cnt)
		return;
	l->branches[row].pads = true;
	l->branches[row].is_long = true;
}

void bpfu_layout_reloc(struct bpfu_layout *l, uint32_t back, uint8_t kind, enum bpfu_reloc_to to,
		       uint64_t target)
{
	if (!ROOM(l, reloc) || l->code.len < back)
		return;
	l->relocs[l->reloc_cnt++] = (struct bpfu_reloc){
		.pos = { l->code.len - back, l->branch_cnt }, .kind = kind, .to = to,
		.target = target,
	};
}

void bpfu_layout_ext(struct bpfu_layout *l, struct bpfu_pos pos, uint32_t fixup)
{
	if (ROOM(l, ext))
		l->exts[l->ext_cnt++] = (struct bpfu_layout_ext){ pos, fixup };
}

uint32_t *bpfu_layout_take_labels(struct bpfu_layout *l, uint32_t cnt)
{
	uint32_t *offs = (uint32_t *)l->labels, *shrunk;

	for (uint32_t i = 0; i < cnt; i++) /* an offset takes half the room of a place */
		offs[i] = bpfu_layout_label_off(l, i);
	l->labels = NULL;
	shrunk = realloc(offs, (cnt + 1) * sizeof(*offs));
	return shrunk ? shrunk : offs;
}

void bpfu_layout_cfi_add(struct bpfu_layout *l, enum bpfu_cfi_op op, uint8_t reg, int32_t value)
{
	if (ROOM(l, cfi))
		l->cfis[l->cfi_cnt++] = (struct bpfu_layout_cfi){
			bpfu_layout_here(l), { .op = (uint8_t)op, .reg = reg, .value = value },
		};
}

/* Displacement of branch @idx under the present grow[]. */
static int64_t branch_disp(const struct bpfu_layout *l, uint32_t idx)
{
	const struct bpfu_branch *b = &l->branches[idx];
	int64_t from = b->raw + l->grow[idx]; /* modulo 2^32 */

	if (l->disp_from_end)
		from += b->is_long ? b->long_len : b->short_len;
	return (int64_t)bpfu_layout_label_off(l, b->label) - from;
}

static bool disp_fits(int64_t disp, unsigned bits)
{
	return disp >= -(1ll << (bits - 1)) && disp < 1ll << (bits - 1);
}

/* grow[] of branches [lo, hi] from their lengths, starting at grow[lo]. */
static void sum_growth(struct bpfu_layout *l, uint32_t lo, uint32_t hi)
{
	uint32_t sum = l->grow[lo];

	for (uint32_t i = lo; i < hi; i++) {
		const struct bpfu_branch *b = &l->branches[i];

		l->grow[i] = sum;
		if (b->is_long)
			sum += b->long_len - b->short_len;
	}
	l->grow[hi] = sum;
}

/* One round over branches [lo, hi). True if one grew. */
static bool grow_branches(struct bpfu_layout *l, uint32_t lo, uint32_t hi)
{
	bool changed = false;

	for (uint32_t i = lo; i < hi; i++) {
		struct bpfu_branch *b = &l->branches[i];

		if (!b->is_long && !disp_fits(branch_disp(l, i), b->reach)) {
			b->is_long = true;
			changed = true;
		}
	}
	return changed;
}

/*
 * Rounds of growing take as many passes as the longest chain of branches that push one another out
 * of reach. To bound the work, after RELAX_ROUNDS those that would not fit with every branch long
 * are made long: distances can only shrink from there.
 */
static void grow_all_doubtful(struct bpfu_layout *l, uint32_t lo, uint32_t hi)
{
	uint32_t sum = l->grow[lo];

	for (uint32_t i = lo; i < hi; i++) {
		l->grow[i] = sum;
		sum += l->branches[i].long_len - l->branches[i].short_len;
	}
	l->grow[hi] = sum;
	grow_branches(l, lo, hi);
	sum_growth(l, lo, hi);
}

/* Bytes from padding row @i, one of rows [lo, @hi), to where its loop ends, by grow[] as it is. */
static uint32_t loop_size(const struct bpfu_layout *l, uint32_t i, uint32_t hi)
{
	const struct bpfu_branch *b = &l->branches[i];

	/* Or the loop ends the function, and the label is in the next one. */
	if (b->label == BPFU_LOOP_ANYWHERE || l->labels[b->label].br > hi)
		return UINT32_MAX;
	return bpfu_layout_label_off(l, b->label) - (b->raw + SEPARATOR + l->grow[i + 1]);
}

/* Bytes in front of a loop of @size bytes that would begin at @off. */
static uint32_t padding(uint32_t off, uint32_t size)
{
	uint32_t pad = -off & (BPFU_LOOP_ALIGN - 1), to_line = -off & (BPFU_LOOP_LINE - 1);
	uint32_t in_line = (off + pad) & (BPFU_LOOP_LINE - 1);

	if (size > BPFU_LOOP_LINE || in_line + size <= BPFU_LOOP_LINE || to_line > BPFU_LOOP_PAD)
		return pad;
	return to_line;
}

/* The padding as it comes out. Distances shrink by it, so that all branches still reach. */
static void settle_padding(struct bpfu_layout *l, uint32_t lo, uint32_t hi)
{
	uint32_t sum = l->grow[lo];

	for (uint32_t i = lo; i < hi; i++) {
		struct bpfu_branch *b = &l->branches[i];

		l->grow[i] = sum;
		if (b->pads) /* places further on are still those of before, all moved alike */
			b->long_len = (uint8_t)padding(b->raw + sum, loop_size(l, i, hi));
		if (b->is_long)
			sum += (uint32_t)(b->long_len - b->short_len);
	}
	l->grow[hi] = sum;
}

static void relax_func(struct bpfu_layout *l, uint32_t lo, uint32_t hi)
{
	sum_growth(l, lo, hi);
	for (int round = 0; grow_branches(l, lo, hi); round++) {
		if (round == RELAX_ROUNDS) {
			grow_all_doubtful(l, lo, hi);
			break;
		}
		sum_growth(l, lo, hi);
	}
	settle_padding(l, lo, hi);
}

int bpfu_layout_run(struct bpfu_layout *l)
{
	uint32_t end = 0;

	if (l->err || l->code.err)
		return l->err ? l->err : l->code.err;
	l->grow = malloc((l->branch_cnt + 1) * sizeof(l->grow[0]));
	if (!l->grow)
		return -ENOMEM;

	for (uint32_t f = 0; f < l->func_cnt; f++) {
		struct bpfu_pos stop = func_stop(l, f);
		struct bpfu_layout_func *func = &l->funcs[f];

		func->off = BPFU_ROUND_UP(end, BPFU_FUNC_ALIGN);
		l->grow[func->start.br] = func->off - func->start.raw;
		relax_func(l, func->start.br, stop.br);
		end = bpfu_layout_off(l, stop);
		func->len = end - func->off;
	}
	l->size = end;
	return 0;
}

/* Copy the raw bytes of one function, putting the branches in. */
static void write_func(const struct bpfu_layout *l, uint32_t f, uint8_t *out,
		       const struct bpfu_layout_writer *w)
{
	const struct bpfu_layout_func *func = &l->funcs[f];
	struct bpfu_pos stop = func_stop(l, f);
	uint32_t raw = func->start.raw;
	uint32_t grow = func->off - raw;

	for (uint32_t i = func->start.br; i < stop.br; i++) {
		const struct bpfu_branch *b = &l->branches[i];

		memcpy(out + (raw + grow), l->code.data + raw, b->raw - raw);
		if (b->pads)
			w->nops(out + (b->raw + grow), b->long_len);
		else
			w->branch(out + (b->raw + grow), b, (int32_t)branch_disp(l, i));
		raw = b->raw + b->short_len;
		if (b->is_long)
			grow += b->long_len - b->short_len;
	}
	memcpy(out + (raw + grow), l->code.data + raw, stop.raw - raw);
}

int bpfu_layout_write(const struct bpfu_layout *l, uint8_t *out, uint64_t base,
		      const struct bpfu_layout_writer *w)
{
	uint32_t end = 0;

	for (uint32_t f = 0; f < l->func_cnt; f++) {
		w->fill(out + end, l->funcs[f].off - end);
		write_func(l, f, out, w);
		end = l->funcs[f].off + l->funcs[f].len;
	}
	for (uint32_t i = 0; i < l->reloc_cnt; i++) {
		const struct bpfu_reloc *r = &l->relocs[i];
		uint32_t off = bpfu_layout_off(l, r->pos);
		uint64_t target = r->target;

		if (r->to == BPFU_RELOC_LABEL)
			target = base + bpfu_layout_label_off(l, (uint32_t)target);
		if (!w->reloc(out + off, r->kind, base + off, target))
			return -ERANGE;
	}
	return 0;
}
