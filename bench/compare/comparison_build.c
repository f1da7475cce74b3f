// SPDX-License-Identifier: BSD-2-Clause
/*
 * From the command line to the rows of a comparison: two targets and some benches, or two object files
 * and a target, whose programs of the same name are compared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "compare/comparison.h"
#include "measure/object.h"

#define DEFAULT_LOADS 5
#define RIGOROUS_LOADS 10
#define QUICK_QUADS 40
#define RIGOROUS_QUADS 320

int comparison_alloc_rows(struct comparison *c, size_t nr, struct errline *e)
{
	c->rows = calloc(nr, sizeof(*c->rows));
	if (!c->rows)
		return errline_set(e, -ENOMEM, "out of memory");
	c->nr_rows = nr;
	for (size_t i = 0; i < nr; i++) {
		c->rows[i].idx = (uint32_t)i;
		c->rows[i].p_least = 1;
	}
	return 0;
}

void comparison_free_rows(struct comparison *c)
{
	for (size_t i = 0; i < c->nr_rows; i++) {
		struct comparison_row *row = &c->rows[i];

		for (size_t j = 0; j < row->nr_notes; j++)
			free(row->notes[j]);
		free(row->why);
		free(row->quads);
		free(row->batches);
	}
	free(c->rows);
	c->rows = NULL;
	c->nr_rows = 0;
}

static void set_arm(struct comparison *c, struct comparison_row *row, enum quad_arm arm,
		    const struct point *pt)
{
	row->arms[arm].bench = pt->inst.bench;
	row->arms[arm].target = &c->targets[arm];
}

static void set_row(struct comparison *c, struct comparison_row *row, const char *label,
		    const struct point *a, const struct point *b)
{
	snprintf(row->label, sizeof(row->label), "%s", label);
	row->params = a->inst.params;
	set_arm(c, row, QUAD_A, a);
	set_arm(c, row, QUAD_B, b);
	set_arm(c, row, QUAD_CONTROL, a);
}

static void set_targets(struct comparison *c, const struct target *a, const struct target *b)
{
	c->targets[QUAD_A] = *a;
	c->targets[QUAD_B] = *b;
	c->targets[QUAD_CONTROL] = *a;
}

/* -------------------------------------------------------------- two targets */

static int build_targets(struct comparison *c, const struct opts *opts, struct errline *e)
{
	bool same = !strcmp(opts->args[0], opts->args[1]);
	struct opts copy = *opts;
	size_t n = 0;
	int err;

	if (opts->on.nr)
		return errline_set(e, -EINVAL, "--on says where two object files are compared; two targets "
				   "say it themselves");
	copy.on = (struct opts_list){ .items = { opts->args[0], opts->args[1] }, .nr = same ? 1 : 2 };
	copy.args = opts->args + 2;
	copy.nr_args = opts->nr_args - 2;
	err = suite_build(&c->suite, &copy, e);
	if (err)
		return err;
	set_targets(c, &c->suite.targets[0], &c->suite.targets[same ? 0 : 1]);
	snprintf(c->names[0], sizeof(c->names[0]), "%s", c->targets[QUAD_A].spec);
	snprintf(c->names[1], sizeof(c->names[1]), "%s", c->targets[QUAD_B].spec);
	err = comparison_alloc_rows(c, c->suite.nr_points / (same ? 1 : 2), e);
	for (size_t i = 0; i < c->suite.nr_points && !err; i++) {
		const struct point *pt = &c->suite.points[i];

		if (pt->inst.target == &c->suite.targets[0])
			set_row(c, &c->rows[n++], pt->label, pt, pt);
	}
	return err;
}

/* -------------------------------------------------------------- two object files */

static const char *program_name(const struct point *pt)
{
	const char *colon = strrchr(pt->inst.bench->name, ':');

	return colon ? colon + 1 : pt->inst.bench->name;
}

/* The program, without its file, which has another name on the other side, and what is swept. */
static void set_program_row(struct comparison *c, struct comparison_row *row, const struct point *a,
			    const struct point *b)
{
	const char *params = strchr(a->label, '/');
	char label[sizeof(row->label)];

	snprintf(label, sizeof(label), "%.80s%.40s", program_name(a), params ? params : "");
	set_row(c, row, label, a, b);
}

/* The point of @s that @pt is compared with: the same program and parameters, or the only one. */
static const struct point *find_partner(const struct suite *s, const struct point *pt, bool only)
{
	for (size_t i = 0; i < s->nr_points; i++) {
		const struct point *other = &s->points[i];

		if (!memcmp(&pt->inst.params, &other->inst.params, sizeof(pt->inst.params)) &&
		    (only || !strcmp(program_name(pt), program_name(other))))
			return other;
	}
	return NULL;
}

static int build_object_suite(struct suite *s, const struct opts *opts, const char **path,
			      struct errline *e)
{
	struct opts copy = *opts;

	copy.args = path;
	copy.nr_args = 1;
	return suite_build(s, &copy, e);
}

static void note_unmatched(const struct suite *from, const struct suite *in, const char *path)
{
	for (size_t i = 0; i < from->nr_points; i++)
		if (!find_partner(in, &from->points[i], false))
			fprintf(stderr, "bpflab: program '%s' is in '%s' only, and left out\n",
				program_name(&from->points[i]), path);
}

static int build_objects(struct comparison *c, const struct opts *opts, struct errline *e)
{
	const struct suite *a = &c->suite, *b = &c->suite_b;
	bool only;
	size_t n = 0;
	int err;

	if (opts->nr_args > 2)
		return errline_set(e, -EINVAL, "'%s': two object files are compared program by program; "
				   "write FILE:PROGRAM to choose one", opts->args[2]);
	if (opts->on.nr > 1)
		return errline_set(e, -EINVAL, "two object files are compared on one target, not %zu",
				   opts->on.nr);
	err = build_object_suite(&c->suite, opts, &opts->args[0], e);
	if (!err)
		err = build_object_suite(&c->suite_b, opts, &opts->args[1], e);
	if (err)
		return err;
	set_targets(c, &a->targets[0], &a->targets[0]);
	snprintf(c->names[0], sizeof(c->names[0]), "%s", opts->args[0]);
	snprintf(c->names[1], sizeof(c->names[1]), "%s", opts->args[1]);
	only = a->nr_points == 1 && b->nr_points == 1;
	for (size_t i = 0; i < a->nr_points; i++)
		n += find_partner(b, &a->points[i], only) != NULL;
	if (!n)
		return errline_set(e, -ENOENT, "'%s' and '%s' have no program of the same name that can be "
				   "measured; write FILE:PROGRAM to compare two of different names",
				   opts->args[0], opts->args[1]);
	if (!only) {
		note_unmatched(a, b, opts->args[0]);
		note_unmatched(b, a, opts->args[1]);
	}
	err = comparison_alloc_rows(c, n, e);
	n = 0;
	for (size_t i = 0; i < a->nr_points && !err; i++) {
		const struct point *partner = find_partner(b, &a->points[i], only);

		if (partner)
			set_program_row(c, &c->rows[n++], &a->points[i], partner);
	}
	return err;
}

/* -------------------------------------------------------------- */

static int choose_rule(struct comparison *c, const struct opts *opts, struct errline *e)
{
	uint32_t quads = opts->quads;

	if (opts->quick + opts->rigorous + !!opts->quads > 1)
		return errline_set(e, -EINVAL, "--quick, --rigorous and --quads exclude each other: each "
				   "says how many quads there are");
	if (opts->quick)
		quads = QUICK_QUADS;
	if (opts->rigorous)
		quads = RIGOROUS_QUADS;
	compare_rule_init(&c->rule, quads, c->nr_rows,
			  opts->margin > 0 ? opts->margin : COMPARE_MARGIN);
	c->loads = opts->loads ? opts->loads : opts->rigorous ? RIGOROUS_LOADS : DEFAULT_LOADS;
	c->control = !opts->no_control;
	c->max_seconds = opts->duration;
	c->warmup = opts->warmup;
	return 0;
}

int comparison_build(struct comparison *c, const struct opts *opts, struct errline *e)
{
	bool objects = object_is_path(opts->args[0]);
	int err;

	memset(c, 0, sizeof(*c));
	if (objects != object_is_path(opts->args[1]))
		return errline_set(e, -EINVAL, "'%s' is a file and '%s' a target; compare two of a kind",
				   opts->args[!objects], opts->args[objects]);
	err = objects ? build_objects(c, opts, e) : build_targets(c, opts, e);
	if (!err)
		err = choose_rule(c, opts, e);
	if (opts->has_seed)
		c->seed = opts->seed;
	else if (getrandom(&c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
		c->seed = sample_now_ns();
	if (err)
		comparison_release(c);
	return err;
}

void comparison_release(struct comparison *c)
{
	comparison_free_rows(c);
	suite_release(&c->suite);
	suite_release(&c->suite_b);
	memset(c, 0, sizeof(*c));
}
