/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user's own programs as benches: PROG.bpf.o, or PROG.bpf.o:NAME for one program of it. Each
 * program that BPF_PROG_TEST_RUN can run becomes a bench whose event is one run of it and whose null
 * is an empty program of the same type.
 */
#ifndef BPFLAB_OBJECT_H
#define BPFLAB_OBJECT_H

#include <stdbool.h>

#include "measure/suite.h"

struct bpf_object;
struct bpf_program;

/* True if @arg names a file rather than a bench. */
bool object_is_path(const char *arg);

/* Open @path with libbpf: NULL with errno set and a line in @e if that fails. */
struct bpf_object *object_open_file(const char *path, struct errline *e);

/* Append the benches of @arg to @s->objects. */
int object_add(struct suite *s, const char *arg, struct errline *e);

void object_release_all(struct suite *s);

/*
 * Check that @path is a BPF object before libbpf sees it: 0, or a negative errno and a line that
 * names the file and the remedy.
 */
int object_check_elf(const char *path, struct errline *e);

/*
 * What a program needs that only the process that has loaded another program can give: a line for the user, or NULL.
 * That is of programs for functions of other programs (freplace, and fentry and fexit without a target).
 */
const char *object_prog_lacks(const struct bpf_program *prog);

#endif
