// SPDX-License-Identifier: BSD-2-Clause
/* The command line: every spelling of an option, every kind of mistake, and the suggestions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opts.h"
#include "util/suggest.h"

#define MAX_ARGS 24

static struct opts opts;
static struct errline line;

/* Parse the blank-separated words of @text. */
static int parse(const char *text)
{
	static char buf[512];
	static char *argv[MAX_ARGS + 1];
	char *save = NULL;
	int argc = 0, err;

	opts_release(&opts);
	snprintf(buf, sizeof(buf), "bpflab %s", text);
	for (char *w = strtok_r(buf, " ", &save); w && argc < MAX_ARGS; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	line.text[0] = '\0';
	err = opts_parse(&opts, argc, argv, &line);
	assert_true(!err == !line.text[0]);
	return err;
}

#define assert_line(part) assert_non_null(strstr(line.text, part))

static void spellings(void **state)
{
	static const char *const texts[] = {
		"run -p 4", "run -p4", "run --producers 4", "run --producers=4", "run -qp4", "run x -p 4",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(parse(texts[i]), 0);
		assert_int_equal(opts.producers, 4);
		assert_int_equal(opts.command, CMD_RUN);
	}
}

static void every_option(void **state)
{
	assert_int_equal(parse("run a -d 2.5 -w 0 --rounds 7 -c 0 -a -q -v -l --nr_loops 5k"), 0);
	assert_true(opts.duration == 2.5 && opts.warmup == 0 && opts.rounds == 7);
	assert_true(opts.affinity && opts.quiet && opts.verbose && opts.list);
	assert_int_equal(opts.nr_loops, 5000);
	assert_int_equal(parse("run --trig-batch-iters 1000 --sweep p=1,2 --sweep nr_loops=1 --seed 0x10"), 0);
	assert_int_equal(opts.trig_batch_iters, 1000);
	assert_int_equal(parse("run --nr-batch-iters 4096"), 0);
	assert_int_equal(opts.nr_batch_iters, 4096);
	assert_int_equal(parse("run --trig-batch-iters 1000 --sweep p=1,2 --sweep nr_loops=1 --seed 0x10"), 0);
	assert_int_equal(opts.sweep.nr, 2);
	assert_true(opts.has_seed && opts.seed == 16);
	assert_int_equal(parse("run --json f --csv - --classic --on user --on host"), 0);
	assert_string_equal(opts.json, "f");
	assert_string_equal(opts.csv, "-");
	assert_true(opts.classic && opts.on.nr == 2);
	assert_int_equal(parse("run --prod-affinity 0-2,5"), 0);
	assert_true(opts.affinity && opts.has_prod_cpus && CPU_COUNT(&opts.prod_cpus) == 4);
	assert_int_equal(parse("run --cons-affinity 1"), 0);
	assert_true(opts.affinity && !opts.has_prod_cpus);
	assert_int_equal(parse("list --json"), 0);
	assert_true(opts.json_stdout && !opts.json);
	assert_int_equal(parse("doctor --json"), 0);
	assert_true(opts.json_stdout);
}

static void defaults(void **state)
{
	assert_int_equal(parse("run"), 0);
	assert_true(opts.duration == 0 && opts.warmup < 0 && !opts.rounds && !opts.producers);
	assert_true(!opts.nr_loops && !opts.trig_batch_iters && !opts.has_seed && !opts.nr_args);
}

static void end_of_options(void **state)
{
	assert_int_equal(parse("run a -- -q --nothing"), 0);
	assert_int_equal(opts.nr_args, 3);
	assert_string_equal(opts.args[2], "--nothing");
	assert_false(opts.quiet);
}

static void help_and_version(void **state)
{
	assert_int_equal(parse("--help"), 0);
	assert_true(opts.help && opts.command == CMD_HELP);
	assert_int_equal(parse("--version"), 0);
	assert_true(opts.version);
	assert_int_equal(parse("-V"), 0);
	assert_int_equal(parse("run --help"), 0);
	assert_true(opts.help && opts.command == CMD_RUN);
}

static void bad_values(void **state)
{
	static const char *const texts[] = {
		"run -p 0", "run -p 1025", "run -p x", "run -p -1", "run -p 1.5", "run -d 0", "run -d -1",
		"run -d x", "run -d nan", "run -d 1e9", "run -w -1", "run --rounds 0",
		"run --nr_loops 0", "run --nr_loops 4194305", "run --trig-batch-iters 1001",
		"run --trig-batch-iters 0", "run --prod-affinity 3-1", "run --prod-affinity ,",
		"run --prod-affinity 1,", "run --prod-affinity 99999", "run --seed 99999999999999999999",
		"run --seed=", "run --json=", "run --on=", "run -c x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(parse(texts[i]), -22);
		assert_line("is not");
	}
}

static void missing_values(void **state)
{
	assert_int_equal(parse("run -p"), -22);
	assert_line("-p needs a value");
	assert_int_equal(parse("run --json"), -22);
	assert_line("--json needs a value");
	assert_int_equal(parse("run --classic=1"), -22);
	assert_line("--classic takes no value");
}

static void misspellings(void **state)
{
	assert_int_equal(parse("rnu"), -22);
	assert_line("did you mean 'run'");
	assert_int_equal(parse("run --clasic"), -22);
	assert_line("did you mean '--classic'");
	assert_int_equal(parse("run --nr-loops 3"), -22);
	assert_line("did you mean '--nr_loops'");
	assert_int_equal(parse("run -z"), -22);
	assert_line("no option '-z'");
	assert_int_equal(parse("list --classic"), -22);
	assert_line("'list' has no option --classic; 'run' has");
	assert_int_equal(parse("frobnicate"), -22);
	assert_null(strstr(line.text, "did you mean"));
	assert_int_equal(parse(""), -22);
}

static void too_many(void **state)
{
	char *argv[2 * OPTS_MAX_LIST + 5] = { (char *)"bpflab", (char *)"run" };
	int argc = 2;

	for (int i = 0; i <= OPTS_MAX_LIST; i++) {
		argv[argc++] = (char *)"--on";
		argv[argc++] = (char *)"user";
	}
	opts_release(&opts);
	assert_int_equal(opts_parse(&opts, argc, argv, &line), -22);
	assert_int_equal(opts.on.nr, OPTS_MAX_LIST);
}

static void distances(void **state)
{
	assert_int_equal(suggest_distance("run", "run"), 0);
	assert_int_equal(suggest_distance("rnu", "run"), 1);
	assert_int_equal(suggest_distance("", "run"), 3);
	assert_int_equal(suggest_distance("kitten", "sitting"), 3);
	assert_int_equal(suggest_distance("nr-loops", "nr_loops"), 0);
	assert_int_equal(suggest_distance("RUN", "run"), 0);
	assert_int_equal(suggest_distance("ca", "abc"), 3);
}

static void help_names_every_option(void **state)
{
	static const char *const names[] = {
		"--on", "--duration", "--warmup", "--rounds", "--producers", "--consumers", "--affinity",
		"--prod-affinity", "--cons-affinity", "--nr_loops", "--trig-batch-iters", "--sweep",
		"--seed", "--json", "--csv", "--classic", "--quiet", "--verbose", "--list",
	};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	opts_print_help(f, CMD_RUN);
	fclose(f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(strstr(text, names[i]));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings),	  cmocka_unit_test(every_option),
		cmocka_unit_test(defaults),	  cmocka_unit_test(end_of_options),
		cmocka_unit_test(help_and_version), cmocka_unit_test(bad_values),
		cmocka_unit_test(missing_values), cmocka_unit_test(misspellings),
		cmocka_unit_test(too_many),	  cmocka_unit_test(distances),
		cmocka_unit_test(help_names_every_option),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	opts_release(&opts);
	return failed;
}
