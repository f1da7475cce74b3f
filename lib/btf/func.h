/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that can be traced: name, address, prototype. Those of libbpfu are marked in the
 * source with BPFU_TRACEABLE() and found in a section of the program; others are registered through
 * the public header. Rows are never freed, so what points to one needs no reference.
 */
#ifndef BPFU_BTF_FUNC_H
#define BPFU_BTF_FUNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "btf/decl.h"
#include "btf/traceable.h"

struct bpfu_hook;

struct bpfu_func {
	struct bpfu_decl decl;       /* .name, and with a prototype the rest */
	void *addr;
	uint32_t flags;              /* enum bpfu_func_flags, enum bpfu_func_kind */
	uint32_t btf_id;             /* FUNC in libbpfu's BTF; 0: known by its name only. Of tracepoints
				      * the TYPEDEF btf_trace_<name> */
	uint32_t kfunc_idx;          /* KFUNC */
	_Atomic bool gone;           /* unregistered */
	_Atomic(struct bpfu_hook *) hook; /* probe/: NULL before the first attachment */
	struct bpfu_func *next_name, *next_id, *next_addr; /* chains of the tables, under their lock */
};

/* By name, by FUNC id, by address; NULL: none. Unregistered ones are not found. */
struct bpfu_func *bpfu_func_by_name(const char *name);
struct bpfu_func *bpfu_func_by_id(uint32_t btf_id);
struct bpfu_func *bpfu_func_by_addr(const void *addr);

/* The @idx-th row in the order of registration, NULL past the last; gone ones and tracepoints included. */
struct bpfu_func *bpfu_func_at(uint32_t idx);

/*
 * Tracepoints are rows of their own kind: found by id and by bpfu_event_by_name() only. In the BTF they
 * are what the kernel's are, "typedef void (*btf_trace_NAME)(void *__data, ...)".
 * bpfu_event_register(): 0, or the errors of bpfu_func_register().
 */
struct bpfu_func *bpfu_event_by_name(const char *name);
int bpfu_event_register(void *tp, const char *decl);

/* Functions that programs may call, by number; NULL and "unknown" if there is no such. */
void *bpfu_kfunc_addr(uint32_t idx);
const char *bpfu_kfunc_name(uint32_t idx);

/* libbpfu's BTF with all functions in it, as a malloc()ed blob. 0 or -ENOMEM. */
int bpfu_func_btf(void **data, uint32_t *size);

/* The known name that is nearest to @name, NULL if none is near. */
const char *bpfu_func_near(const char *name);

#endif
