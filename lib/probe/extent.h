/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the process knows of its own text without symbols: which file an address came from, where the
 * function around it begins and ends (from the unwind tables, which stripped files have, too).
 */
#ifndef BPFU_PROBE_EXTENT_H
#define BPFU_PROBE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct bpfu_extent {
	uintptr_t start, end;
};

/*
 * The function around @addr: true if a table tells. *@text, which may be NULL, gets whether @addr is
 * in executable text of a loaded file at all.
 */
bool bpfu_extent_find(uintptr_t addr, struct bpfu_extent *func, bool *text);

enum bpfu_file_part { BPFU_FILE_TEXT, BPFU_FILE_DATA };

/*
 * The address of byte @off of the loaded file @path. 0; -ENOENT and its like (there is no such file),
 * -EOPNOTSUPP (it is not loaded in this process), -EINVAL (that part of it is not loaded, or not as
 * @part).
 */
int bpfu_file_addr(const char *path, uint64_t off, enum bpfu_file_part part, uintptr_t *addr);

#endif
