// SPDX-License-Identifier: BSD-2-Clause
/* The command line of bpfu-diff: a table of options, each with where its value goes. */
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare.h"

enum value { FLAG, NUMBER, TEXT, SEED, MODE };

static const struct {
	const char *name;
	enum value value;
	size_t offset; /* in struct diff_options */
	const char *arg, *help;
} table[] = {
#define OPT(name, value, member, arg, help)                                   \
	{                                                                     \
		name, value, offsetof(struct diff_options, member), arg, help \
	}
	OPT("seed", SEED, seed, "N|time", "first seed (1); programs have the seeds N, N + 1, …"),
	OPT("count", NUMBER, count, "N", "programs (2000)"),
	OPT("seconds", NUMBER, seconds, "S",
	    "stop after S seconds; without --count, run that long"),
	OPT("jobs", NUMBER, jobs, "N", "worker processes (1)"),
	OPT("mode", MODE, modes, "MODE",
	    "load (JIT and interpreter load on their own), clone (one load, run again from\n"
	    "                      other forms of its instructions), accept (nothing runs); default: the\n"
	    "                      first two in turn"),
	OPT("mutate", FLAG, mutate, "",
	    "change a random field of each program; compare acceptance"),
	OPT("no-kernel", FLAG, no_kernel, "", "leave the kernel out"),
	OPT("with", TEXT, with, "COMMAND",
	    "another machine's JIT too: a bpfu-diff built for it, with its emulator"),
	OPT("serve", FLAG, serve, "", "be the other machine (the protocol of --with)"),
	OPT("default-options", FLAG, default_options, "", "no random options of libbpfu"),
	OPT("minimise", FLAG, minimise, "", "shrink what fails"),
	OPT("limit", NUMBER, limit, "S",
	    "a program that takes longer than S seconds hangs (60; 200 with --with)"),
	OPT("max-failures", NUMBER, max_failures, "N", "stop after N failures (1)"),
	OPT("min-accept", NUMBER, min_accept, "P",
	    "fail if libbpfu accepts less than P % of what the kernel does"),
	OPT("print", FLAG, print, "", "print the program of the seed and stop"),
	OPT("save", TEXT, save, "FILE", "write it in the form that fuzz_prog reads, and stop"),
#undef OPT
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))

static void usage(FILE *out)
{
	fputs("usage: bpfu-diff [options]\n", out);
	for (size_t i = 0; i < OPTIONS; i++) {
		char left[32];

		snprintf(left, sizeof(left), "--%s %s", table[i].name, table[i].arg);
		fprintf(out, "  %-18s  %s\n", left, table[i].help);
	}
}

static uint64_t number(const char *name, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "bpfu-diff: --%s: '%s' is not a number\n", name, text);
		exit(1);
	}
	return value;
}

static uint32_t mode(const char *text)
{
	if (!strcmp(text, "load"))
		return MODE_LOAD;
	if (!strcmp(text, "clone"))
		return MODE_CLONE;
	if (!strcmp(text, "accept"))
		return MODE_ACCEPT;
	fprintf(stderr, "bpfu-diff: --mode: '%s' is none of load, clone, accept\n", text);
	exit(1);
}

static void set(struct diff_options *opt, size_t which, const char *text)
{
	void *dst = (char *)opt + table[which].offset;

	switch (table[which].value) {
	case FLAG:
		*(bool *)dst = true;
		break;
	case TEXT:
		*(const char **)dst = text;
		break;
	case MODE:
		*(uint32_t *)dst = mode(text);
		break;
	case SEED:
		if (!strcmp(text, "time")) {
			*(uint64_t *)dst = rng_mix((uint64_t)time(NULL)) >> 16;
			break;
		}
		/* fall through */
	case NUMBER:
		*(uint64_t *)dst = number(table[which].name, text);
	}
}

void options_parse(struct diff_options *opt, int argc, char **argv)
{
	struct option longs[OPTIONS + 2] = { { "help", 0, NULL, OPTIONS } };
	int c;

	for (size_t i = 0; i < OPTIONS; i++)
		longs[i + 1] =
			(struct option){ table[i].name, table[i].value != FLAG, NULL, (int)i };
	*opt = (struct diff_options){ .seed = 1, .jobs = 1, .max_failures = 1 };
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == OPTIONS) {
			usage(stdout);
			exit(0);
		}
		if (c < 0 || (size_t)c > OPTIONS)
			exit(1); /* getopt said why */
		set(opt, (size_t)c, optarg);
	}
	if (optind < argc || !opt->jobs || opt->jobs > JOBS_MAX) {
		usage(stderr);
		exit(1);
	}
	if (!opt->limit)
		opt->limit = opt->with ? 200 : 60;
	if (opt->mutate)
		opt->modes = MODE_ACCEPT;
	if (!opt->count)
		opt->count = opt->seconds ? UINT64_MAX / 2 : 2000;
}
