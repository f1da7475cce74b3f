// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab dump`: the code that programs became, and the difference of two. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "cmd/guests.h"
#include "commands.h"
#include "dump/dump_source.h"
#include "dump/dump_view.h"
#include "measure/object.h"
#include "util/output.h"

struct dump {
	const struct opts *opts;
	struct dump_request req;
	bool xlated, jited;
};

static int make_listing(struct listing *l, const struct dump_prog *p, bool jited, struct errline *e)
{
	int err = jited ? listing_jited(l, p) : listing_xlated(l, p);

	if (err == -EOPNOTSUPP)
		return errline_set(e, err, "capstone was built without support for %s", p->arch);
	return err ? errline_set(e, err, "out of memory") : 0;
}

/* ---- one target ---- */

static int print_json(json_t *o, struct errline *e)
{
	int err = o ? json_dumpf(o, stdout, JSON_COMPACT) : -1;

	if (!err)
		putchar('\n');
	json_decref(o);
	return err ? errline_set(e, -ENOMEM, "cannot make JSON of the listing") : 0;
}

static int print_listing(const struct dump *d, struct dump_item *item, bool jited, struct errline *e)
{
	const struct dump_style style = { .bytes = d->opts->bytes, .source = !d->opts->no_source };
	struct listing l;
	int err = make_listing(&l, item->prog, jited, e);

	item->jited = jited;
	item->listing = &l;
	if (!err && d->opts->json_stdout)
		err = print_json(dump_view_json(item), e);
	else if (!err)
		dump_view_text(stdout, item, &style);
	listing_release(&l);
	return err;
}

static int dump_one(const struct dump *d, const char *target, bool *first, struct errline *e)
{
	struct dump_source s;
	int err = dump_source_open(&s, target, &d->req, e);

	for (size_t i = 0; i < s.nr && !err; i++) {
		struct dump_item item = { .target = s.target.spec, .prog = &s.progs[i] };

		for (int jited = !d->xlated; jited <= d->jited && !err; jited++) {
			if (!*first && !d->opts->json_stdout)
				putchar('\n');
			*first = false;
			err = print_listing(d, &item, jited, e);
		}
	}
	dump_source_release(&s);
	return err;
}

/* ---- two ---- */

static int print_diff(const struct dump *d, struct dump_item *a, struct dump_item *b, bool jited,
		      struct errline *e)
{
	struct listing la = { 0 }, lb = { 0 };
	struct listing_diff diff = { 0 };
	int err = make_listing(&la, a->prog, jited, e);

	if (!err)
		err = make_listing(&lb, b->prog, jited, e);
	if (!err && listing_diff(&diff, &la, &lb))
		err = errline_set(e, -ENOMEM, "out of memory");
	a->jited = b->jited = jited;
	a->listing = &la;
	b->listing = &lb;
	if (!err && d->opts->json_stdout)
		err = print_json(dump_view_diff_json(a, b, &diff), e);
	else if (!err)
		dump_view_diff_text(stdout, a, b, &diff);
	listing_diff_release(&diff);
	listing_release(&la);
	listing_release(&lb);
	return err;
}

/* The counterpart in @s of a program of @other: of the same name, or the only one of both. */
static struct dump_prog *find_prog(struct dump_source *s, const struct dump_source *other,
				   const char *name)
{
	if (s->nr == 1 && other->nr == 1)
		return s->progs;
	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->progs[i].name, name))
			return &s->progs[i];
	return NULL;
}

static int diff_sources(const struct dump *d, struct dump_source *a, struct dump_source *b,
			const char *names[2], struct errline *e)
{
	size_t pairs = 0;
	int err = 0;

	for (size_t i = 0; i < a->nr && !err; i++) {
		struct dump_item ia = { .target = names[0], .prog = &a->progs[i] };
		struct dump_item ib = { .target = names[1],
					.prog = find_prog(b, a, a->progs[i].name) };

		if (!ib.prog) {
			fprintf(stderr, "bpflab: '%s' is only in %s\n", ia.prog->name, names[0]);
			continue;
		}
		for (int jited = !d->xlated; jited <= d->jited && !err; jited++) {
			if (pairs++ && !d->opts->json_stdout)
				putchar('\n');
			err = print_diff(d, &ia, &ib, jited, e);
		}
	}
	for (size_t i = 0; i < b->nr && !err; i++)
		if (!find_prog(a, b, b->progs[i].name))
			fprintf(stderr, "bpflab: '%s' is only in %s\n", b->progs[i].name, names[1]);
	if (!err && !pairs)
		err = errline_set(e, -ENOENT, "%s and %s have no program of the same name", names[0],
				  names[1]);
	return err;
}

/* A and B are two targets, or two object files on one target. */
static int dump_diff(const struct dump *d, struct errline *e)
{
	const char *const *ab = d->opts->diff.items;
	bool files = object_is_path(ab[0]) && object_is_path(ab[1]);
	const char *target = d->opts->on.nr ? d->opts->on.items[0] : "user";
	struct dump_request req[2] = { d->req, d->req };
	struct dump_source a, b;
	const char *names[2];
	int err;

	if (files) {
		req[0].what = ab[0];
		req[1].what = ab[1];
	}
	err = dump_source_open(&a, files ? target : ab[0], &req[0], e);
	if (err) {
		dump_source_release(&a);
		return err;
	}
	err = dump_source_open(&b, files ? target : ab[1], &req[1], e);
	names[0] = files ? ab[0] : a.target.spec;
	names[1] = files ? ab[1] : b.target.spec;
	if (!err)
		err = diff_sources(d, &a, &b, names, e);
	dump_source_release(&a);
	dump_source_release(&b);
	return err;
}

/* ---- the command line ---- */

static bool diffs_files(const struct opts *opts)
{
	return opts->diff.nr && object_is_path(opts->diff.items[0]);
}

static int check(const struct opts *opts, struct errline *e)
{
	size_t names = diffs_files(opts) ? 0 : 1; /* before PROGRAM */

	if (opts->nr_args < names)
		return errline_set(e, -EINVAL, "dump takes a bench or an object file (bpflab help "
				   "dump)");
	if (opts->nr_args > names + 1)
		return errline_set(e, -EINVAL, "dump shows one bench or object file; '%s' is too many",
				   opts->args[names + 1]);
	for (size_t i = 0; i < (names ? 1 : opts->diff.nr) && opts->nr_args > names; i++) {
		const char *file = names ? opts->args[0] : opts->diff.items[i];

		if (strstr(file, ".o:"))
			return errline_set(e, -EINVAL, "'%s' names its program; leave out '%s'", file, opts->args[names]);
	}
	if (opts->arch && opts->xlated)
		return errline_set(e, -EINVAL, "--arch is for machine code: --xlated has none");
	if (opts->diff.nr && opts->on.nr && !diffs_files(opts))
		return errline_set(e, -EINVAL, "--diff names the targets; leave --on out");
	if (opts->diff.nr && opts->on.nr > 1)
		return errline_set(e, -EINVAL, "--diff of two files takes one target, not '%s' and "
				   "'%s'", opts->on.items[0], opts->on.items[1]);
	if (opts->diff.nr && object_is_path(opts->diff.items[0]) != object_is_path(opts->diff.items[1]))
		return errline_set(e, -EINVAL, "--diff takes two targets or two object files, not '%s' "
				   "and '%s'", opts->diff.items[0], opts->diff.items[1]);
	return 0;
}

/* `uname -m` and Linux's own names are both in use. */
static const char *arch_name(const char *arch)
{
	return arch && !strcmp(arch, "arm64") ? "aarch64" : arch && !strcmp(arch, "x86") ? "x86_64" :
											   arch;
}

static int dump(const struct opts *opts, struct errline *e)
{
	size_t names = diffs_files(opts) ? 0 : 1;
	struct dump d = {
		.opts = opts,
		.jited = opts->jited || opts->arch,
		.req.arch = arch_name(opts->arch),
	};
	bool first = true;
	int err = check(opts, e);

	if (err)
		return err;
	d.xlated = opts->xlated || !d.jited;
	d.req.what = names ? opts->args[0] : NULL;
	d.req.program = opts->nr_args > names ? opts->args[names] : NULL;
	d.req.flags = d.jited ? DUMP_PROG_CODE : 0;
	if (opts->diff.nr)
		return dump_diff(&d, e);
	if (!opts->on.nr)
		return dump_one(&d, "user", &first, e);
	for (size_t i = 0; i < opts->on.nr && !err; i++)
		err = dump_one(&d, opts->on.items[i], &first, e);
	return err;
}

/*
 * Names stand for addresses in a listing, but how many instructions an address takes may depend on
 * its value (arm64), and bytes hold it as it is.
 */
void dump_fix_addresses(char **argv)
{
	int now = personality(0xffffffff);
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (now < 0 || (now & ADDR_NO_RANDOMIZE) || len <= 0 ||
	    personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0)
		return;
	path[len] = '\0';
	if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0)
		execv(path, argv);
	personality((unsigned long)now);
}

int cmd_dump(const struct opts *opts)
{
	struct errline e;
	int err;

	if (opts->counts)
		return cmd_dump_counts(opts);
	if (guests_wanted(&opts->on)) {
		err = check(opts, &e);
		if (!err)
			return guests_pass_on(opts);
		print_error(&e);
		return EXIT_USAGE;
	}
	err = dump(opts, &e);
	if (!err)
		err = output_flush_stdout(&e);
	if (!err)
		return EXIT_OK;
	print_error(&e);
	return EXIT_USAGE;
}
