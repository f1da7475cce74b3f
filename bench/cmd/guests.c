// SPDX-License-Identifier: BSD-2-Clause
/* Guests for commands: the settings from the options, and what is told of those that fail. */
#include "cmd/guests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "measure/object.h"
#include "measure/progress.h"
#include "target.h"
#include "util/output.h"
#include "vm/guest.h"

#define DEFAULT_SECONDS 10
#define PATIENCE 600

static double longest(const struct opts *opts)
{
	if (opts->timeout > 0)
		return opts->timeout;
	return PATIENCE + 10 * (opts->duration > 0 ? opts->duration : DEFAULT_SECONDS);
}

int guests_run_for(const struct opts *opts, struct guest *guests, size_t nr, bool echo, struct errline *e)
{
	const struct guest_settings settings = {
		.print_only = opts->print_command,
		.initrd = opts->initrd,
		.echo = echo,
	};
	int err;

	if (opts->initrd && !opts->print_command)
		return errline_set(e, -EINVAL, "--initrd is for --print-command: it writes what the command "
				   "printed needs");
	if (opts->initrd && nr > 1)
		return errline_set(e, -EINVAL, "--initrd is for one target, not %zu", nr);
	for (size_t i = 0; i < nr; i++) {
		guests[i].qemu_args = opts->qemu_args;
		guests[i].max_seconds = longest(opts);
	}
	if (!echo)
		progress_begin(opts);
	err = guests_run(guests, nr, &settings, e);
	if (err || opts->print_command)
		return err;
	for (size_t i = 0; i < nr; i++) {
		if (!guests[i].err)
			continue;
		guest_print_console(stderr, &guests[i]);
		if (nr == 1) {
			*e = guests[i].error;
			return guests[i].err;
		}
	}
	return 0;
}

bool guests_is_vm(const char *spec)
{
	return !strncmp(spec, "vm:", 3) || !strcmp(spec, "vm");
}

bool guests_wanted(const struct opts_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		if (guests_is_vm(list->items[i]))
			return true;
	return false;
}

/* -------------------------------------------------------------- the command of the inside */

/* What is for this side. */
static const char *const outside[] = {
	"seed", /* of compare only: runs with one seed would be one run */
	"diff", /* of profile only */
	"on", "json", "csv", "markdown", "text", "benchfmt", "ascii", "quiet", "print-command", "initrd",
	"qemu-args", "timeout", "i-know", "keep-going", "classic",
	/* of compare */
	"quads", "quick", "rigorous", "loads", "margin", "fail-above", "strict", "why", "no-control", NULL,
};

int guest_command_make(struct guest_command *c, const struct opts *opts, size_t first, const char *const *more,
		       struct errline *e)
{
	const char *const *without = opts->command == CMD_COMPARE ? outside :
				     opts->command == CMD_PROFILE ? outside + 1 : outside + 2;
	const size_t max = sizeof(c->argv) / sizeof(c->argv[0]) - 1;
	size_t nr = 1;
	int err = 0;

	memset(c, 0, sizeof(*c));
	c->argv[0] = "/init";
	nr += opts_words(opts, without, c->argv + 1, max / 2);
	for (; *more && nr < max; more++)
		c->argv[nr++] = *more;
	for (size_t i = first; i < opts->nr_args && !err; i++) {
		const char *word = opts->args[i];

		if (nr == max)
			return errline_set(e, -E2BIG, "too many arguments for a guest");
		if (object_is_path(word))
			err = guest_files_add_object(&c->packed, opts->args[i], &word, e);
		c->argv[nr++] = word;
	}
	c->files = c->packed.files;
	c->nr_files = c->packed.nr;
	return err;
}

void guest_command_release(struct guest_command *c)
{
	guest_files_release(&c->packed);
}

int guests_pass_on(const struct opts *opts)
{
	static const char *const more[] = { "--on", "host", NULL };
	static const char *const more_json[] = { "--on", "host", "--json", NULL };
	struct guest_command c;
	struct errline e = { "" };
	int err = guest_command_make(&c, opts, 0, opts->json_stdout ? more_json : more, &e), status = EXIT_OK;

	for (size_t i = 0; i < opts->on.nr && !err && !status; i++) {
		struct target t;
		struct guest g = { .argv = c.argv, .files = c.files, .nr_files = c.nr_files };

		err = target_parse(&t, opts->on.items[i], &e);
		if (!err && !target_is_vm(&t))
			err = errline_set(&e, -EINVAL, "'%s' beside a vm: give one of them at a time",
					  opts->on.items[i]);
		g.label = t.spec;
		g.spec = &t.vm;
		if (!err)
			err = guests_run_for(opts, &g, 1, true, &e);
		status = g.status;
		guest_release(&g);
	}
	guest_command_release(&c);
	if (!err)
		err = output_flush_stdout(&e);
	return command_end(err, status, &e);
}
