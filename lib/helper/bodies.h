/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bodies of the helpers by name, and what other parts share with them. Every body takes five
 * and returns one 64-bit value; narrower parameters are truncated by the body, and negative results
 * are sign-extended, as the kernel's are.
 */
#ifndef BPFU_HELPER_BODIES_H
#define BPFU_HELPER_BODIES_H

#include <stddef.h>
#include <stdint.h>

#define BPFU_HELPER(name, ...)                                                                     \
	uint64_t bpfu_helper_##name(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,            \
				    uint64_t r5);
#define BPFU_HELPER_NO_BODY(name, ...)
#include "helper/helper.def"
#undef BPFU_HELPER

#define BPFU_MAX_LOOPS (8u * 1024 * 1024) /* bpf_loop: BPF_MAX_LOOPS */
#define BPFU_PRINTF_MAX_ARGS 12           /* MAX_BPRINTF_VARARGS */

/*
 * Check a format of snprintf and the trace_printk family, without reading any argument: @fmt has
 * @fmt_size bytes with the NUL, @arg_cnt arguments follow. 0 or -EINVAL, as bpf_bprintf_prepare()
 * (the verifier checks constant formats with it).
 */
int bpfu_format_check(const char *fmt, uint32_t fmt_size, uint32_t arg_cnt);

/*
 * Format into @out as snprintf(3) does: the length without the NUL had @size been enough, or
 * -EINVAL for a bad format. Strings are read with faults caught.
 */
int bpfu_format(char *out, size_t size, const char *fmt, uint32_t fmt_size, const uint64_t *args,
		uint32_t arg_cnt);

#endif
