/* SPDX-License-Identifier: BSD-2-Clause */
/* The benches that are built in, by name. */
#ifndef BPFLAB_REGISTRY_H
#define BPFLAB_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"

/* The @idx-th bench in the order of benches.def, NULL past the last. */
const struct bench *registry_get(size_t idx);
bool registry_is_quick(size_t idx);

/*
 * Call @add for each bench whose name is, or matches the glob, @pattern. -ENOENT with a line that
 * suggests a name if there is none; otherwise what @add returned, which ends the walk unless 0.
 */
int registry_match(const char *pattern, int (*add)(const struct bench *bench, void *ctx), void *ctx,
		   struct errline *e);

#endif
