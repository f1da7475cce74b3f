// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab run prog-pack --instances K --on vm:… -- PROGRAM`: the same beside instances on kernels that are
 * booted for it. All runs on a kernel are in one boot; guests run one after another, so that they do not take
 * the machine's CPUs from each other. The program is packed, as there is none in a guest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/guests.h"
#include "commands.h"
#include "report/form.h"
#include "target.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"
#include "vm/program_check.h"

struct beside_vm {
	const struct opts *opts;
	const char *const *command; /* the words, from the program on */
	size_t nr_command;
	json_t *results;
};

static int check(const struct beside_vm *b, struct errline *e)
{
	static const char how[] = "as in bpflab run prog-pack --instances 20 --on vm:6.12 -- ./prog";
	const struct opts *opts = b->opts;

	if (!b->nr_command)
		return errline_set(e, -EINVAL, "--instances: no command after '--', %s", how);
	if (opts->nr_bench_args != 1 || strcmp(opts->args[0], "prog-pack"))
		return errline_set(e, -EINVAL, "--instances is for the bench prog-pack alone, %s", how);
	if (opts->prepare)
		return errline_set(e, -EINVAL, "--prepare is not for a vm: there is no sh in a guest; let the program "
				   "prepare itself");
	if (opts->csv || opts->classic || opts->sweep.nr || opts->programs || opts->producers || forms_wanted(opts))
		return errline_set(e, -EINVAL, "--instances measures a command: of options on benches and forms of "
				   "results it takes --rounds and --json alone");
	return opts->json ? output_check(opts->json, e) : 0;
}

/* -------------------------------------------------------------- one kernel */

static int take(json_t *o, size_t line, void *ctx, struct errline *e)
{
	struct beside_vm *b = ctx;

	if (strcmp(json_string_value(json_object_get(o, "schema")) ?: "", "bpflab.beside/1") ||
	    !json_is_number(json_object_get(o, "seconds")) || !json_is_array(json_object_get(o, "runs")))
		return errline_set(e, -EPROTO, "line %zu of a guest's results is not one of bpflab.beside/1", line);
	return json_array_append(b->results, o) ? errline_set(e, -ENOMEM, "out of memory") : 0;
}

/* What it said on standard error, line by line. */
static void pass_errors(const struct guest *g)
{
	char *save = NULL;

	for (char *p = g->err_out.text ? strtok_r(g->err_out.text, "\n", &save) : NULL; p;
	     p = strtok_r(NULL, "\n", &save))
		fprintf(stderr, "bpflab: %s: %s\n", g->label, strncmp(p, "bpflab: ", 8) ? p : p + 8);
}

static int run_on(struct beside_vm *b, const struct target *t, int *status, struct errline *e)
{
	const struct opts *opts = b->opts;
	const char *slash = strrchr(b->command[0], '/'), *name = slash ? slash + 1 : b->command[0];
	struct initrd_file file = { b->command[0], name };
	struct guest g = { .label = t->spec, .spec = &t->vm, .files = &file, .nr_files = 1 };
	char instances[16], rounds[16];
	const char *argv[300] = { "/init", "run", "prog-pack", "--on", "host", "--json", "-", "--quiet",
				  "--instances", instances, "--rounds", rounds, "--", name };
	size_t nr = 0;
	int err;

	snprintf(instances, sizeof(instances), "%u", opts->instances);
	snprintf(rounds, sizeof(rounds), "%u", opts->rounds ? opts->rounds : BESIDE_RUNS);
	while (argv[nr])
		nr++;
	if (b->nr_command > sizeof(argv) / sizeof(argv[0]) - nr)
		return errline_set(e, -E2BIG, "too many arguments for a guest");
	for (size_t i = 1; i < b->nr_command; i++)
		argv[nr++] = b->command[i];
	g.argv = argv;
	err = guests_run_for(opts, &g, 1, false, e);
	if (!err && !opts->print_command) {
		pass_errors(&g);
		*status = g.status;
		err = guest_results(&g, take, b, e);
	}
	guest_release(&g);
	return err;
}

/* Each target is looked at before the first is booted. */
static int run_all(struct beside_vm *b, int *status, struct errline *e)
{
	const struct opts_list *on = &b->opts->on;
	struct target *t = calloc(on->nr, sizeof(*t));
	int err = t ? 0 : errline_set(e, -ENOMEM, "out of memory");

	for (size_t i = 0; i < on->nr && !err; i++) {
		err = target_parse(&t[i], on->items[i], e);
		if (!err && !target_is_vm(&t[i]))
			err = errline_set(e, -EINVAL, "'%s' beside a vm: give one of them at a time", on->items[i]);
		if (!err)
			err = target_probe(&t[i], e);
	}
	for (size_t i = 0; i < on->nr && !err; i++)
		err = program_check(b->command[0], t[i].vm.machine, e);
	for (size_t i = 0; i < on->nr && !err && !*status; i++)
		err = interrupt_signal() ? -EINTR : run_on(b, &t[i], status, e);
	free(t);
	return err;
}

/* -------------------------------------------------------------- views */

static void print_result(const json_t *o)
{
	const json_t *ci = json_object_get(o, "ci95");

	printf("%-22s %4zu %9.3f", json_string_value(json_object_get(o, "target")),
	       json_array_size(json_object_get(o, "runs")), json_number_value(json_object_get(o, "seconds")));
	if (json_is_number(json_array_get(ci, 0)))
		printf("  [%.3f, %.3f]", json_number_value(json_array_get(ci, 0)),
		       json_number_value(json_array_get(ci, 1)));
	putchar('\n');
}

static void print_remark(const json_t *o)
{
	const json_t *code = json_object_get(o, "code_bytes");

	printf("%s: %lld runs of %u programs, all as asked for", json_string_value(json_object_get(o, "target")),
	       (long long)json_integer_value(json_object_get(o, "events")),
	       (unsigned int)(json_integer_value(json_object_get(o, "instances")) *
			      json_integer_value(json_object_get(o, "triggered"))));
	if (json_is_integer(code))
		printf("; code memory of all programs of the kernel %lld KiB",
		       (long long)json_integer_value(code) >> 10);
	putchar('\n');
}

static void print_table(const struct beside_vm *b)
{
	json_t *o;
	size_t i;

	printf("EMULATED seconds: what QEMU's translation of the guest takes on this machine; no processor's "
	       "TLB is in it\n\n%-22s %4s %9s  %s\n", "target", "runs", "seconds", "95 % CI, within one boot");
	json_array_foreach(b->results, i, o)
		print_result(o);
	if (b->opts->quiet)
		return;
	putchar('\n');
	json_array_foreach(b->results, i, o)
		print_remark(o);
}

static int view_json(FILE *f, const void *ctx)
{
	const struct beside_vm *b = ctx;
	json_t *o;
	size_t i;
	int err = 0;

	json_array_foreach(b->results, i, o)
		if (!err)
			err = json_line_put(f, json_incref(o));
	return err;
}

static int write_views(const struct beside_vm *b, struct errline *e)
{
	int err = 0;

	if (!b->opts->json || strcmp(b->opts->json, "-")) {
		print_table(b);
		err = output_flush_stdout(e);
	}
	return err ? err : output_view(b->opts->json, view_json, b, e);
}

int cmd_run_beside_vm(const struct opts *opts)
{
	struct beside_vm b = {
		.opts = opts,
		.command = opts->args + opts->nr_bench_args,
		.nr_command = opts->nr_args - opts->nr_bench_args,
		.results = json_array(),
	};
	struct errline e = { "" };
	int status = EXIT_OK;
	int err = b.results ? check(&b, &e) : errline_set(&e, -ENOMEM, "out of memory");

	if (!err)
		err = run_all(&b, &status, &e);
	if (!err && !status && !opts->print_command)
		err = write_views(&b, &e);
	json_decref(b.results);
	return command_end(err, status, &e);
}
