// SPDX-License-Identifier: BSD-2-Clause
/* Return stubs of arm64 (stub.h): breakpoints, which their addresses tell apart. */
#if defined(__aarch64__)

#include "probe/stub.h"

#include <string.h>

#include "probe/insn.h"

void bpfu_return_stub(uint8_t *out, uint32_t number, const void *cell)
{
	const uint32_t brk = BPFU_BREAKPOINT;

	memcpy(out, &brk, sizeof(brk));
}

uint64_t bpfu_return_common(void)
{
	return 0;
}

#else
typedef int no_stub_on_this_machine;
#endif
