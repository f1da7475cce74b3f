// SPDX-License-Identifier: BSD-2-Clause
/*
 * A processor runs what was written last, once caches have been flushed as its manual asks. An
 * emulator of user processes translates code when it first runs and watches the page it came from
 * for writes, but not a second mapping of that page: qemu before 8.1 goes on running the translation
 * of code that is long gone, whatever is flushed. So look, once: write a function, call it, write
 * another in its place, call that.
 */
#include "jit/image_probe.h"

#include <string.h>

#if defined(__x86_64__)
#include "jit/x86_64/encode.h"
#include "jit/x86_64/regs.h"
#elif defined(__aarch64__)
#include "jit/arm64/encode.h"
#include "jit/arm64/regs.h"
#endif

/* A function that returns @value; false on a machine without a backend. */
static bool write_return(uint8_t *rw, uint8_t value)
{
#if defined(__x86_64__)
	struct bpfu_codebuf cb;
	bool ok;

	bpfu_codebuf_init(&cb, BPFU_IMAGE_PROBE_SIZE);
	x86_mov_ri32(&cb, X86_RAX, value);
	x86_ret(&cb);
	ok = !cb.err && cb.len <= BPFU_IMAGE_PROBE_SIZE;
	if (ok)
		memcpy(rw, cb.data, cb.len);
	bpfu_codebuf_release(&cb);
	return ok;
#elif defined(__aarch64__)
	const uint32_t code[] = { a64_movz(false, A64_X0, value, 0), a64_ret() };

	memcpy(rw, code, sizeof(code));
	return true;
#else
	return false;
#endif
}

static void flush(uint8_t *rx)
{
	__builtin___clear_cache((char *)rx, (char *)rx + BPFU_IMAGE_PROBE_SIZE);
}

bool bpfu_image_rewrite_seen(uint8_t *rx, uint8_t *rw)
{
	unsigned int (*volatile func)(void) = (unsigned int (*)(void))(uintptr_t)rx;
	bool seen = true;

	for (uint8_t value = 1; value <= 2 && seen; value++) {
		if (!write_return(rw, value))
			break;
		flush(rx);
		seen = func() == value;
	}
	memset(rw, 0, BPFU_IMAGE_PROBE_SIZE);
	flush(rx);
	return seen;
}
