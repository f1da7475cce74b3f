// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `bpflab compare --why` shows under a verdict: the code of A and B, how it differs, and where the
 * time of both goes.
 */
#include "cmd/compare_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump_view.h"
#include "dump/listing_diff.h"
#include "profile/profile.h"

#define PROFILE_SECONDS 0.5 /* of each side */

struct side {
	struct dump_prog prog;
	struct listing listing;
	bool jited;
};

/* Machine code if there is any to be had, else BPF instructions. */
static int read_side(struct side *s, const struct comparison_arm *arm, bool jited, struct errline *e)
{
	const char *target = arm->target->spec;
	int err, fd;

	if (!arm->bench->prog_fd)
		return errline_set(e, -ENOENT, "no program: nothing to show");
	fd = arm->bench->prog_fd(&arm->live.inst);
	err = target_enter(arm->target, e);
	if (err)
		return err;
	err = dump_prog_read(&s->prog, fd, target, NULL, jited ? DUMP_PROG_CODE : 0, e);
	target_leave(arm->target);
	s->jited = jited;
	if (err)
		return err;
	err = jited ? listing_jited(&s->listing, &s->prog) : listing_xlated(&s->listing, &s->prog);
	return err ? errline_set(e, err, "no listing of %s: %s", target, strerror(-err)) : 0;
}

static void release_side(struct side *s)
{
	listing_release(&s->listing);
	dump_prog_release(&s->prog);
}

static int write_difference(struct comparison_row *row, struct side *sides, struct errline *e)
{
	const struct dump_item a = { row->arms[QUAD_A].target->spec, &sides[0].prog, &sides[0].listing,
				     sides[0].jited };
	const struct dump_item b = { row->arms[QUAD_B].target->spec, &sides[1].prog, &sides[1].listing,
				     sides[1].jited };
	struct listing_diff diff = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f;
	int err = listing_diff(&diff, &sides[0].listing, &sides[1].listing);

	f = err ? NULL : open_memstream(&text, &size);
	if (f) {
		dump_view_diff_text(f, &a, &b, &diff);
		if (fclose(f)) {
			free(text);
			text = NULL;
		}
	}
	listing_diff_release(&diff);
	row->why = text;
	return text ? 0 : errline_set(e, -ENOMEM, "out of memory");
}

static int explain(struct comparison_row *row, bool jited, struct errline *e)
{
	struct side sides[2] = { 0 };
	int err = read_side(&sides[0], &row->arms[QUAD_A], jited, e);

	if (!err)
		err = read_side(&sides[1], &row->arms[QUAD_B], jited, e);
	if (!err)
		err = write_difference(row, sides, e);
	release_side(&sides[0]);
	release_side(&sides[1]);
	return err;
}

/* Where A and B spend their time, below the difference of the code; nothing if it cannot be had. */
static void add_profiles(struct comparison_row *row)
{
	struct point *points[2] = { &row->arms[QUAD_A].live, &row->arms[QUAD_B].live };
	struct profile p[2];
	struct errline ignored;
	char *text = NULL;
	size_t size;
	FILE *f = NULL;

	for (int i = 0; i < 2; i++)
		if (!points[i]->label[0])
			memcpy(points[i]->label, row->label, sizeof(points[i]->label));
	if (!profile_run(points, 2, PROFILE_SECONDS, p, &ignored))
		f = open_memstream(&text, &size);
	if (f) {
		fprintf(f, "%s\n", row->why);
		profile_print_diff(f, &p[0], &p[1]);
		if (!fclose(f)) {
			free(row->why);
			row->why = text;
		} else {
			free(text);
		}
	}
	profile_release(&p[0]);
	profile_release(&p[1]);
}

void compare_explain(struct comparison_row *row)
{
	struct errline e;
	size_t size = sizeof(e.text) + 2;

	if (!explain(row, true, &e) || !explain(row, false, &e)) {
		add_profiles(row);
		return;
	}
	row->why = malloc(size);
	if (row->why)
		snprintf(row->why, size, "%s\n", e.text);
}
