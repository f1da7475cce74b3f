/* SPDX-License-Identifier: BSD-2-Clause */
/* What code an address is in. */
#ifndef BPFLAB_PROFILE_SYMBOLS_H
#define BPFLAB_PROFILE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "errline.h"

enum code_kind {
	CODE_PROGRAM,
	CODE_SUBPROGRAM,
	CODE_TRAMPOLINE, /* between a function and the programs attached to it */
	CODE_HELPER,     /* what programs call, and functions that programs are attached to */
	CODE_ENTRY,      /* of programs, and their exit: slots, sections, test runs, attachments */
	CODE_LIBRARY,    /* the rest of libbpfu */
	CODE_BENCH,      /* bpflab and the C library */
	CODE_KERNEL,
	CODE_UNKNOWN,
	CODE_KINDS,
};

#define CODE_NAME_MAX 160

struct code_symbol {
	enum code_kind kind;
	char name[CODE_NAME_MAX];
};

struct symbols;

/*
 * Names of all code that this process or the kernel may be in now: programs that are loaded (on libbpfu
 * and, as far as /proc/kallsyms shows them, in the kernel), trampolines, functions. 0 or an error.
 */
int symbols_open(struct symbols **out, struct errline *e);
void symbols_close(struct symbols *s);

/* Of the kernel's code, as it is now. */
bool symbols_is_kernel(uint64_t addr);
void symbols_find_kernel(uint64_t addr, struct code_symbol *out);

void symbols_find(const struct symbols *s, uint64_t addr, struct code_symbol *out);

const char *code_kind_name(enum code_kind kind);
/* CODE_KINDS if there is none of that name. */
enum code_kind code_kind_by_name(const char *name);

#endif
