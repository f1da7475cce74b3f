// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab run` on kernels that are booted for it. Each guest runs the same command on its target `host` and
 * writes JSON lines; these are given the names of the targets here, and shown together. Times come
 * from an emulator and are marked as such wherever they appear.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/guests.h"
#include "commands.h"
#include "report/form.h"
#include "report/report_matrix.h"
#include "target.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

struct vm_run {
	const struct opts *opts;
	struct target targets[OPTS_MAX_LIST];
	struct guest guests[OPTS_MAX_LIST];
	size_t nr;
	struct opts_list metal; /* the targets that are no guests */
	struct record_list list;
	int status;
};

/* -------------------------------------------------------------- targets */

static int check_options(const struct opts *opts, struct errline *e)
{
	if (opts->classic)
		return errline_set(e, -EINVAL, "--classic is not for a vm: leave it out, or run it inside with bpflab "
				   "kernel exec");
	if (opts->prepare)
		return errline_set(e, -EINVAL, "--prepare is for --instances, and not for a vm");
	return forms_check(opts, e);
}

static int parse_targets(struct vm_run *r, struct errline *e)
{
	const struct opts_list *on = &r->opts->on;

	for (size_t i = 0; i < on->nr; i++) {
		struct target *t = &r->targets[r->nr];
		int err = target_parse(t, on->items[i], e);

		if (err)
			return err;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(on->items[j], on->items[i]))
				return errline_set(e, -EINVAL, "target '%s' is given twice", t->spec);
		if (!target_is_vm(t)) {
			r->metal.items[r->metal.nr++] = on->items[i];
			continue;
		}
		err = target_probe(t, e);
		if (err)
			return err;
		r->guests[r->nr].label = t->spec;
		r->guests[r->nr++].spec = &t->vm;
	}
	if (r->metal.nr && !r->opts->i_know)
		return errline_set(e, -EINVAL, "'%s' is emulated and '%s' is this machine: their times say nothing "
				   "about each other; --i-know puts them into one table all the same",
				   r->targets[0].spec, r->metal.items[0]);
	return 0;
}

/* -------------------------------------------------------------- results */

struct taker {
	struct vm_run *run;
	const char *label;
};

static int take_line(json_t *o, size_t line, void *ctx, struct errline *e)
{
	struct taker *t = ctx;
	char where[400], command[2048];

	/* The command of the inside would measure its `host`. */
	opts_command_text(t->run->opts, strtoull(record_text(o, "seed"), NULL, 0), command, sizeof(command));
	json_object_set_new(o, "command", json_string(command));
	snprintf(where, sizeof(where), "%.200s: line %zu of its results", t->label, line);
	return records_add(&t->run->list, o, 0, RECORD_RESULT | RECORD_UNAVAILABLE, where, e);
}

static int take_results(struct vm_run *r, struct guest *g, struct errline *e)
{
	struct taker t = { r, g->label };

	return guest_results(g, take_line, &t, e);
}

/* Whether @reason is @line but for the name of the target. */
static bool says_the_same(const char *reason, const char *line)
{
	const char *at = strstr(line, " on host"), *rest = at ? strchr(at, ':') : NULL;

	return rest && !strncmp(reason, line, (size_t)(at - line)) && strstr(reason, rest);
}

/* What the inside said on standard error, but for what the table says as well. */
static void pass_errors(const struct vm_run *r, const struct guest *g)
{
	char *text = g->err_out.text, *save = NULL;

	for (char *p = text ? strtok_r(text, "\n", &save) : NULL; p; p = strtok_r(NULL, "\n", &save)) {
		const char *line = strncmp(p, "bpflab: ", 8) ? p : p + 8;
		bool known = false;

		for (size_t i = 0; i < r->list.nr && !known; i++)
			known = r->list.items[i].kind == RECORD_UNAVAILABLE &&
				says_the_same(record_text(r->list.items[i].json, "reason"), line);
		if (!known)
			fprintf(stderr, "bpflab: %s: %s\n", g->label, line);
	}
}

/* A guest with results and wrong ones has failed a bench; one without any could not be set up. */
static void judge(struct vm_run *r, const struct guest *g, size_t results)
{
	int status = g->err || (g->status && !results) ? EXIT_USAGE : g->status;

	if (g->err)
		print_error(&g->error);
	if (status > r->status)
		r->status = status;
}

static int run_guests(struct vm_run *r, struct errline *e)
{
	static const char *const more[] = { "--on", "host", "--json", "-", "--keep-going", NULL };
	struct guest_command c;
	int err = guest_command_make(&c, r->opts, 0, more, e);

	for (size_t i = 0; i < r->nr; i++) {
		r->guests[i].argv = c.argv;
		r->guests[i].files = c.files;
		r->guests[i].nr_files = c.nr_files;
	}
	if (!err)
		err = guests_run_for(r->opts, r->guests, r->nr, false, e);
	guest_command_release(&c);
	if (r->opts->print_command)
		return err;
	for (size_t i = 0; i < r->nr && !err; i++) {
		size_t before = r->list.nr;

		/* with one guest its failure is the run's */
		if (!r->guests[i].err)
			err = take_results(r, &r->guests[i], e);
		pass_errors(r, &r->guests[i]);
		judge(r, &r->guests[i], r->list.nr - before);
	}
	return err;
}

/* -------------------------------------------------------------- views */

static int view_json(FILE *f, const void *ctx)
{
	const struct record_list *list = ctx;
	int err = 0;

	for (size_t i = 0; i < list->nr && !err; i++)
		err = json_line_put(f, json_incref(list->items[i].json));
	return err;
}

/* The forms are of results alone. */
static int only_results(const struct record_list *all, struct record_list *results, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < all->nr && !err; i++)
		if (all->items[i].kind == RECORD_RESULT)
			err = records_add(results, all->items[i].json, 0, RECORD_RESULT, "the result", e);
	return err;
}

static int write_views(const struct vm_run *r, struct errline *e)
{
	const struct opts *opts = r->opts;
	struct record_list results = { 0 };
	struct sheets sheets;
	struct form form = { .list = &results, .sheets = &sheets };
	int err = only_results(&r->list, &results, e);

	if (!err && !forms_use_stdout(opts)) {
		report_matrix(stdout, &r->list, opts->quiet);
		err = output_flush_stdout(e);
	}
	if (!err)
		err = output_view(opts->json, view_json, &r->list, e);
	if (!err && opts->csv) {
		err = sheets_make(&sheets, &results) ? errline_set(e, -ENOMEM, "out of memory") :
						       output_view(opts->csv, form_csv, &form, e);
		sheets_release(&sheets);
	}
	if (!err)
		err = forms_write(opts, &results, e);
	records_release(&results);
	return err;
}

/* The others, by themselves, with the same options. */
static int run_metal(struct vm_run *r, struct errline *e)
{
	struct opts opts = *r->opts;
	int status = EXIT_OK, err;

	if (!r->metal.nr || r->opts->print_command)
		return 0;
	opts.on = r->metal;
	err = run_records(&opts, &r->list, &status, e);
	if (status > r->status)
		r->status = status;
	return err;
}

int cmd_run_vm(const struct opts *opts)
{
	struct vm_run *r = calloc(1, sizeof(*r));
	struct errline e = { "" };
	int err = r ? check_options(opts, &e) : errline_set(&e, -ENOMEM, "out of memory");
	int status;

	if (!err) {
		r->opts = opts;
		err = parse_targets(r, &e);
	}
	if (!err)
		err = run_metal(r, &e);
	if (!err)
		err = run_guests(r, &e);
	if (!err && !opts->print_command && r->list.nr)
		err = write_views(r, &e);
	status = err ? EXIT_USAGE : r->status;
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		print_error(&e);
	for (size_t i = 0; r && i < r->nr; i++)
		guest_release(&r->guests[i]);
	if (r)
		records_release(&r->list);
	free(r);
	return status;
}
