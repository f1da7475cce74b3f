/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that boot guests share. */
#ifndef BPFLAB_CMD_GUESTS_H
#define BPFLAB_CMD_GUESTS_H

#include <stdbool.h>

#include "errline.h"
#include "opts.h"
#include "result/record.h"
#include "vm/boot.h"
#include "vm/guest_files.h"

/*
 * Run guests as the options say (--print-command, --qemu-args, --timeout, -q); with @echo what they write goes
 * to our own output at once. With one guest its error is returned; with more each keeps its own. The end
 * of a failed guest's console goes to standard error.
 */
int guests_run_for(const struct opts *opts, struct guest *guests, size_t nr, bool echo, struct errline *e);

bool guests_is_vm(const char *spec);
/* Whether one of the targets of @list is a vm; those that do not parse are not. */
bool guests_wanted(const struct opts_list *list);

/*
 * `bpflab CMD …` with targets that are guests, for commands whose output is just passed on (list, dump):
 * the same command line runs inside, on the target `host`. The exit status.
 */
int guests_pass_on(const struct opts *opts);

/* The words of the command line of the inside: those of @opts, on the target `host`; files among its arguments are
 * packed. */
struct guest_command {
	const char *argv[512];
	const struct initrd_file *files; /* those of @packed */
	size_t nr_files;
	struct guest_files packed;
};

/* @first: the arguments before it are left out. @more: further words, NULL at the end. */
int guest_command_make(struct guest_command *c, const struct opts *opts, size_t first, const char *const *more,
		       struct errline *e);
void guest_command_release(struct guest_command *c);

/*
 * The lines of @g's results, under the name of its target here and marked as emulated, to @add, which
 * takes no reference; @ctx is passed on.
 */
int guest_results(struct guest *g, int (*add)(json_t *o, size_t line, void *ctx, struct errline *e), void *ctx,
		  struct errline *e);
/* The same, to a file of results. */
int guest_write_results(struct guest *g, FILE *f, struct errline *e);

/* Measure on targets that are no guests, and hand over the results (run.c). */
int run_records(const struct opts *opts, struct record_list *list, int *status, struct errline *e);

/* `bpflab profile` if its targets are vms. */
int cmd_profile_vm(const struct opts *opts);

/* `bpflab run` if one of its targets is a vm. */
int cmd_run_vm(const struct opts *opts);
/* The same with --instances. */
int cmd_run_beside_vm(const struct opts *opts);

#endif
