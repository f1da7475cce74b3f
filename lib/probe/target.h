/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kprobe or uprobe is for, and attaching a program to it: to the entry of a traceable function by
 * its nop (kprobe.h), to anything else by a point (point.h).
 */
#ifndef BPFU_PROBE_TARGET_H
#define BPFU_PROBE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/point.h"

struct bpfu_func;
struct bpfu_probe_set;

struct bpfu_target {
	bool is_uprobe;
	struct bpfu_func *func;  /* by its nop; NULL: by a point */
	struct bpfu_point_place place; /* .cookie is the attachment's */
	/* For messages and for link info. */
	struct bpfu_func *in;    /* kprobe: the function; NULL: given by its address */
	char *path;              /* uprobe: malloc()ed */
	uint64_t offset;         /* in the function or the file */
	uint64_t ref_ctr_offset; /* in the file; 0: none */
};

/*
 * Byte @offset of function @name, or of address @addr if @name is NULL. 0; -ENOENT (no such function),
 * -EINVAL (beyond the function, or an offset for a return probe).
 */
int bpfu_target_kprobe(struct bpfu_target *target, const char *name, uint64_t addr, uint64_t offset,
		       bool is_return);

/*
 * Byte @offset of the file @path, with a counter at @ref_ctr_offset (0: none). 0; -ENOENT and its
 * like; -EOPNOTSUPP (a file that is not loaded in this process); -EINVAL (no text there, or no
 * counter); -ENOMEM.
 */
int bpfu_target_uprobe(struct bpfu_target *target, const char *path, uint64_t offset,
		       uint64_t ref_ctr_offset);

/* Only what lies in this process can be probed: 0 or -EOPNOTSUPP, for @pid of perf_event_open(). */
int bpfu_target_check_pid(int pid);

void bpfu_target_release(struct bpfu_target *target);

/* A program that is attached. */
struct bpfu_probing {
	struct bpfu_probe_set *probes; /* NULL: none of this kind */
	struct bpfu_point_set *points; /* NULL: none of this kind */
};

/*
 * Attach @prog to @cnt targets with a cookie each (@cookies NULL: 0). All or nothing: 0 or -errno,
 * which has been told to the log.
 */
int bpfu_target_attach(struct bpfu_prog *prog, enum bpfu_when when, const struct bpfu_target *targets,
		       const uint64_t *cookies, uint32_t cnt, struct bpfu_probing *out);

/* No new run starts after it. */
void bpfu_target_detach(struct bpfu_probing *probing);

/* Returns that were not waited for. */
uint64_t bpfu_target_missed(const struct bpfu_probing *probing);

#endif
