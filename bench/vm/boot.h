/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running commands in guests. A guest boots, runs one command and is gone; nothing of it stays but what
 * the command wrote. Several run side by side as far as there are CPUs for them.
 */
#ifndef BPFLAB_BOOT_H
#define BPFLAB_BOOT_H

#include <stddef.h>

#include "errline.h"
#include "util/text_buf.h"
#include "vm/initrd.h"
#include "vm/store.h"
#include "vm_spec.h"

#define GUEST_CONSOLE_KEPT 4096

struct guest {
	/* what to run, set by the caller */
	const char *label; /* names it in messages: its target */
	const struct vm_spec *spec;
	const struct kernel *given; /* boot this one; NULL: that of @spec in the store */
	const char *const *argv;
	const char *const *env;
	const struct initrd_file *files;
	size_t nr_files;
	const char *qemu_args; /* more words for QEMU, or NULL */
	double max_seconds;    /* the longest it may take in all */

	/* what came of it */
	/*
	 * 0: the command ran to its end, with @status. -ECHILD, -ETIMEDOUT: the kernel did not get that far.
	 * Others are not the kernel's fault.
	 */
	int err;
	struct errline error;
	int status;            /* exit status, or 128 + the signal */
	char release[128];     /* of the kernel, as it said itself */
	struct text_buf out, err_out;
	char console[GUEST_CONSOLE_KEPT]; /* its end */
	double boot_seconds, seconds;     /* until the command started; in all */
	struct kernel kernel;
};

struct guest_settings {
	bool print_only;    /* print QEMU's command line on standard output instead */
	const char *initrd; /* with @print_only: write the guest's files here, or NULL */
	bool quiet;         /* no progress */
	bool echo;          /* what commands write goes to our standard output and error at once */
};

/*
 * Run all of @guests. A guest that fails has its own error; the returned error is one that concerns all:
 * no QEMU, no guest program, -EINTR after a signal (all guests are gone then).
 */
int guests_run(struct guest *guests, size_t nr, const struct guest_settings *settings, struct errline *e);
void guest_release(struct guest *g);

/* The end of the console of a guest that failed, each line with a mark in front. */
void guest_print_console(FILE *f, const struct guest *g);

/*
 * The program that runs inside, built for @machine: bpflab itself, linked statically. It lies beside
 * this program or in libexec/bpflab; BPFLAB_GUEST_DIR has priority.
 */
int guest_program(const struct machine_kind *machine, char *buf, size_t size, struct errline *e);

/* Whether QEMU for @machine is there. */
int guest_check_qemu(const struct machine_kind *machine, struct errline *e);

#endif
