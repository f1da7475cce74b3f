/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines of an image as debuggers read them: DWARF 4, one unit with the functions and their lines. */
#ifndef BPFU_JIT_DWARF_H
#define BPFU_JIT_DWARF_H

#include "jit/gdb.h"
#include "util/bytes.h"

struct bpfu_dwarf {
	struct bpfu_bytes info, abbrev, line; /* the sections; the caller frees them */
};

/* Fill the zeroed @dwarf from an image that has lines. */
void bpfu_dwarf_make(struct bpfu_dwarf *dwarf, const struct bpfu_gdb_image *image);

#endif
