/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where programs run: KIND[:NAME=VALUE,…], or vm:VERSION[,NAME=VALUE…]. A target is in force on the calling thread between
 * target_enter() and target_leave(): what bpf(2) creates in between belongs to it. What was created
 * is used by descriptor afterwards, whatever target is in force. Outside, and at start, the thread
 * speaks to the running kernel.
 */
#ifndef BPFLAB_TARGET_H
#define BPFLAB_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "errline.h"
#include "vm_spec.h"

#define TARGET_MAX_VARIANTS 16

struct target_variant {
	char name[32];
	char value[16];
};

struct target {
	const struct target_kind *kind;
	char spec[256]; /* as it is shown: user:jit=off */
	struct target_variant variants[TARGET_MAX_VARIANTS];
	size_t nr_variants;
	struct vm_spec vm; /* of kind vm */
};

struct target_kind {
	const char *name;
	const char *summary;
	/* Optional: parse what comes behind the name, instead of as variants. */
	int (*parse)(struct target *t, const char *rest, struct errline *e);
	/* Check the variants of a target. */
	int (*check)(struct target *t, struct errline *e);
	int (*enter)(const struct target *t, struct errline *e);
	/* Optional: undo what enter() did to the thread, whether it succeeded or not. */
	void (*leave)(void);
	/* Load and run a program: 0, or a negative errno and what is in the way and its remedy. */
	int (*probe)(const struct target *t, struct errline *e);
};

extern const struct target_kind target_kind_user;
extern const struct target_kind target_kind_host;
extern const struct target_kind target_kind_native;
extern const struct target_kind target_kind_vm;

/* The @idx-th kind, NULL past the last. */
const struct target_kind *target_kind_get(size_t idx);

/* Native code, for which benches need a form of their own. */
static inline bool target_is_native(const struct target *t)
{
	return t->kind == &target_kind_native;
}

static inline bool target_is_vm(const struct target *t)
{
	return t->kind == &target_kind_vm;
}

/* What comes behind "vm:", @t->spec being set: for commands that take a kernel without "vm:". */
int target_vm_parse(struct target *t, const char *text, struct errline *e);

int target_parse(struct target *t, const char *spec, struct errline *e);
int target_enter(const struct target *t, struct errline *e);
void target_leave(const struct target *t);
int target_probe(const struct target *t, struct errline *e);

/*
 * The probe of every kind: create a map, load a program that counts in it, run it, look. On failure
 * *@step says which of these failed.
 */
int target_probe_bpf(const char **step);

#endif
