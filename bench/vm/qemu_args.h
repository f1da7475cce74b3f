/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of the emulator: a machine without disk, network and display, a serial console, and the
 * three ports of guest.h.
 */
#ifndef BPFLAB_QEMU_ARGS_H
#define BPFLAB_QEMU_ARGS_H

#include <stdio.h>

#include "errline.h"
#include "vm/guest.h"
#include "vm/store.h"
#include "vm_spec.h"

#define QEMU_MAX_ARGS 256

struct qemu_args {
	const char *argv[QEMU_MAX_ARGS + 1];
	char *owned[QEMU_MAX_ARGS]; /* those that were made, to be freed */
	size_t nr, nr_owned;
	bool failed;
};

struct qemu_files {
	const char *kernel; /* NULL: that of the store, as it is */
	const char *initrd, *console;
	const char *ports[GUEST_NR_PORTS]; /* from GUEST_CONTROL on */
};

/*
 * @extra: words for QEMU, separated by blanks, and behind them those of BPFLAB_QEMU_ARGS; either may be
 * NULL. One of -machine, -cpu, -accel, -m and -smp among them replaces ours. Release with qemu_args_release(), after
 * an error, too.
 */
int qemu_args_make(struct qemu_args *a, const struct vm_spec *spec, const struct kernel *k,
		   const struct qemu_files *files, const char *extra, struct errline *e);
void qemu_args_release(struct qemu_args *a);

/* As a line for a shell. */
void qemu_args_print(FILE *f, const struct qemu_args *a);

#endif
