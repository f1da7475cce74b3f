// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab list`: the benches, what one event is, what is subtracted, where they run. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cmd/guests.h"
#include "commands.h"
#include "registry.h"
#include "target.h"
#include "util/output.h"

enum listed {
	LIST_ALL,
	LIST_WITHOUT_BPF, /* of a target that does not work: what runs wherever the process does */
	LIST_NATIVE,
};

static bool is_listed(const struct bench *bench, enum listed listed)
{
	if (listed == LIST_NATIVE)
		return bench_is_native(bench);
	return listed == LIST_ALL || !(bench->flags & BENCH_NEEDS_BPF);
}

static bool runs_on(const struct bench *bench, const struct target_kind *kind)
{
	return kind != &target_kind_native || bench_is_native(bench);
}

/* What says how many operations a trigger runs, or NULL. */
static const char *batch_option(const struct bench *bench)
{
	if (bench->flags & BENCH_HAS_BATCH_ITERS)
		return "nr-batch-iters";
	return bench->flags & BENCH_HAS_TRIGGER ? "trig-batch-iters" : NULL;
}

static json_t *params_json(const struct bench *bench)
{
	json_t *list = json_array();

	if (bench->flags & BENCH_HAS_NR_LOOPS)
		json_array_append_new(list, json_string("nr_loops"));
	if (bench->flags & BENCH_HAS_PROGRAMS)
		json_array_append_new(list, json_string("programs"));
	if (bench->flags & BENCH_HAS_PRODUCERS)
		json_array_append_new(list, json_string("p"));
	if (batch_option(bench))
		json_array_append_new(list, json_string(batch_option(bench)));
	if (bench->flags & BENCH_HAS_STACKTRACE)
		json_array_append_new(list, json_string("stacktrace"));
	return list;
}

static int print_json(enum listed listed)
{
	json_t *list = json_array();
	int err;

	for (size_t i = 0; registry_get(i); i++) {
		const struct bench *bench = registry_get(i);
		json_t *targets = json_array();

		for (size_t k = 0; target_kind_get(k); k++)
			if (runs_on(bench, target_kind_get(k)))
				json_array_append_new(targets, json_string(target_kind_get(k)->name));
		json_t *row = json_pack("{s:s, s:s, s:s, s:o, s:o, s:b, s:b}", "name", bench->name,
					"event", bench->event, "subtracted", bench->null_is, "params",
					params_json(bench), "targets", targets, "bpf",
					(bench->flags & BENCH_NEEDS_BPF) != 0, "quick",
					registry_is_quick(i));
		if (is_listed(bench, listed))
			json_array_append_new(list, row);
		else
			json_decref(row);
	}
	err = json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
	return err;
}

static void print_table(enum listed listed)
{
	for (size_t i = 0; registry_get(i); i++) {
		const struct bench *bench = registry_get(i);

		if (!is_listed(bench, listed))
			continue;
		printf("%-16s  one event: %s\n", bench->name, bench->event);
		printf("%-16s  subtracted: %s\n", "", bench->null_is);
		printf("%-16s  runs on:", "");
		for (size_t k = 0; target_kind_get(k); k++)
			if (runs_on(bench, target_kind_get(k)))
				printf("%s %s", k ? "," : "", target_kind_get(k)->name);
		if (bench->flags & BENCH_HAS_NR_LOOPS)
			printf("; takes --nr_loops");
		if (batch_option(bench))
			printf("; takes --%s", batch_option(bench));
		if (bench->flags & BENCH_HAS_PROGRAMS)
			printf("; takes --programs");
		if (bench->flags & BENCH_HAS_STACKTRACE)
			printf("; takes --stacktrace");
		printf("%s\n", registry_is_quick(i) ? "; in the quick suite" : "");
	}
}

/* --on TARGET: 0 if all is well; *@listed: what it leaves. */
static int check_target(const struct opts *opts, enum listed *listed, struct errline *e)
{
	struct target target;
	struct errline why;
	int err;

	*listed = LIST_ALL;
	if (!opts->on.nr)
		return 0;
	if (opts->on.nr > 1)
		return errline_set(e, -1, "list takes one target, not '%s' and '%s'", opts->on.items[0],
				   opts->on.items[1]);
	err = target_parse(&target, opts->on.items[0], e);
	if (err)
		return err;
	if (target_is_native(&target)) {
		*listed = LIST_NATIVE;
		return 0;
	}
	if (!target_probe(&target, &why))
		return 0;
	*listed = LIST_WITHOUT_BPF;
	fprintf(stderr, "bpflab: on '%s' only benches without BPF run: %s\n", target.spec,
			why.text);
	return 0;
}

int cmd_list(const struct opts *opts)
{
	struct errline e;
	enum listed listed;
	int err = 0;

	/* `run -l BENCH` may name one; `list` has no use for names. */
	if (opts->command == CMD_LIST && opts->nr_args) {
		errline_set(&e, -1, "list takes no names, and got '%s'", opts->args[0]);
		print_error(&e);
		return EXIT_USAGE;
	}
	if (opts->command == CMD_LIST && guests_wanted(&opts->on))
		return guests_pass_on(opts);
	err = check_target(opts, &listed, &e);
	if (!err && opts->json_stdout)
		print_json(listed);
	else if (!err)
		print_table(listed);
	if (!err)
		err = output_flush_stdout(&e);
	if (!err)
		return EXIT_OK;
	print_error(&e);
	return EXIT_USAGE;
}
