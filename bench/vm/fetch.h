/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels of Debian, fetched with apt without installing anything and without root. */
#ifndef BPFLAB_FETCH_H
#define BPFLAB_FETCH_H

#include <stdbool.h>

#include "errline.h"
#include "vm/store.h"

struct fetch_request {
	const char *line; /* a version or the start of one: 6.12 */
	const struct machine_kind *machine;
	const char *mirror; /* or NULL: that of the system, or else deb.debian.org */
	bool quiet;         /* nothing on standard error */
};

/*
 * Put the newest kernel of that line into the store; *@k is it. One that is there already is not
 * fetched again. Needs apt-get, apt-cache and dpkg-deb.
 */
int fetch_kernel(const struct fetch_request *r, struct kernel *k, struct errline *e);

/* The mirror in @text, the contents of a file of apt's sources: one whose path ends in /debian. */
bool fetch_find_mirror(const char *text, char *buf, size_t size);

/*
 * Of the package names in @names (one a line), those of the images of line @line for @machine; they are
 * appended to @buf, one a line.
 */
void fetch_pick_images(const char *names, const char *line, const struct machine_kind *machine, char *buf,
		       size_t size);

/*
 * The newest of line @line among the stanzas of `apt-cache show`: its package, its version, and the
 * part of it that names the kernel. False: none.
 */
bool fetch_pick_newest(const char *stanzas, const char *line, char package[128], char version[64],
		       char name[KERNEL_NAME_MAX]);

#endif
