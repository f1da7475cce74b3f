// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab profile` on kernels that are booted for it: the same command samples inside, on its target `host`, where
 * the names of the kernel's functions, of programs and trampolines are, and what it found is shown here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/guests.h"
#include "commands.h"
#include "profile/profile.h"
#include "target.h"
#include "util/json_line.h"
#include "util/output.h"

struct profiled {
	struct profile *items;
	json_t **lines;
	size_t nr;
};

static int take_line(json_t *o, size_t line, void *ctx, struct errline *e)
{
	struct profiled *p = ctx;
	struct profile *items = realloc(p->items, (p->nr + 1) * sizeof(*items));
	json_t **lines = realloc(p->lines, (p->nr + 1) * sizeof(*lines));

	p->items = items ?: p->items;
	p->lines = lines ?: p->lines;
	if (!items || !lines)
		return errline_set(e, -ENOMEM, "out of memory");
	p->lines[p->nr] = json_incref(o);
	return profile_read(&p->items[p->nr++], o, e);
}

static void release(struct profiled *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		profile_release(&p->items[i]);
		json_decref(p->lines[i]);
	}
	free(p->items);
	free(p->lines);
}

/* What the inside said; its target `host` is ours. */
static void pass_errors(const struct guest *g)
{
	char *text = g->err_out.text, *save = NULL;

	for (char *p = text ? strtok_r(text, "\n", &save) : NULL; p; p = strtok_r(NULL, "\n", &save))
		fprintf(stderr, "bpflab: %s: %s\n", g->label, strncmp(p, "bpflab: ", 8) ? p : p + 8);
}

static int print_json(const struct profiled *p, size_t i)
{
	return i < p->nr ? json_line_put(stdout, json_incref(p->lines[i])) : 0;
}

static int print_all(const struct profiled *p, size_t nr, const struct opts *opts, struct errline *e)
{
	size_t most = 0;
	int err = 0;

	for (size_t k = 0; k < nr; k++)
		most = p[k].nr > most ? p[k].nr : most;
	for (size_t i = 0; i < most && !err; i++) {
		if (!opts->json_stdout && i)
			putchar('\n');
		if (opts->diff.nr && !opts->json_stdout && i < p[0].nr && i < p[1].nr)
			profile_print_diff(stdout, &p[0].items[i], &p[1].items[i]);
		for (size_t k = 0; k < nr && !err; k++) {
			if (opts->json_stdout)
				err = print_json(&p[k], i);
			else if (!opts->diff.nr && i < p[k].nr)
				profile_print(stdout, &p[k].items[i]);
			if (!opts->json_stdout && !opts->diff.nr && k + 1 < nr)
				putchar('\n');
		}
	}
	return err ? errline_set(e, err, "cannot write to standard output") : output_flush_stdout(e);
}

/* Without one side there is no difference. */
static int collect(struct guest *guests, size_t nr, struct profiled *p, const struct opts *opts, int *status,
		   struct errline *e)
{
	int err = 0;

	for (size_t k = 0; k < nr && !err; k++) {
		if (guests[k].err) {
			*e = guests[k].error;
			return guests[k].err;
		}
		pass_errors(&guests[k]);
		*status = guests[k].status > *status ? guests[k].status : *status;
		err = guest_results(&guests[k], take_line, &p[k], e);
	}
	if (!err && opts->diff.nr && p[0].nr != p[1].nr && !*status)
		err = errline_set(e, -EINVAL, "--diff needs benches that run on both targets");
	return err;
}

static int profile(const struct opts *opts, int *status, struct errline *e)
{
	static const char *const more[] = { "--on", "host", "--json", NULL };
	const struct opts_list *specs = opts->diff.nr ? &opts->diff : &opts->on;
	struct target *targets = calloc(specs->nr, sizeof(*targets));
	struct guest *guests = calloc(specs->nr, sizeof(*guests));
	struct profiled *p = calloc(specs->nr, sizeof(*p));
	struct guest_command c;
	int err = guest_command_make(&c, opts, 0, more, e);

	if (!targets || !guests || !p)
		err = errline_set(e, -ENOMEM, "out of memory");
	for (size_t k = 0; k < specs->nr && !err; k++) {
		err = target_parse(&targets[k], specs->items[k], e);
		if (!err)
			err = target_probe(&targets[k], e);
		guests[k] = (struct guest){ .label = targets[k].spec, .spec = &targets[k].vm, .argv = c.argv,
					    .files = c.files, .nr_files = c.nr_files };
	}
	if (!err)
		err = guests_run_for(opts, guests, specs->nr, false, e);
	if (!err && !opts->print_command) {
		err = collect(guests, specs->nr, p, opts, status, e);
		if (!err && !(opts->diff.nr && *status))
			err = print_all(p, specs->nr, opts, e);
	}
	guest_command_release(&c);
	for (size_t k = 0; k < specs->nr && guests && p; k++) {
		guest_release(&guests[k]);
		release(&p[k]);
	}
	free(targets);
	free(guests);
	free(p);
	return err;
}

int cmd_profile_vm(const struct opts *opts)
{
	struct errline e = { "" };
	int status = EXIT_OK, err = profile(opts, &status, &e);

	return command_end(err, status, &e);
}
