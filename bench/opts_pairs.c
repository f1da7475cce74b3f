// SPDX-License-Identifier: BSD-2-Clause
#include "opts_pairs.h"

#include <errno.h>
#include <string.h>

#include "result/record.h"

static bool is_guest(const char *target)
{
	return !strcmp(target, "vm") || !strncmp(target, "vm:", 3);
}

static bool has_guest(const struct opts_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		if (is_guest(list->items[i]))
			return true;
	return false;
}

/* Whether a guest may be booted. */
static bool boots(const struct opts *opts)
{
	if (opts->command & (CMD_KERNEL | CMD_BISECT) || has_guest(&opts->on) || has_guest(&opts->diff))
		return true;
	for (size_t i = 0; opts->command == CMD_COMPARE && i < opts->nr_bench_args && i < 2; i++)
		if (is_guest(opts->args[i]))
			return true;
	return false;
}

static bool is_verb(const struct opts *opts, unsigned int command, const char *verb)
{
	return opts->command != command || (opts->nr_args && !strcmp(opts->args[0], verb));
}

/* A command line with two result files has counts if the files do. */
static bool counts(const struct opts *opts)
{
	return opts->command == CMD_BISECT || opts->count || opts->counts ||
	       (opts->command == CMD_COMPARE && opts->nr_args && records_is_file(opts->args[0]));
}

/* Two files of results, which are compared as they are. */
static bool compares_files(const struct opts *opts)
{
	return opts->command == CMD_COMPARE && !opts->count && opts->nr_args >= 2 &&
	       records_is_file(opts->args[0]) && records_is_file(opts->args[1]);
}

static const char *affinity_name(const struct opts *opts)
{
	return opts->has_prod_cpus ? "prod-affinity" : CPU_COUNT(&opts->cons_cpus) ? "cons-affinity" : "affinity";
}

/* What says how benches are measured, for commands that then measure none, or something else. */
static int check_measuring(const struct opts *opts, struct errline *e)
{
	enum { BESIDE = 1, FILES = 2, HISTORY = 4 };
	const struct {
		const char *name;
		bool given;
		unsigned int useless;
	} rows[] = {
		{ "duration", opts->duration > 0, BESIDE | FILES | HISTORY },
		{ "warmup", opts->warmup >= 0, BESIDE | FILES | HISTORY },
		{ affinity_name(opts), opts->affinity, BESIDE | FILES | HISTORY },
		{ "nr_loops", opts->nr_loops, BESIDE | FILES | HISTORY },
		{ "trig-batch-iters", opts->trig_batch_iters, BESIDE | FILES | HISTORY },
		{ "nr-batch-iters", opts->nr_batch_iters, BESIDE | FILES | HISTORY },
		{ "programs", opts->programs, FILES | HISTORY },
		{ "producers", opts->producers, FILES | HISTORY },
		{ "sweep", opts->sweep.nr, FILES | HISTORY },
		{ "seed", opts->has_seed, FILES | HISTORY },
		{ "no-control", opts->no_control, FILES | HISTORY },
		{ "on", opts->on.nr, HISTORY },
		{ "quads", opts->quads, HISTORY },
		{ "quick", opts->quick, HISTORY },
		{ "rigorous", opts->rigorous, HISTORY },
		{ "loads", opts->loads, HISTORY },
		{ "margin", opts->margin > 0, HISTORY },
		{ "fail-above", opts->fail_above >= 0, HISTORY },
		{ "strict", opts->strict, HISTORY },
		{ "why", opts->why, HISTORY },
		{ "i-know", opts->i_know, FILES },
		{ "keep-going", opts->keep_going, BESIDE },
		{ "consumers", opts->consumers, BESIDE },
		{ "markdown", opts->markdown, BESIDE },
		{ "text", opts->text, BESIDE },
		{ "benchfmt", opts->benchfmt, BESIDE },
	};
	const bool beside = opts->command == CMD_RUN && opts->has_instances && !opts->count;
	const bool history = opts->command == CMD_HISTORY && opts->nr_args && !is_verb(opts, CMD_HISTORY, "gate");
	const unsigned int is = (beside ? BESIDE : 0) | (compares_files(opts) ? FILES : 0) | (history ? HISTORY : 0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && rows[i].useless & is)
			return errline_set(e, -EINVAL, "%s: leave out --%s",
					   beside ? "--instances measures a command" :
					   history ? "only history gate measures" : "result files are not measured",
					   rows[i].name);
	return 0;
}

int opts_check_pairs(const struct opts *opts, struct errline *e)
{
	const bool guest = boots(opts);
	const struct {
		const char *name;
		bool given, fits;
		const char *with;
	} pairs[] = {
		{ "runs", opts->runs, counts(opts), "goes with --count=insns; -d and --rounds say how long time is measured" },
		{ "ascii", opts->ascii, opts->markdown || opts->text, "goes with --markdown or --text" },
		{ "timeout", opts->timeout > 0, guest || counts(opts), "goes with a target vm:KERNEL or with --count=insns" },
		{ "qemu-args", opts->qemu_args, guest, "goes with a target vm:KERNEL" },
		{ "print-command", opts->print_command, guest, "goes with a target vm:KERNEL" },
		{ "modules", opts->modules, is_verb(opts, CMD_KERNEL, "add"), "is for bpflab kernel add" },
		{ "config", opts->config, is_verb(opts, CMD_KERNEL, "add"), "is for bpflab kernel add" },
		{ "mirror", opts->mirror, is_verb(opts, CMD_KERNEL, "fetch"), "is for bpflab kernel fetch" },
		{ "file", opts->files.nr, is_verb(opts, CMD_KERNEL, "exec"), "is for bpflab kernel exec" },
		{ "json", opts->json, opts->command != CMD_HISTORY || is_verb(opts, CMD_HISTORY, "show") ||
			  is_verb(opts, CMD_HISTORY, "gate"), "is for bpflab history show and gate" },
		{ "keep", opts->keep, is_verb(opts, CMD_HISTORY, "prune"), "is for bpflab history prune" },
		{ "older-than", opts->days, is_verb(opts, CMD_HISTORY, "prune"), "is for bpflab history prune" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i].given && !pairs[i].fits)
			return errline_set(e, -EINVAL, "--%s %s", pairs[i].name, pairs[i].with);
	return check_measuring(opts, e);
}
