/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses as places in files, which go on meaning something when the process is gone. */
#ifndef BPFU_UTIL_BUILD_ID_H
#define BPFU_UTIL_BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>

#define BPFU_BUILD_ID_SIZE 20

/*
 * The file around @addr: its build id, filled up with zeros, and the offset of @addr in it. False: no loaded
 * file has it, or that file has no build id. Takes no lock.
 */
bool bpfu_build_id_of(uint64_t addr, uint8_t id[BPFU_BUILD_ID_SIZE], uint64_t *off);

#endif
