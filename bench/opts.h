/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line: one row per option in opts.c. Every option can be written --name VALUE,
 * --name=VALUE, and if it has a letter -x VALUE or -xVALUE; letters without a value can be joined.
 */
#ifndef BPFLAB_OPTS_H
#define BPFLAB_OPTS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "errline.h"

enum command {
	CMD_LIST = 1u << 0,
	CMD_RUN = 1u << 1,
	CMD_DOCTOR = 1u << 2,
	CMD_HELP = 1u << 3,
	CMD_COMPARE = 1u << 4,
	CMD_NOISE = 1u << 5,
	CMD_PROFILE = 1u << 15,
	CMD_DUMP = 1u << 12,
	CMD_REPORT = 1u << 10,
	CMD_HISTORY = 1u << 11,
	CMD_WINDOWS = 1u << 13,
	CMD_KERNEL = 1u << 14,
	CMD_BISECT = 1u << 16,
	CMD_VERIFY = 1u << 17,
};

#define OPTS_MAX_LIST 64

struct opts_list {
	const char *items[OPTS_MAX_LIST];
	size_t nr;
};

struct opts {
	enum command command;
	int argc;          /* as given */
	char **argv;
	const char **args; /* what is neither command nor option; points into argv */
	size_t nr_args;
	size_t nr_bench_args; /* of these, those before "--" */

	struct opts_list on;    /* --on */
	struct opts_list diff;  /* --diff: none, or A and B */
	struct opts_list sweep; /* --sweep, unparsed */
	double duration;        /* -d, seconds; 0: not given */
	double warmup;          /* -w, seconds; < 0: not given */
	uint32_t rounds;        /* 0: not given */
	uint32_t producers;        /* 0: not given */
	uint32_t consumers;
	uint64_t nr_loops;         /* 0: not given */
	uint32_t trig_batch_iters; /* 0: not given */
	uint32_t nr_batch_iters;   /* 0: not given */
	uint32_t programs;         /* 0: not given */
	bool stacktrace;
	uint32_t instances;
	bool has_instances;
	const char *prepare;
	bool affinity;
	bool has_prod_cpus;
	cpu_set_t prod_cpus;
	cpu_set_t cons_cpus;
	bool quiet;
	bool verbose;
	bool list;    /* -l */
	bool classic;
	bool keep_going;
	const char *json; /* file, "-" or NULL; list and doctor take no file: json_stdout */
	bool json_stdout;
	const char *csv;
	const char *markdown, *text, *benchfmt; /* files, "-" or NULL */
	const char *output; /* -o */
	bool ascii;
	const char *db;     /* history */
	uint32_t keep;      /* history prune; 0: not given */
	uint32_t days;
	uint64_t seed;
	bool has_seed;
	bool count;        /* --count=insns */
	uint32_t runs;     /* … processes that count; 0: not given */
	bool symbols;      /* … by function */
	uint32_t quads;    /* compare; 0: not given */
	uint32_t loads;
	double margin;     /* a share; 0: not given */
	double fail_above; /* a share; < 0: not given */
	bool no_control;
	bool why;
	bool strict;
	bool quick;
	bool rigorous;
	const char *arch; /* dump */
	bool xlated;
	bool jited;
	bool counts;
	bool bytes;
	bool no_source;
	/* guests */
	bool print_command;
	const char *initrd, *qemu_args;
	bool i_know;
	double timeout;         /* seconds; 0: not given */
	const char *modules, *config, *mirror; /* kernel */
	/* bisect */
	const char *good, *bad, *kernels, *order, *vm;
	const char *good_value, *baseline;
	double above;           /* a share */
	bool cheaper;
	bool step;              /* --run */
	struct opts_list files; /* kernel exec */
	bool help;
	bool version;
};

/*
 * Parse @argv. Returns 0, or -EINVAL with a line that names the word at fault. @argv is not changed,
 * but must outlive @opts. Release with opts_release().
 */
int opts_parse(struct opts *opts, int argc, char **argv, struct errline *e);
void opts_release(struct opts *opts);

/*
 * The command line that repeats this one, quoted for a shell, with @seed if none was given. "" if it
 * does not fit.
 */
void opts_command_text(const struct opts *opts, uint64_t seed, char *buf, size_t size);

/*
 * The command and its options, one word each, as they were given but for the options named in @without
 * (NULL at its end); no arguments. Words point into argv or at constants. The number of words, at most @max.
 */
size_t opts_words(const struct opts *opts, const char *const *without, const char **words, size_t max);

/* The help text of one command, or of all with 0. */
void opts_print_help(FILE *f, unsigned int command);

/* "0-3,5" to a set. -EINVAL if malformed or empty. */
int opts_parse_cpus(const char *text, cpu_set_t *set);

/* A whole number with optional k/M/G: the rules of all numeric options. -EINVAL, -ERANGE. */
int opts_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#endif
