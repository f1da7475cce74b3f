/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels that guests boot: ${XDG_CACHE_HOME:-~/.cache}/bpflab/kernels, a folder NAME.MACHINE each:
 *
 *	vmlinuz  config  modules/  kernel.json  abilities.json (once it was asked)
 *
 * A kernel appears whole or not at all: it is put together in a folder .staging-XXXXXX beside its place,
 * written to the disk, and renamed. Such a folder is locked by the process that fills it; one without a
 * lock was left by a process that died, and is removed by the next that stages.
 */
#ifndef BPFLAB_STORE_H
#define BPFLAB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errline.h"
#include "vm/machine_kind.h"

#define KERNEL_NAME_MAX 64

struct kernel {
	char name[KERNEL_NAME_MAX];
	const struct machine_kind *machine;
	char dir[4096];      /* of the store; "" for one that lies elsewhere (folder.h) */
	char image[4200];
	char modules[4200];  /* a folder that has those that guests need; it need not exist */
	bool is_tree;        /* … somewhere below it */
	char package[128]; /* and its version; "" if it was added by hand */
	uint64_t bytes;    /* on the disk */
};

struct kernel_list {
	struct kernel *items; /* by machine, then by version */
	size_t nr;
};

struct store_stage {
	char dir[4096];
	int lock;
};

/* The folder of all kernels, which is made if need be. */
int store_dir(char *buf, size_t size, struct errline *e);

int store_list(struct kernel_list *list, struct errline *e);
void store_list_release(struct kernel_list *list);

/*
 * The kernel called @name, or the newest whose version starts with @name: 6.12 means 6.12.118, then.
 * -ENOENT with a line that says how to get one.
 */
int store_find(struct kernel *k, const char *name, const struct machine_kind *machine, struct errline *e);

/* The same among those of @list, which is in order; NULL if there is none. */
const struct kernel *kernel_list_find(const struct kernel_list *list, const char *name,
				      const struct machine_kind *machine);
/* Append @k. -ENOMEM. */
int kernel_list_add(struct kernel_list *list, const struct kernel *k);
/* By machine, then by version. */
void kernel_list_sort(struct kernel_list *list);

/* -EINVAL if @name cannot be the name of a kernel. */
int store_check_name(const char *name, struct errline *e);
/* Numbers as numbers, and candidates before what they became: 6.9 < 6.12-rc3 < 6.12 < 6.12.1. Less than, equal to or
 * greater than 0. */
int store_compare_versions(const char *a, const char *b);

int store_stage_begin(struct store_stage *s, struct errline *e);
/* @s->dir becomes the kernel @name, in place of one that is there; @package as in struct kernel. */
int store_stage_commit(struct store_stage *s, const char *name, const struct machine_kind *machine,
		       const char *package, struct errline *e);
/* Drop it, if it was not committed. */
void store_stage_end(struct store_stage *s);

int store_remove(const struct kernel *k, struct errline *e);

/* The @idx-th module that guests need where it is not built in, in the order of loading; or NULL. */
const char *kernel_module(size_t idx);
/* Where @k has it: false if it has none. */
bool kernel_module_path(const struct kernel *k, const char *module, char *buf, size_t size);
/* Copy the modules that guests need from the tree @from to @to, which is made. */
int kernel_copy_modules(const char *from, const char *to, struct errline *e);
/* Copy @from to @to. */
int kernel_copy_file(const char *from, const char *to, struct errline *e);

/* A line for a failure to write below @dir: a full disk has a remedy of its own. */
int store_write_error(struct errline *e, int err, const char *dir);

#endif
