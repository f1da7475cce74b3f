// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab verify`: what verifiers say of the programs of object files, side by side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/guests.h"
#include "commands.h"
#include "measure/object.h"
#include "measure/verify.h"
#include "report/table.h"
#include "result/record.h"
#include "target.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

struct session {
	const struct opts *opts;
	json_t *lines; /* of all targets, target by target */
	struct target targets[OPTS_MAX_LIST];
	size_t nr;
};

static int take(json_t *o, void *ctx, struct errline *e)
{
	struct session *s = ctx;

	return json_array_append(s->lines, o) ? errline_set(e, -ENOMEM, "out of memory") : 0;
}

static int take_line(json_t *o, size_t line, void *ctx, struct errline *e)
{
	if (strcmp(record_text(o, "schema"), SCHEMA_VERIFY) || !json_is_boolean(json_object_get(o, "accepted")))
		return errline_set(e, -EPROTO, "%s: line %zu of its results is no verdict", record_text(o, "target"), line);
	return take(o, ctx, e);
}

/* -------------------------------------------------------------- targets */

static int parse_targets(struct session *s, struct errline *e)
{
	static const struct opts_list only_user = { .items = { "user" }, .nr = 1 };
	const struct opts_list *on = s->opts->on.nr ? &s->opts->on : &only_user;

	for (size_t i = 0; i < on->nr; i++) {
		struct errline why = { "" };
		int err = target_parse(&s->targets[i], on->items[i], e);

		if (err)
			return err;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(s->targets[k].spec, s->targets[i].spec))
				return errline_set(e, -EINVAL, "target '%s' is given twice", s->targets[i].spec);
		err = target_probe(&s->targets[i], &why);
		if (err && target_is_vm(&s->targets[i])) {
			*e = why;
			return err;
		}
		if (err)
			return errline_set(e, err, "target '%s' does not work here: %.800s", s->targets[i].spec, why.text);
		s->nr++;
	}
	return 0;
}

static int ask_here(struct session *s, const struct target *t, struct errline *e)
{
	int err = target_enter(t, e);

	if (err)
		return err;
	for (size_t i = 0; i < s->opts->nr_args && !err; i++)
		err = interrupt_signal() ? -EINTR :
					   verify_object(t, s->opts->args[i], s->opts->verbose, take, s, e);
	target_leave(t);
	return err;
}

static int ask_guest(struct session *s, const struct target *t, struct errline *e)
{
	static const char *const more[] = { "--on", "host", "--json", NULL };
	struct guest g = { .label = t->spec, .spec = &t->vm };
	struct guest_command c;
	int err = guest_command_make(&c, s->opts, 0, more, e);

	g.argv = c.argv;
	g.files = c.files;
	g.nr_files = c.nr_files;
	if (!err)
		err = guests_run_for(s->opts, &g, 1, false, e);
	if (!err && !s->opts->print_command && g.status != EXIT_OK && g.status != EXIT_BENCH_FAILED)
		err = errline_set(e, -EIO, "%s: %.*s", t->spec, (int)strcspn(g.err_out.text ?: "?", "\n"),
				  g.err_out.text ?: "?");
	if (!err && !s->opts->print_command)
		err = guest_results(&g, take_line, s, e);
	guest_command_release(&c);
	guest_release(&g);
	return err;
}

/* -------------------------------------------------------------- views */

static void put_number(char *cell, const json_t *o, const char *key)
{
	if (json_object_get(o, key))
		snprintf(cell, TABLE_CELL, "%lld", (long long)json_integer_value(json_object_get(o, key)));
}

static int add_row(struct table *t, const json_t *o, unsigned int *reasons)
{
	char(*row)[TABLE_CELL] = table_row(t);

	if (!row)
		return -ENOMEM;
	snprintf(row[0], TABLE_CELL, "%.70s:%.70s", record_text(o, "object"), record_text(o, "program"));
	snprintf(row[1], TABLE_CELL, "%.150s", record_text(o, "target"));
	if (json_is_true(json_object_get(o, "accepted")))
		snprintf(row[2], TABLE_CELL, "accepted");
	else
		snprintf(row[2], TABLE_CELL, "refused [%u]", ++*reasons);
	put_number(row[3], o, "insns");
	put_number(row[4], o, "states");
	put_number(row[5], o, "peak_states");
	snprintf(row[6], TABLE_CELL, "%.60s", record_text(o, "stack"));
	return 0;
}

/* Program by program, its targets below each other. */
static int print_table(const struct session *s, struct errline *e)
{
	static const char *const titles[] = { "program", "target", "verdict", "insns", "states", "peak", "stack", NULL };
	size_t all = json_array_size(s->lines), per = s->nr ? all / s->nr : 0;
	unsigned int reasons = 0;
	struct table t;
	int err = table_init(&t, 3, titles);

	for (size_t i = 0; i < per && !err; i++)
		for (size_t k = 0; k < s->nr && !err; k++)
			err = add_row(&t, json_array_get(s->lines, k * per + i), &reasons);
	if (!err)
		table_print(stdout, &t);
	table_release(&t);
	if (err)
		return errline_set(e, err, "out of memory");
	if (reasons)
		putchar('\n');
	reasons = 0;
	for (size_t i = 0; i < per; i++)
		for (size_t k = 0; k < s->nr; k++) {
			const json_t *o = json_array_get(s->lines, k * per + i);
			char text[600];

			if (json_is_true(json_object_get(o, "accepted")))
				continue;
			snprintf(text, sizeof(text), "%s", record_text(o, "reason"));
			record_clean(text);
			printf("[%u] errno %lld: %s\n", ++reasons,
			       (long long)json_integer_value(json_object_get(o, "errno")), text);
		}
	return 0;
}

static void print_logs(const struct session *s)
{
	size_t i;
	json_t *o;

	json_array_foreach(s->lines, i, o) {
		fprintf(stderr, "%s:%s on %s:\n", record_text(o, "object"), record_text(o, "program"),
			record_text(o, "target"));
		for (const char *p = record_text(o, "log"); *p; p++)
			if (*p == '\n' || *p == '\t' || ((unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f))
				putc(*p, stderr);
	}
}

static int print(const struct session *s, struct errline *e)
{
	size_t i;
	json_t *o;
	int err = 0;

	if (s->opts->verbose && !s->opts->json_stdout)
		print_logs(s);
	if (!s->opts->json_stdout)
		err = print_table(s, e);
	else
		json_array_foreach(s->lines, i, o)
			if (!err && json_line_put(stdout, json_incref(o)))
				err = errline_set(e, -EIO, "cannot write to standard output");
	return err ? err : output_flush_stdout(e);
}

static int check(const struct opts *opts, struct errline *e)
{
	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "verify takes an object file, as in bpflab verify prog.bpf.o --on user --on "
				   "vm:6.12");
	for (size_t i = 0; i < opts->nr_args; i++)
		if (!object_is_path(opts->args[i]))
			return errline_set(e, -EINVAL, "'%s' is no object file (PROG.bpf.o); benches are verified when "
					   "they are run", opts->args[i]);
	return 0;
}

static bool any_refused(const struct session *s)
{
	size_t i;
	json_t *o;

	json_array_foreach(s->lines, i, o)
		if (!json_is_true(json_object_get(o, "accepted")))
			return true;
	return false;
}

int cmd_verify(const struct opts *opts)
{
	struct session *s = calloc(1, sizeof(*s));
	struct errline e = { "" };
	int status = EXIT_USAGE, err = s ? check(opts, &e) : errline_set(&e, -ENOMEM, "out of memory");

	if (!err) {
		s->opts = opts;
		s->lines = json_array();
		err = parse_targets(s, &e);
	}
	for (size_t i = 0; !err && i < s->nr; i++)
		err = target_is_vm(&s->targets[i]) ? ask_guest(s, &s->targets[i], &e) :
						     ask_here(s, &s->targets[i], &e);
	if (!err && !opts->print_command)
		err = print(s, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		print_error(&e);
	else
		status = any_refused(s) ? EXIT_BENCH_FAILED : EXIT_OK;
	json_decref(s ? s->lines : NULL);
	free(s);
	return status;
}
