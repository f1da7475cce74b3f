/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of bpflab. Each returns the exit status of the process. */
#ifndef BPFLAB_COMMANDS_H
#define BPFLAB_COMMANDS_H

#include "errline.h"
#include "opts.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_USAGE = 1,        /* wrong command line, or it could not be set up */
	EXIT_BENCH_FAILED = 2, /* a bench failed its own checks */
	EXIT_REGRESSION = 3,   /* slower than --fail-above allows, and confirmed */
	EXIT_UNTRUSTED = 4,    /* the control of a comparison failed */
	EXIT_INCONCLUSIVE = 5, /* with --strict */
	EXIT_INTERRUPTED = 128, /* plus the signal */
};

int cmd_list(const struct opts *opts);
int cmd_run(const struct opts *opts);
int cmd_run_beside(const struct opts *opts); /* --instances */
#define BESIDE_RUNS 5 /* of the command, unless --rounds says otherwise */
int cmd_run_counts(const struct opts *opts); /* --count */
int cmd_compare(const struct opts *opts);
int cmd_compare_counts(const struct opts *opts);        /* --count */
int cmd_compare_stored_counts(const struct opts *opts); /* of two files of counts */
int cmd_dump(const struct opts *opts);
int cmd_dump_counts(const struct opts *opts); /* --counts */
/*
 * Start the program anew with the same addresses in every process, unless that is so already or
 * cannot be had. Only dump wants it.
 */
void dump_fix_addresses(char **argv);
int cmd_profile(const struct opts *opts);
int cmd_noise(const struct opts *opts);
int cmd_report(const struct opts *opts);
int cmd_history(const struct opts *opts);
int cmd_doctor(const struct opts *opts);
int cmd_windows(const struct opts *opts);
int cmd_kernel(const struct opts *opts);
int cmd_verify(const struct opts *opts);
int cmd_bisect(const struct opts *opts);
/* Of a wrong command line: with --run, 1 would say that the kernel is bad. */
int bisect_usage_status(int argc, char **argv);

/* "bpflab: …" on standard error. */
void print_error(const struct errline *e);

/*
 * How a command ends: the exit status of the signal that came, if one did; @status if @err is 0; otherwise
 * EXIT_USAGE, with the line @e.
 */
int command_end(int err, int status, const struct errline *e);

#endif
