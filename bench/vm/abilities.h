/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel can do for BPF, found by trying it: never from its version. */
#ifndef BPFLAB_ABILITIES_H
#define BPFLAB_ABILITIES_H

#include <jansson.h>

#include "vm/store.h"

/*
 * Try all on the kernel this runs on: {"release": …, "abilities": {NAME: true, or the reason why not}}.
 * NULL: out of memory.
 */
json_t *abilities_ask(void);

/* What a guest of @k answered; NULL: it was not asked since it is here. */
json_t *abilities_load(const struct kernel *k);
int abilities_save(const struct kernel *k, const json_t *o, struct errline *e);

#endif
