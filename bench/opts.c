// SPDX-License-Identifier: BSD-2-Clause
/* Commands and options as tables, and the parser that reads them. */
#include "opts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/suggest.h"

#define MAX_NR_LOOPS (1u << 22) /* half of BPF_MAX_LOOPS: a loop of twice as many is run, too */
#define MAX_BATCH_ITERS (1u << 20)
#define MAX_PRODUCERS 1024
#define MAX_SECONDS 86400.0

struct opt_row;
typedef int (*opt_parser)(struct opts *opts, const struct opt_row *row, const char *value);

struct opt_row {
	char letter;
	const char *name;
	const char *arg; /* NULL: takes no value */
	const char *help;
	const char *expects; /* what a value must be, for the error line */
	unsigned int commands;
	opt_parser parse;
	size_t offset;
	uint64_t min, max;
	unsigned int nr_values; /* 0: one, if it takes any */
};

static const struct {
	const char *name;
	enum command command;
	const char *args;
	const char *help;
} command_table[] = {
	{ "list", CMD_LIST, "", "every bench: what one event is, and where it runs" },
	{ "run", CMD_RUN, "[BENCH | GLOB | PROG.bpf.o[:PROGRAM]]...",
	  "measure; without a name: the quick suite on every target that works" },
	{ "compare", CMD_COMPARE, "A B [BENCH | GLOB]...",
	  "is B faster than A? two targets, two object files, or two result files" },
	{ "dump", CMD_DUMP, "BENCH | PROG.bpf.o [PROGRAM]",
	  "the code a program became, or the difference of two" },
	{ "verify", CMD_VERIFY, "PROG.bpf.o[:PROGRAM]...",
	  "what the verifier of each target says of programs" },
	{ "profile", CMD_PROFILE, "BENCH | GLOB...",
	  "where the time goes: programs, trampolines, helpers; or where two targets differ" },
	{ "noise", CMD_NOISE, "[BENCH | GLOB]...",
	  "the smallest difference this machine can show in 1, 10 and 60 seconds" },
	{ "report", CMD_REPORT, "FILE...", "a page with plots, or another form, of stored results" },
	{ "history", CMD_HISTORY, "add FILE... | show [BENCH | GLOB]... | gate A B [BENCH | GLOB]... | prune",
	  "results over time" },
	{ "windows", CMD_WINDOWS, "BENCH | GLOB | PROG.bpf.o[:PROGRAM]...",
	  "run batches between marks, for an emulator that counts (what --count starts)" },
	{ "bisect", CMD_BISECT, "--good KERNEL --bad KERNEL BENCH | --run BENCH IMAGE",
	  "the kernel in which a bench became dearer, by counted instructions" },
	{ "kernel", CMD_KERNEL, "fetch VERSION | list | add NAME VMLINUZ | remove NAME | show NAME | exec NAME -- "
	  "PROGRAM...", "kernels for the target vm" },
	{ "doctor", CMD_DOCTOR, "", "which targets work here, and what would distort figures" },
	{ "help", CMD_HELP, "[COMMAND]", "this text" },
};

int opts_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t scale = 1;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, hex ? 16 : 10);
	if (*end == 'k' || *end == 'M' || *end == 'G') {
		scale = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : 1000000000;
		end++;
	}
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || (v && scale > UINT64_MAX / v) || v * scale < min || v * scale > max)
		return -ERANGE;
	*value = v * scale;
	return 0;
}

int opts_parse_cpus(const char *text, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (;;) {
		size_t len = strcspn(text, ",");
		const char *dash = memchr(text, '-', len);
		char word[32];
		uint64_t lo, hi;

		if (!len || len >= sizeof(word))
			return -EINVAL;
		snprintf(word, sizeof(word), "%.*s", (int)(dash ? dash - text : (long)len), text);
		if (opts_parse_u64(word, 0, CPU_SETSIZE - 1, &lo))
			return -EINVAL;
		hi = lo;
		if (dash) {
			snprintf(word, sizeof(word), "%.*s", (int)(text + len - dash - 1), dash + 1);
			if (opts_parse_u64(word, lo, CPU_SETSIZE - 1, &hi))
				return -EINVAL;
		}
		for (uint64_t cpu = lo; cpu <= hi; cpu++)
			CPU_SET(cpu, set);
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static void *field(struct opts *opts, const struct opt_row *row)
{
	return (char *)opts + row->offset;
}

static int parse_flag(struct opts *opts, const struct opt_row *row, const char *value)
{
	*(bool *)field(opts, row) = true;
	return 0;
}

static int parse_string(struct opts *opts, const struct opt_row *row, const char *value)
{
	if (!*value)
		return -EINVAL;
	*(const char **)field(opts, row) = value;
	return 0;
}

static int parse_arch(struct opts *opts, const struct opt_row *row, const char *value)
{
	static const char *const names[] = { "x86_64", "x86", "aarch64", "arm64" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i]))
			return parse_string(opts, row, value);
	return -EINVAL;
}

static int parse_count(struct opts *opts, const struct opt_row *row, const char *value)
{
	return strcmp(value, "insns") ? -EINVAL : parse_flag(opts, row, value);
}

static int parse_u32(struct opts *opts, const struct opt_row *row, const char *value)
{
	uint64_t v;
	int err = opts_parse_u64(value, row->min, row->max, &v);

	if (!err)
		*(uint32_t *)field(opts, row) = (uint32_t)v;
	return err;
}

static int parse_u64(struct opts *opts, const struct opt_row *row, const char *value)
{
	return opts_parse_u64(value, row->min, row->max, field(opts, row));
}

static int parse_seed(struct opts *opts, const struct opt_row *row, const char *value)
{
	opts->has_seed = true;
	return parse_u64(opts, row, value);
}

static int parse_instances(struct opts *opts, const struct opt_row *row, const char *value)
{
	opts->has_instances = true;
	return parse_u32(opts, row, value);
}

/* @row->min is 1 if 0 s makes no sense. */
static int parse_seconds(struct opts *opts, const struct opt_row *row, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || *end || !isfinite(v))
		return -EINVAL;
	if (v < 0 || (row->min && v <= 0) || v > MAX_SECONDS)
		return -ERANGE;
	*(double *)field(opts, row) = v;
	return 0;
}

/* Percent, with or without the sign; stored as a share. */
static int parse_percent(struct opts *opts, const struct opt_row *row, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "%")) || !isfinite(v))
		return -EINVAL;
	if (v < 0 || (row->min && v <= 0) || v > (double)row->max)
		return -ERANGE;
	*(double *)field(opts, row) = v / 100;
	return 0;
}

static int parse_list(struct opts *opts, const struct opt_row *row, const char *value)
{
	struct opts_list *list = field(opts, row);

	if (!*value || list->nr == OPTS_MAX_LIST)
		return -EINVAL;
	list->items[list->nr++] = value;
	return 0;
}

static int parse_prod_cpus(struct opts *opts, const struct opt_row *row, const char *value)
{
	opts->affinity = true;
	opts->has_prod_cpus = true;
	return opts_parse_cpus(value, &opts->prod_cpus);
}

static int parse_cons_cpus(struct opts *opts, const struct opt_row *row, const char *value)
{
	opts->affinity = true;
	return opts_parse_cpus(value, &opts->cons_cpus);
}

/* Commands that run benches; a gate of the history does. */
#define CMD_MEASURE (CMD_RUN | CMD_COMPARE | CMD_NOISE | CMD_HISTORY)
/* Commands whose benches take parameters. */
#define CMD_PARAMS (CMD_MEASURE | CMD_WINDOWS | CMD_PROFILE | CMD_BISECT)
/* Commands that compare; a gate of the history does. */
#define CMD_SIDES (CMD_COMPARE | CMD_HISTORY)
/* All but help. */
#define CMD_ANY (CMD_PARAMS | CMD_LIST | CMD_DOCTOR | CMD_DUMP | CMD_REPORT | CMD_KERNEL | CMD_VERIFY)
/* Commands that can boot guests. */
#define CMD_GUEST (CMD_RUN | CMD_COMPARE | CMD_LIST | CMD_DUMP | CMD_KERNEL | CMD_PROFILE | CMD_VERIFY)

#define AT(member) offsetof(struct opts, member)

/* clang-format off */
static const struct opt_row option_table[] = {
	{ 0, "on", "TARGET", "where to run: user, host, user:jit=off, vm:6.12 (repeatable)",
	  "a target, such as user, host or user:jit=off", CMD_RUN | CMD_LIST | CMD_NOISE | CMD_WINDOWS | CMD_PROFILE | CMD_VERIFY,
	  parse_list,
	  AT(on) },
	{ 0, "on", "TARGET", "where to load (user; repeatable)",
	  "a target, such as user, host or user:jit=off", CMD_DUMP, parse_list, AT(on) },
	{ 0, "on", "TARGET", "where to compare two object files (user)",
	  "a target, such as user, host or user:jit=off", CMD_SIDES, parse_list, AT(on) },
	{ 0, "xlated", NULL, "BPF instructions as the verifier left them (the default)", NULL, CMD_DUMP,
	  parse_flag, AT(xlated) },
	{ 0, "jited", NULL, "machine code", NULL, CMD_DUMP | CMD_WINDOWS, parse_flag, AT(jited) },
	{ 0, "counts", NULL, "machine code, and how often each instruction is executed per event",
	  NULL, CMD_DUMP, parse_flag, AT(counts) },
	{ 0, "arch", "ARCH", "machine code for x86_64 or arm64, whatever this machine is",
	  "x86_64 or arm64", CMD_DUMP, parse_arch, AT(arch) },
	{ 0, "diff", "A B", "the difference of two targets, or of two object files",
	  "two targets or two object files", CMD_DUMP, parse_list, AT(diff), 0, 0, 2 },
	{ 0, "diff", "A B", "where two targets differ", "two targets", CMD_PROFILE, parse_list, AT(diff),
	  0, 0, 2 },
	{ 0, "bytes", NULL, "also the bytes of each instruction", NULL, CMD_DUMP, parse_flag,
	  AT(bytes) },
	{ 0, "no-source", NULL, "without source lines", NULL, CMD_DUMP, parse_flag, AT(no_source) },
	{ 'd', "duration", "SEC", "length of the whole run (10); with --classic, of each bench (5)",
	  "a number of seconds above 0", CMD_RUN, parse_seconds, AT(duration), 1 },
	{ 'd', "duration", "SEC", "stop after this long, decided or not (no limit)",
	  "a number of seconds above 0", CMD_SIDES, parse_seconds, AT(duration), 1 },
	{ 'd', "duration", "SEC", "length for each bench and target (5)",
	  "a number of seconds above 0", CMD_NOISE | CMD_PROFILE, parse_seconds, AT(duration), 1 },
	{ 'w', "warmup", "SEC", "longest warm-up of each bench (1)",
	  "a number of seconds", CMD_MEASURE, parse_seconds, AT(warmup) },
	{ 0, "quads", "N", "exactly N quads of each bench (looks at 40, 80, 160, 320)",
	  "a whole number from 6 to 1000000", CMD_SIDES, parse_u32, AT(quads), 6, 1000000 },
	{ 0, "quick", NULL, "the same as --quads 40", NULL, CMD_SIDES, parse_flag, AT(quick) },
	{ 0, "rigorous", NULL, "the same as --quads 320 --loads 10", NULL, CMD_SIDES, parse_flag,
	  AT(rigorous) },
	{ 0, "loads", "N", "times each program is loaded anew between two looks (5)",
	  "a whole number from 1 to 1000", CMD_SIDES, parse_u32, AT(loads), 1, 1000 },
	{ 0, "margin", "PERCENT", "differences below this do not matter (1.5)",
	  "a percentage above 0, up to 100", CMD_SIDES, parse_percent, AT(margin), 1, 100 },
	{ 0, "fail-above", "PERCENT", "exit 3 if B is slower by more, and a fresh run confirms it",
	  "a percentage from 0 to 10000", CMD_SIDES, parse_percent, AT(fail_above), 0, 10000 },
	{ 0, "strict", NULL, "exit 5 if anything is inconclusive", NULL, CMD_SIDES, parse_flag,
	  AT(strict) },
	{ 0, "why", NULL, "the difference of the code of A and B under each verdict", NULL, CMD_SIDES,
	  parse_flag, AT(why) },
	{ 0, "no-control", NULL, "do not measure A against itself as well", NULL, CMD_SIDES,
	  parse_flag, AT(no_control) },
	{ 0, "rounds", "N", "rounds of measurement, spread over the run (100)",
	  "a whole number from 1 to 1000000", CMD_RUN, parse_u32, AT(rounds), 1, 1000000 },
	{ 0, "rounds", "N", "times each window is run (1)",
	  "a whole number from 1 to 1000000", CMD_WINDOWS, parse_u32, AT(rounds), 1, 1000000 },
	{ 0, "good", "KERNEL", "the last kernel that is known to be good: a name, a version, an image", "a kernel",
	  CMD_BISECT, parse_string, AT(good) },
	{ 0, "bad", "KERNEL", "a later one that is known to be bad", "a kernel", CMD_BISECT, parse_string,
	  AT(bad) },
	{ 0, "kernels", "DIR", "the kernels to look at: images in a folder (those of bpflab kernel list)",
	  "a folder", CMD_BISECT, parse_string, AT(kernels) },
	{ 0, "order", "FILE", "their order: a name or image a line (by version)", "a file name", CMD_BISECT,
	  parse_string, AT(order) },
	{ 0, "above", "PERCENT", "what is dearer by no more is good (0: every instruction counts)",
	  "a percentage from 0 to 10000", CMD_BISECT, parse_percent, AT(above), 0, 10000 },
	{ 0, "cheaper", NULL, "look for the kernel in which the bench became cheaper", NULL, CMD_BISECT,
	  parse_flag, AT(cheaper) },
	{ 0, "run", NULL, "judge one kernel for git bisect run: exit 0 good, 1 bad, 125 skip, 128 and up: stop",
	  NULL, CMD_BISECT, parse_flag, AT(step) },
	{ 0, "good-value", "INSNS", "with --run: instructions per event of a good kernel", "a number, as in 339, "
	  "10.0312 or 321/32", CMD_BISECT, parse_string, AT(good_value) },
	{ 0, "baseline", "FILE", "with --run: the good kernel's result, of bpflab run --count=insns --json",
	  "a file name", CMD_BISECT, parse_string, AT(baseline) },
	{ 0, "vm", "OPTIONS", "how to boot kernels, as in arch=arm64,mem=1024", "options of the target vm",
	  CMD_BISECT, parse_string, AT(vm) },
	{ 0, "runs", "N", "boots of each kernel (2)", "a whole number from 1 to 1000", CMD_BISECT, parse_u32,
	  AT(runs), 1, 1000 },
	{ 0, "count", "insns", "count instructions under emulation instead of measuring time: exact",
	  "insns", CMD_RUN | CMD_COMPARE, parse_count, AT(count) },
	{ 0, "runs", "N", "with --count: processes that count, which have to agree (10)",
	  "a whole number from 1 to 1000", CMD_RUN | CMD_COMPARE, parse_u32, AT(runs), 1, 1000 },
	{ 0, "symbols", NULL, "with --count on a vm: the instructions of an event by function", NULL, CMD_RUN,
	  parse_flag, AT(symbols) },
	{ 0, "symbols", NULL, "on a kernel: where its functions lie", NULL, CMD_WINDOWS, parse_flag,
	  AT(symbols) },
	{ 'p', "producers", "N", "threads that run the bench at the same time (1)",
	  "a whole number from 1 to 1024", CMD_PARAMS & ~CMD_BISECT, parse_u32, AT(producers), 1, MAX_PRODUCERS },
	{ 'c', "consumers", "N", "consumer threads; these benches have none (0)",
	  "a whole number", CMD_RUN, parse_u32, AT(consumers), 0, MAX_PRODUCERS },
	{ 'a', "affinity", NULL, "pin each producer to a CPU, from CPU 0 on",
	  NULL, CMD_PARAMS & ~CMD_BISECT, parse_flag, AT(affinity) },
	{ 0, "prod-affinity", "CPUSET", "pin producers to these CPUs, as in 0-3,5; implies -a",
	  "a set of CPUs, as in 0-3,5", CMD_PARAMS & ~CMD_BISECT, parse_prod_cpus, 0 },
	{ 0, "cons-affinity", "CPUSET", "the same for consumers; implies -a",
	  "a set of CPUs, as in 0-3,5", CMD_MEASURE, parse_cons_cpus, 0 },
	{ 0, "nr_loops", "N", "iterations of one loop in the bpf-loop benches (10)",
	  "a whole number from 1 to 4194304", CMD_PARAMS, parse_u64, AT(nr_loops), 1, MAX_NR_LOOPS },
	{ 0, "trig-batch-iters", "N", "operations per trigger (the whole batch; with --classic, "
	  "the kernel's 100)", "a whole number from 1 to 1000", CMD_PARAMS, parse_u32,
	  AT(trig_batch_iters), 1, 1000 },
	{ 0, "nr-batch-iters", "N", "the same for the private-stack benches", "a whole number from 1 to "
	  "1048576", CMD_PARAMS, parse_u32, AT(nr_batch_iters), 1, MAX_BATCH_ITERS },
	{ 0, "programs", "N", "programs that prog-pack loads and runs (4096)",
	  "a whole number from 1 to 4096", CMD_PARAMS, parse_u32, AT(programs), 1, 4096 },
	{ 'g', "stacktrace", NULL, "the programs of the trig-* benches also take a stack trace", NULL, CMD_PARAMS,
	  parse_flag, AT(stacktrace) },
	{ 0, "instances", "K", "time the command after -- beside K processes that run programs",
	  "a whole number from 0 to 1000", CMD_RUN, parse_instances, AT(instances), 0, 1000 },
	{ 0, "prepare", "COMMAND", "with --instances: run this by sh before each run, untimed",
	  "a command", CMD_RUN, parse_string, AT(prepare) },
	{ 0, "sweep", "NAME=A,B,…", "run with each value of nr_loops, p, trig-batch-iters, "
	  "nr-batch-iters or programs (repeatable)", "NAME=A,B,…", CMD_PARAMS & ~CMD_BISECT, parse_list, AT(sweep) },
	{ 0, "seed", "N", "seed of all random orders", "a whole number", CMD_MEASURE, parse_seed,
	  AT(seed), 0, UINT64_MAX },
	{ 0, "json", "FILE", "results as JSON lines with all samples; '-': standard output",
	  "a file name, or -", CMD_MEASURE, parse_string, AT(json) },
	{ 0, "json", NULL, "as JSON", NULL, CMD_LIST | CMD_DOCTOR | CMD_DUMP | CMD_KERNEL | CMD_PROFILE | CMD_BISECT |
	  CMD_VERIFY,
	  parse_flag, AT(json_stdout) },
	{ 0, "csv", "FILE", "results as CSV; '-': standard output",
	  "a file name, or -", CMD_RUN | CMD_COMPARE | CMD_REPORT, parse_string, AT(csv) },
	{ 0, "markdown", "FILE", "results as Markdown; '-': standard output",
	  "a file name, or -", CMD_RUN | CMD_COMPARE | CMD_REPORT, parse_string, AT(markdown) },
	{ 0, "text", "FILE", "plain text of at most 72 columns, for a mail; '-': standard output",
	  "a file name, or -", CMD_RUN | CMD_COMPARE | CMD_REPORT, parse_string, AT(text) },
	{ 0, "benchfmt", "FILE", "Go's benchmark format, for benchstat; '-': standard output",
	  "a file name, or -", CMD_RUN | CMD_COMPARE | CMD_REPORT, parse_string, AT(benchfmt) },
	{ 0, "ascii", NULL, "nothing but ASCII in --markdown and --text",
	  NULL, CMD_RUN | CMD_COMPARE | CMD_REPORT, parse_flag, AT(ascii) },
	{ 0, "json", "FILE", "the results as JSON lines, imported ones, too; '-': standard output",
	  "a file name, or -", CMD_REPORT, parse_string, AT(json) },
	{ 0, "db", "FILE", "the history (bpflab/history.db in the user's data folder)", "a file name",
	  CMD_HISTORY, parse_string, AT(db) },
	{ 0, "keep", "N", "of prune: keep the newest N results of each series",
	  "a whole number from 1 to 1000000", CMD_HISTORY, parse_u32, AT(keep), 1, 1000000 },
	{ 0, "older-than", "DAYS", "of prune: remove what is older", "a whole number from 1 to 100000",
	  CMD_HISTORY, parse_u32, AT(days), 1, 100000 },
	{ 'o', "output", "FILE", "the page (bpflab-report.html); '-': standard output",
	  "a file name, or -", CMD_REPORT, parse_string, AT(output) },
	{ 0, "classic", NULL, "throughput in the words of the kernel's bench tool",
	  NULL, CMD_RUN, parse_flag, AT(classic) },
	{ 0, "modules", "DIR", "of add: where the kernel's modules are", "a folder", CMD_KERNEL,
	  parse_string, AT(modules) },
	{ 0, "modules", "DIR", "with --run: where the kernel's modules are", "a folder", CMD_BISECT,
	  parse_string, AT(modules) },
	{ 0, "config", "FILE", "of add: the kernel's configuration", "a file name", CMD_KERNEL,
	  parse_string, AT(config) },
	{ 0, "mirror", "URL", "of fetch: a mirror of Debian (the system's)", "an address", CMD_KERNEL,
	  parse_string, AT(mirror) },
	{ 0, "file", "PATH[=NAME]", "of exec: pack a file beside the program (repeatable)", "a file name",
	  CMD_KERNEL, parse_list, AT(files) },
	{ 0, "timeout", "SEC", "end guests that take longer (600 and ten times -d; when counting, 900)",
	  "a number of seconds above 0", CMD_GUEST | CMD_BISECT, parse_seconds, AT(timeout), 1 },
	{ 0, "qemu-args", "WORDS", "more words for QEMU, separated by blanks", "words for QEMU",
	  CMD_GUEST | CMD_BISECT,
	  parse_string, AT(qemu_args) },
	{ 0, "print-command", NULL, "print QEMU's command line and boot nothing", NULL, CMD_GUEST,
	  parse_flag, AT(print_command) },
	{ 0, "initrd", "FILE", "with --print-command: write the guest's files here", "a file name", CMD_GUEST,
	  parse_string, AT(initrd) },
	{ 0, "i-know", NULL, "put emulated times beside others, though they say little", NULL,
	  CMD_RUN | CMD_COMPARE, parse_flag, AT(i_know) },
	{ 'q', "quiet", NULL, "results only: no progress, remarks or per-second lines",
	  NULL, CMD_MEASURE | CMD_KERNEL | CMD_BISECT, parse_flag, AT(quiet) },
	{ 'v', "verbose", NULL, "show libbpf's and the verifier's log",
	  NULL, CMD_ANY, parse_flag, AT(verbose) },
	{ 0, "keep-going", NULL, "go on without benches that cannot be loaded", NULL,
	  CMD_RUN | CMD_WINDOWS, parse_flag, AT(keep_going) },
	{ 'l', "list", NULL, "list the benches and exit", NULL, CMD_RUN, parse_flag, AT(list) },
	{ 'h', "help", NULL, "help on the command", NULL,
	  CMD_ANY | CMD_HELP, parse_flag, AT(help) },
	{ 'V', "version", NULL, "version of bpflab", NULL,
	  CMD_ANY | CMD_HELP, parse_flag, AT(version) },
};
/* clang-format on */

#define NR_OPTIONS (sizeof(option_table) / sizeof(option_table[0]))
#define NR_COMMANDS (sizeof(command_table) / sizeof(command_table[0]))

static const char *command_name(unsigned int command)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (command_table[i].command & command)
			return command_table[i].name;
	return "";
}

static int unknown_option(unsigned int command, const char *word, struct errline *e)
{
	const struct opt_row *elsewhere = NULL;
	char hint[96];
	struct suggest s;

	suggest_init(&s, word);
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct opt_row *row = &option_table[i];

		if (!strcmp(row->name, word))
			elsewhere = row;
		else if (row->commands & command)
			suggest_offer(&s, row->name);
	}
	if (elsewhere)
		return errline_set(e, -EINVAL, "'%s' has no option --%s; '%s' has", command_name(command),
				   word, command_name(elsewhere->commands));
	suggest_text(&s, hint, sizeof(hint));
	if (s.best)
		snprintf(hint, sizeof(hint), "; did you mean '--%s'?", s.best);
	return errline_set(e, -EINVAL, "no option '--%s'%s (bpflab help %s)", word, hint,
			   command_name(command));
}

static const struct opt_row *find_long(unsigned int command, const char *word, size_t len)
{
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct opt_row *row = &option_table[i];

		if ((row->commands & command) && strlen(row->name) == len &&
		    !memcmp(row->name, word, len))
			return row;
	}
	return NULL;
}

static const struct opt_row *find_letter(unsigned int command, char letter)
{
	for (size_t i = 0; i < NR_OPTIONS; i++)
		if ((option_table[i].commands & command) && option_table[i].letter == letter)
			return &option_table[i];
	return NULL;
}

static int apply(struct opts *opts, const struct opt_row *row, const char *value, struct errline *e)
{
	int err = row->parse(opts, row, value);

	if (!err)
		return 0;
	return errline_set(e, -EINVAL, "--%s: '%s' is not %s", row->name, value, row->expects);
}

/* --name, --name=value or --name value at argv[*idx]; leaves *idx at the last word used. */
static int parse_long(struct opts *opts, int argc, char **argv, int *idx, struct errline *e)
{
	const char *word = argv[*idx] + 2;
	size_t len = strcspn(word, "=");
	const struct opt_row *row = find_long(opts->command, word, len);
	const char *value = word[len] ? word + len + 1 : NULL;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	if (!row)
		return unknown_option(opts->command, name, e);
	if (!row->arg && value)
		return errline_set(e, -EINVAL, "--%s takes no value", row->name);
	if (row->arg && !value) {
		if (*idx + 1 >= argc)
			return errline_set(e, -EINVAL, "--%s needs a value: %s", row->name,
					   row->expects);
		value = argv[++*idx];
	}
	for (unsigned int i = 1; i < row->nr_values; i++) {
		int err = apply(opts, row, value, e);

		if (err)
			return err;
		if (*idx + 1 >= argc)
			return errline_set(e, -EINVAL, "--%s needs %u values: %s", row->name,
					   row->nr_values, row->expects);
		value = argv[++*idx];
	}
	return apply(opts, row, value, e);
}

static int parse_letters(struct opts *opts, int argc, char **argv, int *idx, struct errline *e)
{
	for (const char *p = argv[*idx] + 1; *p; p++) {
		const struct opt_row *row = find_letter(opts->command, *p);
		const char *value = NULL;
		int err;

		if (!row)
			return errline_set(e, -EINVAL, "no option '-%c' (bpflab help %s)", *p,
					   command_name(opts->command));
		if (row->arg) {
			value = p[1] ? p + 1 : *idx + 1 < argc ? argv[++*idx] : NULL;
			if (!value)
				return errline_set(e, -EINVAL, "-%c needs a value: %s", *p,
						   row->expects);
		}
		err = apply(opts, row, value, e);
		if (err || row->arg)
			return err;
	}
	return 0;
}

/* The command comes first; --help and --version stand for themselves without one. */
static int parse_command(struct opts *opts, int argc, char **argv, struct errline *e)
{
	char hint[96];
	struct suggest s;

	if (argc < 2)
		return errline_set(e, -EINVAL, "no command (bpflab help)");
	if (argv[1][0] == '-') {
		opts->command = CMD_HELP;
		return 0;
	}
	suggest_init(&s, argv[1]);
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		suggest_offer(&s, command_table[i].name);
		if (!strcmp(command_table[i].name, argv[1])) {
			opts->command = command_table[i].command;
			return 0;
		}
	}
	return errline_set(e, -EINVAL, "no command '%s'%s (bpflab help)", argv[1],
			   suggest_text(&s, hint, sizeof(hint)));
}

int opts_parse(struct opts *opts, int argc, char **argv, struct errline *e)
{
	bool only_args = false;
	int err;

	memset(opts, 0, sizeof(*opts));
	opts->argc = argc;
	opts->argv = argv;
	opts->warmup = -1;
	opts->fail_above = -1;
	opts->args = calloc((size_t)argc + 1, sizeof(*opts->args));
	if (!opts->args)
		return errline_set(e, -ENOMEM, "out of memory");
	err = parse_command(opts, argc, argv, e);
	for (int i = opts->command == CMD_HELP && argv[1][0] == '-' ? 1 : 2; i < argc && !err; i++) {
		if (only_args || argv[i][0] != '-' || !argv[i][1]) {
			opts->args[opts->nr_args++] = argv[i];
		} else if (!strcmp(argv[i], "--")) {
			only_args = true;
			opts->nr_bench_args = opts->nr_args;
		} else if (argv[i][1] == '-') {
			err = parse_long(opts, argc, argv, &i, e);
		} else {
			err = parse_letters(opts, argc, argv, &i, e);
		}
	}
	if (!only_args)
		opts->nr_bench_args = opts->nr_args;
	return err;
}

static bool is_among(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

struct word_list {
	const char **words;
	size_t nr, max;
};

static void add_word(struct word_list *list, const char *word)
{
	if (list->nr < list->max)
		list->words[list->nr++] = word;
}

/* "-x": the letters of joined ones come one by one. */
static const char *letter_word(char letter)
{
	static char words[128][3];
	char *word = words[letter & 127];

	word[0] = '-';
	word[1] = letter;
	return word;
}

/* The option at argv[@i], if it is none of @without; returns the index of its last word. */
static int option_words(const struct opts *opts, int i, const char *const *without, struct word_list *list)
{
	const char *word = opts->argv[i];
	const struct opt_row *row;
	bool wanted;

	if (word[1] == '-') {
		size_t len = strcspn(word + 2, "=");
		unsigned int values;

		row = find_long(opts->command, word + 2, len);
		values = !row || !row->arg ? 0 : row->nr_values ? row->nr_values : 1;
		wanted = row && !is_among(row->name, without);
		if (wanted)
			add_word(list, word);
		for (unsigned int v = word[2 + len] ? 1 : 0; v < values; v++) {
			i++;
			if (wanted)
				add_word(list, opts->argv[i]);
		}
		return i;
	}
	for (const char *p = word + 1; *p; p++) {
		row = find_letter(opts->command, *p);
		wanted = row && !is_among(row->name, without);
		if (wanted)
			add_word(list, letter_word(*p));
		if (row && row->arg) {
			const char *value = p[1] ? p + 1 : opts->argv[++i];

			if (wanted)
				add_word(list, value);
			return i;
		}
	}
	return i;
}

size_t opts_words(const struct opts *opts, const char *const *without, const char **words, size_t max)
{
	struct word_list list = { .words = words, .max = max };

	add_word(&list, opts->argv[1]);
	for (int i = 2; i < opts->argc && strcmp(opts->argv[i], "--"); i++)
		if (opts->argv[i][0] == '-' && opts->argv[i][1])
			i = option_words(opts, i, without, &list);
	return list.nr;
}

static bool is_plain(const char *word)
{
	for (const char *p = word; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_./:=,@%+-", *p))
			return false;
	return *word;
}

void opts_command_text(const struct opts *opts, uint64_t seed, char *buf, size_t size)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	buf[0] = '\0';
	if (!f)
		return;
	fputs("bpflab", f);
	for (int i = 1; i < opts->argc; i++) {
		putc(' ', f);
		if (is_plain(opts->argv[i])) {
			fputs(opts->argv[i], f);
			continue;
		}
		putc('\'', f);
		for (const char *p = opts->argv[i]; *p; p++)
			fputs(*p == '\'' ? "'\\''" : (char[]){ *p, '\0' }, f);
		putc('\'', f);
	}
	if (!opts->has_seed)
		fprintf(f, " --seed 0x%llx", (unsigned long long)seed);
	if (!fclose(f) && len < size)
		memcpy(buf, text, len + 1);
	free(text);
}

void opts_release(struct opts *opts)
{
	free(opts->args);
	opts->args = NULL;
}

static void print_options(FILE *f, unsigned int command)
{
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct opt_row *row = &option_table[i];
		char left[48];
		int len;

		if (!(row->commands & command))
			continue;
		len = row->letter ? snprintf(left, sizeof(left), "-%c, ", row->letter) :
				    snprintf(left, sizeof(left), "    ");
		snprintf(left + len, sizeof(left) - (size_t)len, "--%s%s%s", row->name,
			 row->arg ? " " : "", row->arg ? row->arg : "");
		/* "…" is three bytes and one column */
		fprintf(f, "  %-*s %s\n", strstr(left, "…") ? 30 : 28, left, row->help);
	}
}

void opts_print_help(FILE *f, unsigned int command)
{
	if (!command) {
		fprintf(f, "bpflab: what BPF programs cost, on libbpfu and on the kernel\n\n");
		for (size_t i = 0; i < NR_COMMANDS; i++)
			fprintf(f, "  bpflab %-8s %s\n", command_table[i].name,
				command_table[i].help);
		fprintf(f, "\nbpflab help COMMAND shows the options of a command; bpflab(1) says more.\n"
			   "Exit status: 0 ok, 1 usage or set-up, 2 a bench failed its own checks,\n"
			   "3 confirmed regression (--fail-above), 4 the control failed, 5 inconclusive "
			   "(--strict),\n130 interrupted.\n");
		return;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (command_table[i].command == command)
			fprintf(f, "bpflab %s%s%s%s\n\n  %s\n\n", command_table[i].name,
				command == CMD_HELP ? "" : " [OPTION]...",
				command_table[i].args[0] ? " " : "", command_table[i].args,
				command_table[i].help);
	print_options(f, command);
}
