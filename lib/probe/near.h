/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable memory within reach of a place in any text of the process: the program and its libraries
 * may lie further apart than a jump reaches. It is private, written as text is (text.h), and
 * never freed: no one can tell when the last thread has left it.
 */
#ifndef BPFU_PROBE_NEAR_H
#define BPFU_PROBE_NEAR_H

#include <stddef.h>

/*
 * @size bytes, at a multiple of 16, from which @at can be reached and the other way round. Filled with
 * zeros, to be written by bpfu_patch_write(). 0, or -ERANGE if there is no room. The caller serialises.
 */
int bpfu_near_alloc(const void *at, size_t size, void **out);

#endif
