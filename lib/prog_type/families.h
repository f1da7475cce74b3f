/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to prog_type/: the types of prog_types.def, and small predicates that families share. */
#ifndef BPFU_PROG_TYPE_FAMILIES_H
#define BPFU_PROG_TYPE_FAMILIES_H

#include <stddef.h>

#include "helper/helper.h"
#include "prog_type/prog_type.h"

#define BPFU_PROG_TYPE(type_, name_) extern const struct bpfu_prog_type bpfu_type_##name_;
#include "prog_type/prog_types.def"
#undef BPFU_PROG_TYPE

/* True if byte @off lies in member @m of struct @s. */
#define BPFU_IN_FIELD(off, s, m)                                                                   \
	((off) >= (int)offsetof(s, m) &&                                                           \
	 (off) < (int)(offsetof(s, m) + sizeof(((s *)0)->m)))

/* First byte behind member @m of struct @s. */
#define BPFU_FIELD_END(s, m) (offsetof(s, m) + sizeof(((s *)0)->m))

/* Helpers that everybody or the families in @mask may call. */
static inline bool bpfu_helper_in(const struct bpfu_helper *helper, uint32_t mask)
{
	return helper->flags & (BPFU_HELPER_BASE | mask);
}

#endif
