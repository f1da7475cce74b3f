/* SPDX-License-Identifier: BSD-2-Clause */
/* What a verifier says of the programs of an object file: each is loaded by itself, and unloaded. */
#ifndef BPFLAB_VERIFY_H
#define BPFLAB_VERIFY_H

#include <jansson.h>
#include <stdbool.h>

#include "errline.h"
#include "target.h"

#define SCHEMA_VERIFY "bpflab.verify/1"

/*
 * For each program of @arg, PROG.bpf.o or PROG.bpf.o:NAME, call @take with a line of JSON about what the verifier of @t,
 * which is in force, says of it; with @log the whole log is in it. 0, or a negative errno with a line: the file is none,
 * or what @take returned.
 */
int verify_object(const struct target *t, const char *arg, bool log,
		  int (*take)(json_t *o, void *ctx, struct errline *e), void *ctx, struct errline *e);

#endif
