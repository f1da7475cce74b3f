// SPDX-License-Identifier: BSD-2-Clause
/* Stubs of x86-64 (stub.h); what they call is in entry.S. */
#if defined(__x86_64__)

#include "probe/stub.h"

#include <cpuid.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* entry.S */
void bpfu_entry_point(void);
void bpfu_entry_return(void);

/* Which vector registers are saved, how much memory that takes, and by which instruction. */
uint32_t bpfu_xsave_mask = 0;
uint32_t bpfu_xsave_size = 512; /* fxsave */
uint8_t bpfu_xsave_compact;

/* SSE, AVX, the three of AVX-512; not x87, which handlers do not use. */
#define WANTED 0xe6u
#define HEADER_END 576u

void bpfu_stub_init(void)
{
	uint32_t a, b, c, d, enabled, size = HEADER_END;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
	enabled &= WANTED;
	for (uint32_t i = 2; i < 8; i++) {
		if (!(enabled & 1u << i))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		if (a + b > size)
			size = a + b;
	}
	__cpuid_count(0xd, 1, a, b, c, d);
	bpfu_xsave_compact = a >> 1 & 1;
	bpfu_xsave_size = size;
	bpfu_xsave_mask = enabled;
}

/* ---- code ---- */

struct out {
	uint8_t *bytes;
	int len;
};

static void put(struct out *o, const void *bytes, int n)
{
	memcpy(o->bytes + o->len, bytes, (size_t)n);
	o->len += n;
}

/* call [rip + …] */
static void put_call_cell(struct out *o, const void *cell)
{
	static const uint8_t call[] = { 0xff, 0x15 };
	int32_t off = (int32_t)((const uint8_t *)cell - (o->bytes + o->len + 6));

	put(o, call, sizeof(call));
	put(o, &off, sizeof(off));
}

void bpfu_return_stub(uint8_t *out, uint32_t number, const void *cell)
{
	static const uint8_t push = 0x68, ret = 0xc3;
	struct out o = { .bytes = out };

	put(&o, &push, 1);
	put(&o, &number, sizeof(number));
	put_call_cell(&o, cell);
	put(&o, &ret, 1);
}

uint64_t bpfu_return_common(void)
{
	return (uint64_t)(uintptr_t)bpfu_entry_return;
}

#define NOP_CELL 48 /* where the thunk has the address of the common code */

int bpfu_nop_thunk(uint8_t out[BPFU_NOP_THUNK_MAX], const void *at, const void *point,
		   const void *next)
{
	static const uint8_t lea_down[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 }; /* rsp - 128 */
	static const uint8_t mov_high[] = { 0xc7, 0x44, 0x24, 0x04 };       /* dword [rsp + 4] */
	static const uint8_t lea_up[] = { 0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0 }; /* rsp + 136 */
	static const uint8_t push = 0x68, jmp = 0xe9;
	uint64_t common = (uint64_t)(uintptr_t)bpfu_entry_point, value = (uint64_t)(uintptr_t)point;
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
	struct out o = { .bytes = out };
	int64_t rel;
	int32_t rel32;

	put(&o, lea_down, sizeof(lea_down));
	put(&o, &push, 1);
	put(&o, &low, sizeof(low));
	put(&o, mov_high, sizeof(mov_high));
	put(&o, &high, sizeof(high));
	put_call_cell(&o, out + NOP_CELL);
	put(&o, lea_up, sizeof(lea_up));
	put(&o, &jmp, 1);
	rel = (const uint8_t *)next - ((const uint8_t *)at + o.len + 4);
	rel32 = (int32_t)rel;
	put(&o, &rel32, sizeof(rel32));
	memcpy(out + NOP_CELL, &common, sizeof(common));
	return rel == rel32 ? BPFU_NOP_THUNK_MAX : -ERANGE;
}

#else
typedef int no_stub_on_this_machine;
#endif
