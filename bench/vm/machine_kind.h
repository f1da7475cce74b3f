/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines that guests can be: one row each, so that nothing else asks which one it is. */
#ifndef BPFLAB_MACHINE_KIND_H
#define BPFLAB_MACHINE_KIND_H

#include <stdbool.h>
#include <stddef.h>

struct machine_kind {
	const char *name;     /* as targets and file names have it */
	const char *aliases[3];
	const char *debian;   /* the same for apt */
	const char *qemu;     /* the emulator's program */
	const char *package;  /* of Debian, that has it */
	const char *qemu_user; /* the emulator of one process */
	const char *board[4]; /* its arguments, up to NULL */
	const char *console;  /* of the kernel's command line */
	unsigned int elf;     /* e_machine of its programs */
	const char *cmdline;  /* what else it has there for this machine, "" or with a blank in front */
};

/* By name or alias; NULL if there is no such machine. */
const struct machine_kind *machine_find(const char *name);
/* The @idx-th, NULL past the last. */
const struct machine_kind *machine_get(size_t idx);
/* The machine this program was built for. */
const struct machine_kind *machine_native(void);

/*
 * Which machine the kernel image of @len bytes at @image is for: its start is enough. NULL: it is no
 * kernel that can be booted here; *@what says what it looks like instead.
 */
const struct machine_kind *machine_of_image(const void *image, size_t len, const char **what);

#endif
