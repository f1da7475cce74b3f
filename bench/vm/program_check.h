/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a program of this machine can run in a guest, in which there is nothing but what was packed. */
#ifndef BPFLAB_PROGRAM_CHECK_H
#define BPFLAB_PROGRAM_CHECK_H

#include "errline.h"
#include "vm/machine_kind.h"

/* 0 if @path is an ELF program for @machine that needs no loader and no libraries. */
int program_check(const char *path, const struct machine_kind *machine, struct errline *e);

#endif
