// SPDX-License-Identifier: BSD-2-Clause
#include "compare/counts_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/object.h"
#include "result/record.h"

const char *const counts_verdict_names[] = {
	[COUNTS_SAME] = "same",		    [COUNTS_FEWER] = "fewer",
	[COUNTS_MORE] = "more",		    [COUNTS_ABOUT_FEWER] = "about-fewer",
	[COUNTS_ABOUT_MORE] = "about-more", [COUNTS_INEXACT] = "inexact",
};

/* ---- verdicts ---- */

void counts_judge(struct counts_row *row)
{
	const struct counts_side *a = &row->side[0], *b = &row->side[1];
	bool exact = a->runs && b->runs && a->equal == a->runs && b->equal == b->runs;
	int cmp = fraction_cmp(b->value, a->value);

	row->difference = fraction_sub(b->value, a->value);
	row->ratio = fraction_div(b->value, a->value);
	if (exact)
		row->verdict = !cmp ? COUNTS_SAME : cmp < 0 ? COUNTS_FEWER : COUNTS_MORE;
	else if (fraction_cmp(b->hi, a->lo) < 0)
		row->verdict = COUNTS_ABOUT_FEWER;
	else if (fraction_cmp(b->lo, a->hi) > 0)
		row->verdict = COUNTS_ABOUT_MORE;
	else
		row->verdict = COUNTS_INEXACT;
}

bool counts_is_regression(const struct counts_row *row, double above)
{
	return !row->failed.text[0] && fraction_value(row->side[1].lo) >
					       fraction_value(row->side[0].hi) * (1 + above);
}

static struct counts_row *add_row(struct counts_compare *c, const char *label, struct errline *e)
{
	struct counts_row *grown = realloc(c->rows, (c->nr_rows + 1) * sizeof(*grown));

	if (!grown) {
		errline_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	c->rows = grown;
	grown = &c->rows[c->nr_rows++];
	memset(grown, 0, sizeof(*grown));
	snprintf(grown->label, sizeof(grown->label), "%s", label);
	return grown;
}

void counts_compare_release(struct counts_compare *c)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		for (int k = 0; k < 2; k++)
			json_decref(c->rows[i].side[k].json);
	free(c->rows);
	count_target_release(&c->targets[0]);
	count_target_release(&c->targets[1]);
	memset(c, 0, sizeof(*c));
}

/* ---- fresh counts ---- */

static void side_of(struct counts_side *s, const struct count_target *t, const struct count_point *pt)
{
	snprintf(s->target, sizeof(s->target), "%s", t->spec);
	s->value = pt->value.net;
	s->lo = pt->lo;
	s->hi = pt->hi;
	s->runs = pt->nr_runs;
	s->equal = pt->equal;
	s->functions = pt->value.functions.nr ? &pt->value.functions : NULL;
	s->json = json_pack("{s:s, s:s, s:s, s:s}", "target", t->target.kind->name, "spec", t->spec,
			    "emulator", t->emulator.program, "version", t->emulator.version);
}

static int pair(struct counts_compare *c, const char *label, const struct count_point *a,
		const struct count_point *b, struct errline *e)
{
	struct counts_row *row = add_row(c, label, e);

	if (!row)
		return -ENOMEM;
	row->failed = a->failed.text[0] ? a->failed : b->failed;
	side_of(&row->side[0], &c->targets[0], a);
	side_of(&row->side[1], &c->targets[1], b);
	if (!row->failed.text[0])
		counts_judge(row);
	return 0;
}

/* What only one side has is left out, and named. */
static void name_rest(const struct counts_compare *c, int side)
{
	const struct count_target *t = &c->targets[side];

	for (size_t i = 0; i < t->nr_points; i++)
		if (!count_point_find(&c->targets[!side], t->points[i].label))
			fprintf(stderr, "bpflab: bench '%s' is on '%s' only, and left out\n",
				t->points[i].label, c->names[side]);
}

static int pair_targets(struct counts_compare *c, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < c->targets[0].nr_points && !err; i++) {
		const struct count_point *a = &c->targets[0].points[i];
		const struct count_point *b = count_point_find(&c->targets[1], a->label);

		if (b)
			err = pair(c, a->label, a, b, e);
	}
	if (err)
		return err;
	name_rest(c, 0);
	name_rest(c, 1);
	return c->nr_rows ? 0 : errline_set(e, -ENOENT, "'%s' and '%s' have no bench in common",
					    c->names[0], c->names[1]);
}

static const char *program_name(const struct count_point *pt)
{
	const char *colon = strrchr(pt->bench, ':');

	return colon ? colon + 1 : pt->bench;
}

/* Programs of the same name, or the only ones of both. */
static int pair_objects(struct counts_compare *c, struct errline *e)
{
	bool only = c->targets[0].nr_points == 1 && c->targets[1].nr_points == 1;
	int err = 0;

	for (size_t i = 0; i < c->targets[0].nr_points && !err; i++) {
		const struct count_point *a = &c->targets[0].points[i];

		for (size_t k = 0; k < c->targets[1].nr_points && !err; k++) {
			const struct count_point *b = &c->targets[1].points[k];

			if (only || !strcmp(program_name(a), program_name(b)))
				err = pair(c, program_name(a), a, b, e);
		}
	}
	return err || c->nr_rows ? err : errline_set(e, -ENOENT, "'%s' and '%s' have no program of the "
						     "same name", c->names[0], c->names[1]);
}

static int measure_objects(struct counts_compare *c, const struct opts *opts, struct errline *e)
{
	const char *target = opts->on.nr ? opts->on.items[0] : "user";
	int err = 0;

	if (opts->nr_args > 2)
		return errline_set(e, -EINVAL, "'%s': two object files are compared as they are",
				   opts->args[2]);
	if (opts->on.nr > 1)
		return errline_set(e, -EINVAL, "two object files are compared on one target, not '%s' and "
				   "'%s'", opts->on.items[0], opts->on.items[1]);
	for (int k = 0; k < 2 && !err; k++) {
		const char *benches[] = { opts->args[k], NULL };

		snprintf(c->names[k], sizeof(c->names[k]), "%s", opts->args[k]);
		err = count_target_init(&c->targets[k], target, e);
		if (!err)
			err = count_measure(&c->targets[k], benches, opts, e);
	}
	return err ? err : pair_objects(c, e);
}

static int measure_targets(struct counts_compare *c, const struct opts *opts, struct errline *e)
{
	int err = 0;

	if (opts->on.nr)
		return errline_set(e, -EINVAL, "--on says where two object files are compared; two targets "
				   "say it themselves");
	if (opts->nr_args < 3)
		return errline_set(e, -EINVAL, "--count=insns takes the benches to compare (bpflab list)");
	for (int k = 0; k < 2 && !err; k++) {
		err = count_target_init(&c->targets[k], opts->args[k], e);
		snprintf(c->names[k], sizeof(c->names[k]), "%s", c->targets[k].spec);
	}
	for (int k = 0; k < 2 && !err; k++)
		err = count_measure(&c->targets[k], opts->args + 2, opts, e);
	return err ? err : pair_targets(c, e);
}

int counts_compare_measure(struct counts_compare *c, const struct opts *opts, struct errline *e)
{
	memset(c, 0, sizeof(*c));
	return object_is_path(opts->args[0]) && object_is_path(opts->args[1]) ?
		       measure_objects(c, opts, e) :
		       measure_targets(c, opts, e);
}

/* ---- stored counts ---- */

static struct fraction fraction_of(const json_t *o, const char *key)
{
	const json_t *pair_of = json_object_get(o, key);

	return fraction_make(json_integer_value(json_array_get(pair_of, 0)),
			     json_integer_value(json_array_get(pair_of, 1)));
}

/* Numbers in a file may be anything. */
static bool stored_side(struct counts_side *s, const struct record *r)
{
	json_int_t runs = json_integer_value(json_object_get(r->json, "runs"));
	json_int_t equal = json_integer_value(json_object_get(r->json, "runs_equal"));

	snprintf(s->target, sizeof(s->target), "%s", r->target);
	s->value = fraction_of(r->json, "fraction");
	s->lo = fraction_of(r->json, "least");
	s->hi = fraction_of(r->json, "most");
	s->runs = runs > 0 ? (size_t)runs : 0;
	s->equal = equal > 0 ? (size_t)equal : 0;
	return fraction_is_valid(s->value) && fraction_is_valid(s->lo) && fraction_is_valid(s->hi) &&
	       s->runs && s->equal <= s->runs;
}

static bool one_target(const struct record_list *list, unsigned int file)
{
	const char *first = NULL;

	for (size_t i = 0; i < list->nr; i++) {
		if (list->items[i].file != file)
			continue;
		if (first && strcmp(first, list->items[i].target))
			return false;
		first = list->items[i].target;
	}
	return true;
}

static int pair_records(struct counts_compare *c, const struct record *a, const struct record *b,
			struct errline *e)
{
	struct counts_row *row = add_row(c, a->label, e);

	if (!row)
		return -ENOMEM;
	row->side[0].json = json_pack("{s:s, s:s}", "target", record_text(a->json, "target"), "spec",
				      a->target);
	row->side[1].json = json_pack("{s:s, s:s}", "target", record_text(b->json, "target"), "spec",
				      b->target);
	if (!stored_side(&row->side[0], a) || !stored_side(&row->side[1], b))
		return errline_set(e, -EINVAL, "'%s' is stored with figures that cannot be; count again",
				   a->label);
	counts_judge(row);
	return 0;
}

static int pair_all(struct counts_compare *c, const struct record_list *list, struct errline *e)
{
	bool by_label = one_target(list, 0) && one_target(list, 1);
	int err = 0;

	for (size_t i = 0; i < list->nr && !err; i++) {
		const struct record *a = &list->items[i];

		for (size_t k = 0; k < list->nr && !err && !a->file; k++) {
			const struct record *b = &list->items[k];

			if (b->file && !strcmp(a->label, b->label) &&
			    (by_label || !strcmp(a->target, b->target)))
				err = pair_records(c, a, b, e);
		}
	}
	return err || c->nr_rows ? err : errline_set(e, -ENODATA, "'%s' and '%s' have no bench in common",
						     c->names[0], c->names[1]);
}

int counts_compare_files(struct counts_compare *c, const char *a, const char *b, struct errline *e)
{
	struct record_list list = { 0 };
	int err;

	memset(c, 0, sizeof(*c));
	c->stored = true;
	snprintf(c->names[0], sizeof(c->names[0]), "%s", a);
	snprintf(c->names[1], sizeof(c->names[1]), "%s", b);
	err = records_read(&list, a, 0, RECORD_COUNT, e);
	if (!err)
		err = records_read(&list, b, 1, RECORD_COUNT, e);
	if (!err)
		err = pair_all(c, &list, e);
	records_release(&list);
	return err;
}
