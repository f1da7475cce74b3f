// SPDX-License-Identifier: BSD-2-Clause
/* Helpers about the attachment that a program runs for. */
#include "helper/bodies.h"
#include "obj/tracepoint.h"

uint64_t bpfu_helper_get_attach_cookie(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	return bpfu_attach_cookie;
}
