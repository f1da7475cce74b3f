// SPDX-License-Identifier: BSD-2-Clause
/* libbpfu's own code; see inner.h. */
#include "util/inner.h"

#include <stdbool.h>
#include <stdint.h>

struct ends {
	int32_t first, last; /* each from its own place */
};

/* The linker's. */
extern const struct ends __start_bpfu_text[] __attribute__((weak, visibility("hidden")));
extern const struct ends __stop_bpfu_text[] __attribute__((weak, visibility("hidden")));

bool bpfu_is_inner(uintptr_t addr)
{
	for (const struct ends *e = __start_bpfu_text; e && e < __stop_bpfu_text; e++)
		if (addr - ((uintptr_t)&e->first + (intptr_t)e->first) <
		    (uintptr_t)&e->last + (intptr_t)e->last -
			    ((uintptr_t)&e->first + (intptr_t)e->first))
			return true;
	return false;
}
