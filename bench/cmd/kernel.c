// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab kernel`: the store of kernels for the target vm, and what these can do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/guests.h"
#include "commands.h"
#include "target.h"
#include "util/json_line.h"
#include "util/output.h"
#include "util/suggest.h"
#include "vm/abilities.h"
#include "vm/boot.h"
#include "vm/fetch.h"
#include "vm/guest.h"
#include "vm/store.h"
#include "vm/unpack.h"

#define IMAGE_MAX (1u << 30)

/* NAME[,arch=…] in @text. */
static int parse_kernel(struct target *t, const char *text, struct errline *e)
{
	memset(t, 0, sizeof(*t));
	if (!strncmp(text, "vm:", 3))
		text += 3;
	snprintf(t->spec, sizeof(t->spec), "vm:%.200s", text);
	t->kind = &target_kind_vm;
	return target_vm_parse(t, text, e);
}

static int find_kernel(const char *text, struct target *t, struct kernel *k, struct errline *e)
{
	int err = parse_kernel(t, text, e);

	return err ? err : store_find(k, t->vm.version, t->vm.machine, e);
}

static void print_size(char *buf, size_t size, uint64_t bytes)
{
	snprintf(buf, size, "%.1f MB", (double)bytes / 1e6);
}

/* -------------------------------------------------------------- fetch, add, remove */

static int fetch(const struct opts *opts, struct errline *e)
{
	struct target t;
	struct kernel k;
	char size[32];
	int err = parse_kernel(&t, opts->args[1], e);
	const struct fetch_request r = { .line = t.vm.version, .machine = t.vm.machine,
					 .mirror = opts->mirror, .quiet = opts->quiet };

	if (!err && (t.vm.version[0] < '0' || t.vm.version[0] > '9'))
		err = errline_set(e, -EINVAL, "'%s' is no version, as in bpflab kernel fetch 6.12",
				  t.vm.version);
	if (!err)
		err = fetch_kernel(&r, &k, e);
	if (err)
		return err;
	print_size(size, sizeof(size), k.bytes);
	printf("%s %s %s  %s\n", k.name, k.machine->name, size, k.package);
	return 0;
}

static int fill_stage(struct store_stage *s, const struct opts *opts, struct errline *e)
{
	char path[4200];
	int err;

	snprintf(path, sizeof(path), "%s/vmlinuz", s->dir);
	err = kernel_copy_file(opts->args[2], path, e);
	snprintf(path, sizeof(path), "%s/config", s->dir);
	if (!err && opts->config)
		err = kernel_copy_file(opts->config, path, e);
	snprintf(path, sizeof(path), "%s/modules", s->dir);
	if (!err && opts->modules)
		err = kernel_copy_modules(opts->modules, path, e);
	return err;
}

static int add(const struct opts *opts, struct errline *e)
{
	const struct machine_kind *machine;
	struct store_stage s = { .lock = -1 };
	const char *what;
	struct target t;
	size_t len;
	void *image;
	int err = parse_kernel(&t, opts->args[1], e);

	if (!err)
		err = unpack_read(opts->args[2], IMAGE_MAX, &image, &len, e);
	if (err)
		return err;
	machine = machine_of_image(image, len, &what);
	free(image);
	if (!machine)
		return errline_set(e, -EINVAL, "'%s' is %s; a bzImage of x86-64 or an Image of arm64 is wanted",
				   opts->args[2], what);
	err = store_stage_begin(&s, e);
	if (!err)
		err = fill_stage(&s, opts, e);
	if (!err)
		err = store_stage_commit(&s, t.vm.version, machine, "", e);
	store_stage_end(&s);
	if (!err)
		printf("%s %s\n", t.vm.version, machine->name);
	return err;
}

static int take_away(const struct opts *opts, struct errline *e)
{
	struct target t;
	struct kernel k;
	int err = find_kernel(opts->args[1], &t, &k, e);

	if (!err && strcmp(k.name, t.vm.version))
		return errline_set(e, -EINVAL, "'%s' is not a kernel's full name; the newest of it is '%s'",
				   t.vm.version, k.name);
	return err ? err : store_remove(&k, e);
}

/* -------------------------------------------------------------- show */

static int ask_guest(const struct opts *opts, const struct target *t, const struct kernel *k, json_t **answer,
		     struct errline *e)
{
	const char *const argv[] = { "/init", "kernel", "show", "here", "--json", NULL };
	struct guest g = { .label = t->spec, .spec = &t->vm, .argv = argv };
	json_error_t why;
	int err = guests_run_for(opts, &g, 1, false, e);

	*answer = NULL;
	if (!err && !opts->print_command) {
		*answer = json_loads(g.out.text ?: "", 0, &why);
		if (!json_is_object(json_object_get(*answer, "abilities")))
			err = errline_set(e, -EPROTO, "%s: its answer is no JSON: %s", t->spec, why.text);
		else
			err = abilities_save(k, *answer, e);
	}
	guest_release(&g);
	return err;
}

static void print_abilities(const json_t *answer)
{
	json_t *all = json_object_get(answer, "abilities"), *value;
	const char *name;

	printf("%s, %s\n", json_string_value(json_object_get(answer, "release")) ?: "?",
	       json_string_value(json_object_get(answer, "arch")) ?: "?");
	json_object_foreach(all, name, value)
		printf("  %-16s %s\n", name, json_is_true(value) ? "yes" : json_string_value(value) ?: "?");
}

static int show(const struct opts *opts, struct errline *e)
{
	json_t *answer = NULL;
	struct target t;
	struct kernel k;
	int err = 0;

	if (!strcmp(opts->args[1], "here")) {
		answer = abilities_ask();
	} else {
		err = find_kernel(opts->args[1], &t, &k, e);
		if (!err && !opts->print_command)
			answer = abilities_load(&k);
		if (!err && !answer)
			err = ask_guest(opts, &t, &k, &answer, e);
	}
	if (!err && !answer && !opts->print_command)
		err = errline_set(e, -ENOMEM, "out of memory");
	if (!err && answer && opts->json_stdout)
		err = json_line_put(stdout, json_incref(answer));
	else if (!err && answer)
		print_abilities(answer);
	json_decref(answer);
	return err;
}

/* -------------------------------------------------------------- list */

/* What is missing, of a kernel that was asked. */
static void summary(const struct kernel *k, char *buf, size_t size)
{
	json_t *answer = abilities_load(k), *value;
	const char *name;
	size_t len = 0;

	if (!answer) {
		snprintf(buf, size, "not asked yet: bpflab kernel show %s%s%s", k->name,
			 k->machine == machine_native() ? "" : ",arch=",
			 k->machine == machine_native() ? "" : k->machine->name);
		return;
	}
	json_object_foreach(json_object_get(answer, "abilities"), name, value)
		if (!json_is_true(value) && len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s %s", len ? "," : "all but", name);
	if (!len)
		snprintf(buf, size, "all of it");
	json_decref(answer);
}

static int list_json(const struct kernel_list *list)
{
	json_t *all = json_array();
	int err;

	for (size_t i = 0; i < list->nr; i++) {
		const struct kernel *k = &list->items[i];
		json_t *answer = abilities_load(k);

		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:I, s:O?}", "name", k->name, "arch",
						     k->machine->name, "package", k->package, "dir", k->dir,
						     "bytes", (json_int_t)k->bytes, "abilities",
						     json_object_get(answer, "abilities")));
		json_decref(answer);
	}
	err = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return err ? -EIO : 0;
}

static int list_kernels(const struct opts *opts, struct errline *e)
{
	struct kernel_list list;
	int err = store_list(&list, e);

	if (err)
		return err;
	if (opts->json_stdout)
		err = list_json(&list);
	for (size_t i = 0; i < list.nr && !opts->json_stdout; i++) {
		const struct kernel *k = &list.items[i];
		char size[32], text[400];

		print_size(size, sizeof(size), k->bytes);
		summary(k, text, sizeof(text));
		printf("%-16s %-7s %9s  %s\n", k->name, k->machine->name, size, text);
	}
	if (!list.nr && !opts->json_stdout)
		fprintf(stderr, "bpflab: no kernels are here yet; bpflab kernel fetch 6.12 fetches one\n");
	store_list_release(&list);
	return err ? errline_set(e, err, "cannot write the list") : 0;
}

/* -------------------------------------------------------------- exec */

static int exec_in_guest(const struct opts *opts, int *status, struct errline *e)
{
	struct initrd_file files[OPTS_MAX_LIST + 1];
	char names[OPTS_MAX_LIST][256], program[300];
	const char *argv[256], *slash;
	struct guest g = { .argv = argv, .files = files, .nr_files = 1 };
	size_t first = opts->nr_bench_args, nr = 0;
	struct target t;
	int err = parse_kernel(&t, opts->args[1], e);

	if (err)
		return err;
	if (opts->nr_args == first || first != 2)
		return errline_set(e, -EINVAL, "exec takes a kernel, '--' and a program, as in bpflab kernel exec 6.12 "
				   "-- ./prog");
	slash = strrchr(opts->args[first], '/');
	files[0] = (struct initrd_file){ opts->args[first], slash ? slash + 1 : opts->args[first] };
	snprintf(program, sizeof(program), "/" GUEST_FILES "/%.200s", files[0].name);
	argv[nr++] = program;
	for (size_t i = first + 1; i < opts->nr_args && nr < 255; i++)
		argv[nr++] = opts->args[i];
	argv[nr] = NULL;
	for (size_t i = 0; i < opts->files.nr; i++) {
		const char *path = opts->files.items[i], *eq = strrchr(path, '='), *base = strrchr(path, '/');

		snprintf(names[i], sizeof(names[i]), "%s", eq ? eq + 1 : base ? base + 1 : path);
		files[g.nr_files++].name = names[i];
		files[g.nr_files - 1].path = eq ? strndup(path, (size_t)(eq - path)) : strdup(path);
	}
	g.label = t.spec;
	g.spec = &t.vm;
	err = guests_run_for(opts, &g, 1, true, e);
	*status = g.status;
	for (size_t i = 1; i < g.nr_files; i++)
		free((char *)files[i].path);
	guest_release(&g);
	return err;
}

/* -------------------------------------------------------------- the command line */

enum verb { FETCH, LIST, ADD, REMOVE, SHOW, EXEC, NR_VERBS };

static const struct {
	const char *name;
	size_t words; /* behind it */
	const char *takes;
} verbs[NR_VERBS] = {
	[FETCH] = { "fetch", 1, "a version, as in bpflab kernel fetch 6.12,arch=arm64" },
	[LIST] = { "list", 0, "nothing" },
	[ADD] = { "add", 2, "a name and an image, as in bpflab kernel add mine arch/x86/boot/bzImage" },
	[REMOVE] = { "remove", 1, "a kernel; bpflab kernel list shows which are here" },
	[SHOW] = { "show", 1, "a kernel, or 'here' for the running one" },
	[EXEC] = { "exec", 1, "a kernel, as in bpflab kernel exec 6.12 -- ./prog" },
};

static int find_verb(const struct opts *opts, struct errline *e)
{
	char hint[96];
	struct suggest s;

	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "kernel what? fetch, list, add, remove, show or exec (bpflab help "
				   "kernel)");
	suggest_init(&s, opts->args[0]);
	for (int i = 0; i < NR_VERBS; i++) {
		suggest_offer(&s, verbs[i].name);
		if (strcmp(opts->args[0], verbs[i].name))
			continue;
		if (i != EXEC && opts->nr_args != verbs[i].words + 1)
			return errline_set(e, -EINVAL, "kernel %s takes %s", verbs[i].name, verbs[i].takes);
		if (i == EXEC && opts->nr_args < 2)
			return errline_set(e, -EINVAL, "kernel exec takes %s", verbs[i].takes);
		return i;
	}
	return errline_set(e, -EINVAL, "kernel: no '%s'%s (fetch, list, add, remove, show, exec)", opts->args[0],
			   suggest_text(&s, hint, sizeof(hint)));
}

int cmd_kernel(const struct opts *opts)
{
	struct errline e = { "" };
	int verb = find_verb(opts, &e), status = EXIT_OK;
	int err = verb < 0 ? verb : 0;

	if (verb == FETCH)
		err = fetch(opts, &e);
	else if (verb == LIST)
		err = list_kernels(opts, &e);
	else if (verb == ADD)
		err = add(opts, &e);
	else if (verb == REMOVE)
		err = take_away(opts, &e);
	else if (verb == SHOW)
		err = show(opts, &e);
	else if (verb == EXEC)
		err = exec_in_guest(opts, &status, &e);
	if (!err)
		err = output_flush_stdout(&e);
	return command_end(err, status, &e);
}
