/* SPDX-License-Identifier: BSD-2-Clause */
/* The first file system of a guest (guest.h), as a file in memory. */
#ifndef BPFLAB_INITRD_H
#define BPFLAB_INITRD_H

#include <stddef.h>

#include "errline.h"
#include "vm/store.h"

struct initrd_file {
	const char *path; /* on this machine */
	const char *name; /* below /bpflab/files */
};

struct initrd_plan {
	const struct kernel *kernel;
	const char *init;         /* the guest program, a file */
	const char *const *argv;  /* the command, NULL at the end; "/init" is bpflab */
	const char *const *env;   /* NAME=VALUE, NULL at the end; may be NULL */
	const struct initrd_file *files;
	size_t nr_files;
};

/* Write it: *@fd is a memfd, which the caller closes. 0 or a negative errno. */
int initrd_make(const struct initrd_plan *plan, int *fd, struct errline *e);

#endif
