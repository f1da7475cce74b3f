/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running bpflab itself under QEMU's user mode, with the plugin that counts (bench/plugin). What the
 * process prints and what the plugin notes is kept in memory; nothing is left on the disk.
 */
#ifndef BPFLAB_COUNT_EMULATOR_H
#define BPFLAB_COUNT_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "errline.h"

struct emulator {
	const char *arch;    /* as targets have it: x86_64 or arm64 */
	const char *program; /* qemu-x86_64 */
	const char *cpu;     /* the processor it emulates */
	char version[32];    /* of QEMU; "?" if it does not say */
	char guest[4096];    /* the bpflab that runs inside, */
	char plugin[4096];   /* … and the plugin */
};

/* Find all that running programs of @arch (NULL: of this bpflab's) takes. -ENOENT with what is missing and where it comes from. */
int emulator_find(struct emulator *em, const char *arch, struct errline *e);

/* Its part: the plugin, and the version of @em->program, which is set. */
int emulator_find_plugin(struct emulator *em, struct errline *e);

/* What came of a process; each text ends in 0. */
struct emulated {
	char *out, *err, *counts;
	size_t out_len, err_len, counts_len;
};

/*
 * Run the bpflab of @em with @args (NULL-terminated, without its name) to its end. 0 if it exited with
 * 0; otherwise a negative errno with a line: its own if it printed one, -EINTR after a signal,
 * -ENOEXEC if QEMU refused the plugin. emulated_release() frees, also after an error.
 */
int emulator_run(const struct emulator *em, const char *const *args, bool profile,
		 struct emulated *res, struct errline *e);
/* All of the file @fd, which begins at its start, to a new *@text that ends in 0. */
int emulator_read_back(int fd, char **text, size_t *len, struct errline *e);
void emulated_release(struct emulated *res);

#endif
