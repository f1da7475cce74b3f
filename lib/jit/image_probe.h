/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether code may be rewritten through a second mapping; see image_probe.c. */
#ifndef BPFU_JIT_IMAGE_PROBE_H
#define BPFU_JIT_IMAGE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define BPFU_IMAGE_PROBE_SIZE 64 /* bytes it overwrites */

/* @rx and @rw: the same unused memory, executable and writable. Leaves zeros there. */
bool bpfu_image_rewrite_seen(uint8_t *rx, uint8_t *rw);

#endif
