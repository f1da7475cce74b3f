// SPDX-License-Identifier: BSD-2-Clause
/* Unwinding tables of generated code; see cfi.h. Pointers in them are absolute. */
#include "jit/cfi.h"

enum {
	REMEMBER_STATE = 0x0a, RESTORE_STATE = 0x0b, DEF_CFA = 0x0c, SAME_VALUE = 0x08,
	ADVANCE_LOC4 = 0x04, OFFSET_EXTENDED = 0x05, ABSOLUTE = 0,
};

#define DATA_UNIT 8 /* of offsets, downwards */

#if defined(__x86_64__)

enum { RSP = 7, RETURN_ADDRESS = 16 };

static const uint8_t initial[] = { DEF_CFA, RSP, 8, OFFSET_EXTENDED, RETURN_ADDRESS, 1 };
static const uint8_t restart[] = { DEF_CFA, RSP, 8 };

/* rbx, rbp and r12 to r15 are what functions have to preserve. */
static const uint8_t preserved[] = { 3, 6, 12, 13, 14, 15 };

static uint8_t dwarf_reg(uint8_t reg)
{
	static const uint8_t low[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return reg < sizeof(low) ? low[reg] : reg;
}

#else

enum { SP = 31, RETURN_ADDRESS = 30 };

static const uint8_t initial[] = { DEF_CFA, SP, 0 };
static const uint8_t restart[] = { DEF_CFA, SP, 0 };
static const uint8_t preserved[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 };

static uint8_t dwarf_reg(uint8_t reg)
{
	return reg;
}

#endif

/* Fill up with DW_CFA_nop, and put the length of what began at @start in front of it. */
static void end_entry(struct bpfu_bytes *t, uint32_t start)
{
	bpfu_bytes_align(t, start, 8);
	bpfu_bytes_set32(t, start, t->len - start - 4);
}

void bpfu_cfi_begin(struct bpfu_bytes *t)
{
	static const uint8_t cie[] = {
		1, 'z', 'R', 0,              /* version, augmentation */
		1, 0x80 - DATA_UNIT,         /* units of code and (negative) of data */
		RETURN_ADDRESS, 1, ABSOLUTE,
	};

	*t = (struct bpfu_bytes){ .data = NULL };
	bpfu_bytes_put32(t, 0); /* length */
	bpfu_bytes_put32(t, 0); /* it is a CIE */
	bpfu_bytes_put(t, cie, sizeof(cie));
	bpfu_bytes_put(t, initial, sizeof(initial));
	end_entry(t, 0);
}

void bpfu_cfi_end(struct bpfu_bytes *t)
{
	bpfu_bytes_put32(t, 0);
}

static void put_row(struct bpfu_bytes *t, const struct bpfu_cfi *row)
{
	switch ((enum bpfu_cfi_op)row->op) {
	case BPFU_CFI_CFA:
		bpfu_bytes_put8(t, DEF_CFA);
		bpfu_bytes_put_uleb(t, dwarf_reg(row->reg));
		bpfu_bytes_put_uleb(t, (uint32_t)row->value);
		break;
	case BPFU_CFI_SAVED:
		bpfu_bytes_put8(t, OFFSET_EXTENDED);
		bpfu_bytes_put_uleb(t, dwarf_reg(row->reg));
		bpfu_bytes_put_uleb(t, (uint32_t)row->value / DATA_UNIT);
		break;
	case BPFU_CFI_SAME:
		bpfu_bytes_put8(t, SAME_VALUE);
		bpfu_bytes_put_uleb(t, dwarf_reg(row->reg));
		break;
	case BPFU_CFI_REMEMBER:
		bpfu_bytes_put8(t, REMEMBER_STATE);
		break;
	case BPFU_CFI_AGAIN:
		bpfu_bytes_put8(t, RESTORE_STATE);
		break;
	case BPFU_CFI_START:
		bpfu_bytes_put(t, restart, sizeof(restart));
		for (uint32_t i = 0; i < sizeof(preserved); i++) {
			bpfu_bytes_put8(t, SAME_VALUE);
			bpfu_bytes_put_uleb(t, preserved[i]);
		}
		break;
	}
}

void bpfu_cfi_func(struct bpfu_bytes *t, uint64_t addr, uint32_t off, uint32_t len,
		   const struct bpfu_cfi *rows, uint32_t cnt)
{
	uint32_t start = t->len, at = off;

	bpfu_bytes_put32(t, 0);
	bpfu_bytes_put32(t, t->len); /* distance to the CIE */
	bpfu_bytes_put64(t, addr);
	bpfu_bytes_put64(t, len);
	bpfu_bytes_put8(t, 0); /* no augmentation data */
	for (uint32_t i = 0; i < cnt; i++) {
		if (rows[i].off < off || rows[i].off - off >= len)
			continue;
		if (rows[i].off != at) {
			bpfu_bytes_put8(t, ADVANCE_LOC4);
			bpfu_bytes_put32(t, rows[i].off - at);
			at = rows[i].off;
		}
		put_row(t, &rows[i]);
	}
	end_entry(t, start);
}
