/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Result files. A regular file appears whole, under its name, or not at all: it is written beside its
 * place, flushed to the disk and renamed. "-" is standard output; devices and pipes are written as
 * they are.
 */
#ifndef BPFLAB_OUTPUT_H
#define BPFLAB_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "errline.h"

struct output {
	const char *path; /* as given */
	char *final;      /* where to rename to; NULL if written directly */
	char *temp;
	int fd;
	FILE *file;       /* to memory, until output_commit() */
	char *text;
	size_t size;
};

/*
 * Before anything is opened: if this process came without a standard stream, keep its number free of files of
 * its own, which would otherwise get what is printed. Printing is an error then.
 */
void output_keep_standard(void);

/* Whether @a and @b, which need not exist, are one regular file. */
bool output_is_same(const char *a, const char *b);

/* Find out, before anything is measured, whether @path can be written; leaves nothing behind. */
int output_check(const char *path, struct errline *e);

/* What is written to @o->file is kept in memory. */
int output_open(struct output *o, const char *path, struct errline *e);
/* Write it out. After an error nothing is left behind. */
int output_commit(struct output *o, struct errline *e);
void output_abort(struct output *o);

/*
 * All of it: what @view writes, if @path is not NULL. @view returns 0 or a negative errno.
 */
int output_view(const char *path, int (*view)(FILE *f, const void *ctx), const void *ctx,
		struct errline *e);

/* Flush standard output: 0, or a negative errno and a line. */
int output_flush_stdout(struct errline *e);

#endif
