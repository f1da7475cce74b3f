/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting on a kernel: `bpflab windows` runs in a guest (vm/boot.h) on its target `host`, and the plugin
 * is QEMU's system emulator's, so that what the kernel executes between two marks is counted as well.
 */
#ifndef BPFLAB_COUNT_IN_GUEST_H
#define BPFLAB_COUNT_IN_GUEST_H

#include "count/counts.h"

/* Fill in the emulator of @t, a vm; -ENOENT with what is missing and where it comes from. */
int count_guest_find(struct count_target *t, struct errline *e);

struct count_boot {
	unsigned int seed; /* of the guest's random numbers: with the same one a boot is the same */
	bool profile;      /* count by address, too */
};

/*
 * Boot @t and run bpflab with @args (NULL-terminated, without its name) inside. As emulator_run(); a guest
 * that does not get that far is told of with the end of its console, on standard error.
 */
int count_guest_run(const struct count_target *t, const char *const *args, const struct count_boot *boot,
		    struct emulated *res, struct errline *e);

#endif
