// SPDX-License-Identifier: BSD-2-Clause
/* From a number to a program type. */
#include "prog_type/prog_type.h"

#include "prog_type/families.h"
#include "util/bits.h"

#define BPFU_PROG_TYPE(type_, name_) [BPF_PROG_TYPE_##type_] = &bpfu_type_##name_,
static const struct bpfu_prog_type *const types[] = {
#include "prog_type/prog_types.def"
};

const struct bpfu_prog_type *bpfu_prog_type_of(uint32_t type)
{
	return type < BPFU_ARRAY_SIZE(types) ? types[type] : NULL;
}
