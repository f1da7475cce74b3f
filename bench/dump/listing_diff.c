// SPDX-License-Identifier: BSD-2-Clause
/*
 * Myers' shortest edit script ("An O(ND) Difference Algorithm and Its Variations", 1986), with the
 * furthest points of each step kept so that the path can be walked back. Memory grows with the square
 * of the number of differences, so beyond MAX_EDITS a function is not aligned.
 */
#include "dump/listing_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EDITS 2000

/* Two sequences without their common ends. */
struct part {
	const struct listing_func *a, *b;
	int32_t from, na, nb;
};

static bool same_text(const struct part *p, int32_t a, int32_t b)
{
	const struct listing_insn *x = &p->a->insns[p->from + a], *y = &p->b->insns[p->from + b];

	return (x->target >= 0) == (y->target >= 0) && !strcmp(x->text, y->text);
}

/* @v: furthest a on each diagonal after @edits - 1 steps. True if the end was reached. */
static bool step(const struct part *p, int32_t *v, int32_t edits)
{
	for (int32_t k = -edits; k <= edits; k += 2) {
		bool down = k == -edits || (k != edits && v[k - 1] < v[k + 1]);
		int32_t a = down ? v[k + 1] : v[k - 1] + 1;
		int32_t b = a - k;

		while (a < p->na && b >= 0 && b < p->nb && same_text(p, a, b)) {
			a++;
			b++;
		}
		v[k] = a;
		if (a >= p->na && b >= p->nb)
			return true;
	}
	return false;
}

/* From the end back to the start: @match[a] is the b that a is aligned with. */
static void walk_back(const struct part *p, int32_t *const *trace, int32_t edits, int32_t *match)
{
	int32_t a = p->na, b = p->nb;

	for (int32_t d = edits; d >= 0; d--) {
		const int32_t *v = trace[d] + d + 1; /* of d - 1 steps */
		int32_t k = a - b;
		bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
		int32_t from = d ? (down ? v[k + 1] : v[k - 1]) : 0;
		int32_t from_b = d ? from - (down ? k + 1 : k - 1) : 0;

		while (a > from && b > from_b && a > 0 && b > 0 && same_text(p, a - 1, b - 1))
			match[p->from + --a] = p->from + --b;
		a = from;
		b = from_b;
	}
}

/* Fill @match for the part. *@coarse if it is too different. */
static int align_part(const struct part *p, int32_t *match, bool *coarse)
{
	int32_t limit = p->na + p->nb < MAX_EDITS ? p->na + p->nb : MAX_EDITS, d = 0;
	int32_t **trace = calloc((size_t)limit + 2, sizeof(*trace));
	int32_t *room = calloc(2 * (size_t)limit + 3, sizeof(*room)), *v = room + limit + 1;
	bool done = false;
	int err = trace && room ? 0 : -ENOMEM;

	for (; !err && !done && d <= limit; d++) {
		size_t size = (2 * (size_t)d + 3) * sizeof(*v);

		trace[d] = malloc(size);
		if (!trace[d]) {
			err = -ENOMEM;
			break;
		}
		memcpy(trace[d], v - d - 1, size);
		done = step(p, v, d);
	}
	*coarse = !err && !done;
	if (done)
		walk_back(p, trace, d - 1, match);
	for (int32_t i = 0; trace && i <= limit; i++)
		free(trace[i]);
	free(trace);
	free(room);
	return err;
}

/* @match[i] >= 0: line i of a is line match[i] of b. */
static int align(const struct listing_func *a, const struct listing_func *b, int32_t *match,
		 bool *coarse)
{
	struct part p = { .a = a, .b = b, .na = (int32_t)a->nr, .nb = (int32_t)b->nr };
	int32_t head = 0, tail = 0;

	while (head < p.na && head < p.nb && same_text(&p, head, head)) {
		match[head] = head;
		head++;
	}
	while (tail < p.na - head && tail < p.nb - head &&
	       same_text(&p, p.na - 1 - tail, p.nb - 1 - tail)) {
		match[p.na - 1 - tail] = p.nb - 1 - tail;
		tail++;
	}
	p.from = head;
	p.na -= head + tail;
	p.nb -= head + tail;
	return p.na || p.nb ? align_part(&p, match, coarse) : 0;
}

/* ---- branches ---- */

/*
 * Unmatch branches whose targets are different places: the next aligned lines from there on are not
 * the same ones. @next[i] is, for line i of b, the line of a that the next aligned one has.
 */
static void check_targets(const struct listing_func *a, const struct listing_func *b, int32_t *match,
			  int32_t *next)
{
	int32_t line = -1;

	for (size_t i = 0; i < b->nr; i++)
		next[i] = -1;
	for (size_t i = 0; i < a->nr; i++)
		if (match[i] >= 0)
			next[match[i]] = (int32_t)i;
	for (size_t i = b->nr; i-- > 0;)
		line = next[i] = next[i] >= 0 ? next[i] : line;
	for (size_t i = 0; i < a->nr; i++) {
		int32_t to = a->insns[i].target;

		if (match[i] < 0 || to < 0)
			continue;
		while (to < (int32_t)a->nr && match[to] < 0)
			to++;
		if (to == (int32_t)a->nr)
			to = -1;
		if (to != next[b->insns[match[i]].target])
			match[i] = -2 - match[i]; /* decided on the alignment as it was */
	}
	for (size_t i = 0; i < a->nr; i++)
		if (match[i] < -1)
			match[i] = -1;
}

/* ---- functions ---- */

static size_t count(const struct listing_func *f)
{
	return f ? f->nr : 0;
}

static void fill_rows(struct diff_func *f, const int32_t *match)
{
	size_t na = count(f->a), nb = count(f->b), a = 0, b = 0;

	while (a < na || b < nb) {
		struct diff_row *row = &f->rows[f->nr++];

		if (a < na && match[a] < 0)
			*row = (struct diff_row){ (int32_t)a++, -1 };
		else if (a < na && match[a] == (int32_t)b)
			*row = (struct diff_row){ (int32_t)a++, (int32_t)b++ };
		else
			*row = (struct diff_row){ -1, (int32_t)b++ };
	}
}

/*
 * The same number in aligned lines, and in what stands between two aligned lines, first with first,
 * second with second.
 */
static void number_labels(struct diff_func *f)
{
	uint32_t last[2] = { 0, 0 };

	for (size_t i = 0; i < f->nr; i++) {
		const struct diff_row *row = &f->rows[i];
		struct listing_insn *a = row->a >= 0 ? &f->a->insns[row->a] : NULL;
		struct listing_insn *b = row->b >= 0 ? &f->b->insns[row->b] : NULL;
		uint32_t most = last[0] > last[1] ? last[0] : last[1];

		if (a && b) {
			last[0] = last[1] = most + (a->label || b->label);
			a->label = b->label = a->label || b->label ? most + 1 : 0;
		} else if (a && a->label) {
			a->label = ++last[0];
		} else if (b && b->label) {
			b->label = ++last[1];
		}
	}
}

static int diff_func(struct diff_func *f)
{
	int32_t *match = malloc((count(f->a) + 1) * sizeof(*match));
	int32_t *next = malloc((count(f->b) + 1) * sizeof(*next));
	int err = 0;

	f->rows = calloc(count(f->a) + count(f->b) + 1, sizeof(*f->rows));
	if (!match || !next || !f->rows)
		err = -ENOMEM;
	for (size_t i = 0; i < count(f->a) && !err; i++)
		match[i] = -1;
	if (!err && f->a && f->b) {
		err = align(f->a, f->b, match, &f->coarse);
		if (!err)
			check_targets(f->a, f->b, match, next);
	}
	if (!err)
		fill_rows(f, match);
	number_labels(f);
	free(match);
	free(next);
	return err;
}

/* The function of @l with the name of @f that is as manieth of that name. */
static struct listing_func *counterpart(const struct listing *l, const struct listing *of,
					const struct listing_func *f)
{
	size_t nth = 0;

	for (const struct listing_func *g = of->funcs; g < f; g++)
		nth += !strcmp(g->name, f->name);
	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->funcs[i].name, f->name) && !nth--)
			return &l->funcs[i];
	return NULL;
}

static void add_counts(struct diff_counts *c, const struct diff_func *f)
{
	const struct listing_func *sides[2] = { f->a, f->b };

	for (int s = 0; s < 2; s++) {
		if (!sides[s])
			continue;
		c->funcs[s]++;
		c->insns[s] += sides[s]->nr;
		c->bytes[s] += sides[s]->bytes;
		for (size_t i = 0; i < sides[s]->nr; i++)
			c->kinds[sides[s]->insns[i].kind][s]++;
	}
	for (size_t i = 0; i < f->nr; i++) {
		c->same += f->rows[i].a >= 0 && f->rows[i].b >= 0;
		c->removed += f->rows[i].b < 0;
		c->added += f->rows[i].a < 0;
	}
}

int listing_diff(struct listing_diff *d, struct listing *a, struct listing *b)
{
	int err = 0;

	memset(d, 0, sizeof(*d));
	d->funcs = calloc(a->nr + b->nr + 1, sizeof(*d->funcs));
	if (!d->funcs)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr; i++)
		d->funcs[d->nr++] = (struct diff_func){
			.a = &a->funcs[i], .b = counterpart(b, a, &a->funcs[i])
		};
	for (size_t i = 0; i < b->nr; i++)
		if (!counterpart(a, b, &b->funcs[i]))
			d->funcs[d->nr++] = (struct diff_func){ .b = &b->funcs[i] };
	for (size_t i = 0; i < d->nr && !err; i++) {
		err = diff_func(&d->funcs[i]);
		add_counts(&d->counts, &d->funcs[i]);
	}
	return err;
}

void listing_diff_release(struct listing_diff *d)
{
	for (size_t i = 0; i < d->nr; i++)
		free(d->funcs[i].rows);
	free(d->funcs);
	memset(d, 0, sizeof(*d));
}
