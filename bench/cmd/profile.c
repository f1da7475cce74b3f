// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab profile`: where the time of benches goes, or where two targets differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/guests.h"
#include "commands.h"
#include "measure/suite.h"
#include "profile/profile.h"
#include "util/interrupt.h"
#include "util/output.h"

#define DEFAULT_SECONDS 5

static int check(const struct opts *opts, struct errline *e)
{
	size_t vms = 0, all = 0;

	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "profile takes a bench, as in bpflab profile trig-fentry");
	if (opts->diff.nr && opts->on.nr)
		return errline_set(e, -EINVAL, "--diff names the targets; leave --on out");
	if (opts->producers > 1)
		return errline_set(e, -EINVAL, "profile runs one producer, whose thread it samples; leave "
				   "-p out");
	for (size_t i = 0; i < opts->on.nr + opts->diff.nr; i++) {
		const char *spec = i < opts->on.nr ? opts->on.items[i] :
						     opts->diff.items[i - opts->on.nr];

		vms += guests_is_vm(spec);
		all++;
	}
	if (vms && vms < all)
		return errline_set(e, -EINVAL, "times of a vm are an emulator's: give it without other targets");
	return 0;
}

static int print(const struct profile *p, size_t nr, bool diff, const struct opts *opts,
		 struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < nr && !err && opts->json_stdout; i++)
		err = profile_json(stdout, &p[i]);
	if (err)
		return errline_set(e, err, "cannot write to standard output");
	if (diff && !opts->json_stdout)
		profile_print_diff(stdout, &p[0], &p[1]);
	else if (!opts->json_stdout)
		profile_print(stdout, &p[0]);
	return output_flush_stdout(e);
}

/* The @i-th bench; its points on the targets lie side by side. */
static int profile_one(struct suite *s, size_t i, size_t nr, const struct opts *opts,
		       struct errline *e)
{
	struct point *points[2] = { &s->points[i * nr], &s->points[i * nr + nr - 1] };
	double seconds = opts->duration > 0 ? opts->duration : DEFAULT_SECONDS;
	struct profile p[2] = { { 0 }, { 0 } };
	int err;

	for (size_t k = 0; k < nr; k++)
		if (points[k]->failed) {
			*e = points[k]->error;
			return points[k]->failed;
		}
	err = profile_run(points, nr, seconds, p, e);
	for (size_t k = 0; k < nr && !err; k++) {
		point_verify(points[k]);
		if (points[k]->failed) {
			*e = points[k]->error;
			err = points[k]->failed;
		}
	}
	if (!err && i && !opts->json_stdout)
		putchar('\n');
	if (!err)
		err = print(p, nr, opts->diff.nr != 0, opts, e);
	for (size_t k = 0; k < nr; k++)
		profile_release(&p[k]);
	return err;
}

static int profile_all(struct suite *s, const struct opts *opts, struct errline *e)
{
	size_t nr = opts->diff.nr ? 2 : 1;
	struct opts copy = *opts;
	int err;

	if (opts->diff.nr)
		copy.on = opts->diff;
	err = suite_build(s, &copy, e);
	for (size_t i = 0; i < s->nr_skipped && !err; i++)
		fprintf(stderr, "bpflab: %s\n", s->skipped[i]);
	for (size_t i = 0; i < s->nr_points && !err; i++)
		if (s->points[i].inst.params.producers > 1)
			err = errline_set(e, -EINVAL, "profile runs one producer, whose thread it samples; sweep something "
					  "else than p");
	if (!err && opts->diff.nr && (s->nr_targets != 2 || s->nr_points % 2))
		err = errline_set(e, -EINVAL, "--diff needs benches that run on both targets");
	if (!err)
		err = suite_open(s, &copy, e);
	for (size_t i = 0; i < s->nr_points / nr && !err; i++)
		err = profile_one(s, i, nr, opts, e);
	return err;
}

int cmd_profile(const struct opts *opts)
{
	struct errline e = { "" };
	struct suite suite = { 0 };
	int status = EXIT_OK;
	int err = check(opts, &e);

	if (!err && (guests_wanted(&opts->on) || guests_wanted(&opts->diff)))
		return cmd_profile_vm(opts);
	if (!err)
		err = profile_all(&suite, opts, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		status = err == -EBADMSG ? EXIT_BENCH_FAILED : EXIT_USAGE;
	if (err && !interrupt_signal())
		print_error(&e);
	suite_release(&suite);
	return status;
}
