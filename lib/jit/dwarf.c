// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sections for source lines; see dwarf.h. DWARF 4: 7.5 for .debug_info and .debug_abbrev, 6.2 for the line
 * program, of which only the plain operations are used: a sequence for each function.
 */
#include "jit/dwarf.h"

#include "util/bits.h"

#define VERSION 4

enum { TAG_COMPILE_UNIT = 0x11, TAG_SUBPROGRAM = 0x2e };
enum { AT_NAME = 0x03, AT_STMT_LIST = 0x10, AT_LOW_PC = 0x11, AT_HIGH_PC = 0x12, AT_LANGUAGE = 0x13,
       AT_EXTERNAL = 0x3f };
enum { FORM_ADDR = 0x01, FORM_DATA2 = 0x05, FORM_DATA4 = 0x06, FORM_STRING = 0x08, FORM_SEC_OFFSET = 0x17,
       FORM_FLAG_PRESENT = 0x19 };
enum { LANG_C99 = 0x0c };

enum { UNIT = 1, FUNC }; /* kinds of entries, as .debug_abbrev numbers them */

static void make_abbrev(struct bpfu_bytes *b)
{
	static const uint8_t abbrev[] = {
		UNIT, TAG_COMPILE_UNIT, 1, AT_LANGUAGE, FORM_DATA2, AT_NAME, FORM_STRING, AT_STMT_LIST,
		FORM_SEC_OFFSET, AT_LOW_PC, FORM_ADDR, AT_HIGH_PC, FORM_DATA4, 0, 0,
		FUNC, TAG_SUBPROGRAM, 0, AT_NAME, FORM_STRING, AT_LOW_PC, FORM_ADDR, AT_HIGH_PC, FORM_DATA4,
		AT_EXTERNAL, FORM_FLAG_PRESENT, 0, 0,
		0,
	};

	bpfu_bytes_put(b, abbrev, sizeof(abbrev));
}

static void make_info(struct bpfu_bytes *b, const struct bpfu_gdb_image *image)
{
	bpfu_bytes_put32(b, 0); /* length */
	bpfu_bytes_put16(b, VERSION);
	bpfu_bytes_put32(b, 0); /* in .debug_abbrev */
	bpfu_bytes_put8(b, sizeof(uint64_t));
	bpfu_bytes_put8(b, UNIT);
	bpfu_bytes_put16(b, LANG_C99);
	bpfu_bytes_put_str(b, image->files[image->lines[0].file]);
	bpfu_bytes_put32(b, 0); /* in .debug_line */
	bpfu_bytes_put64(b, bpfu_u64(image->code));
	bpfu_bytes_put32(b, image->size);
	for (uint32_t i = 0; i < image->func_cnt; i++) {
		bpfu_bytes_put8(b, FUNC);
		bpfu_bytes_put_str(b, image->funcs[i].name);
		bpfu_bytes_put64(b, image->funcs[i].addr);
		bpfu_bytes_put32(b, image->funcs[i].len);
	}
	bpfu_bytes_put8(b, 0); /* no more functions */
	bpfu_bytes_set32(b, 0, b->len - 4);
}

/* ---- the line program ---- */

enum { LNS_EXTENDED, LNS_COPY, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE, OPCODE_BASE };
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };

static void put_line_header(struct bpfu_bytes *b, const struct bpfu_gdb_image *image)
{
	static const uint8_t lengths[OPCODE_BASE - 1] = { 0, 1, 1, 1 };
	uint32_t start;

	bpfu_bytes_put32(b, 0); /* length */
	bpfu_bytes_put16(b, VERSION);
	bpfu_bytes_put32(b, 0); /* length of what follows of the header */
	start = b->len;
	bpfu_bytes_put8(b, 1); /* unit of addresses */
	bpfu_bytes_put8(b, 1); /* operations per instruction */
	bpfu_bytes_put8(b, 1); /* rows begin statements */
	bpfu_bytes_put8(b, 0); /* line base and range, which nothing uses */
	bpfu_bytes_put8(b, 1);
	bpfu_bytes_put8(b, OPCODE_BASE);
	bpfu_bytes_put(b, lengths, sizeof(lengths));
	bpfu_bytes_put8(b, 0); /* no folders */
	for (uint32_t i = 0; i < image->file_cnt; i++) {
		bpfu_bytes_put_str(b, image->files[i]);
		bpfu_bytes_put(b, (const uint8_t[]){ 0, 0, 0 }, 3); /* folder, time, size */
	}
	bpfu_bytes_put8(b, 0);
	bpfu_bytes_set32(b, start - 4, b->len - start);
}

static void put_extended(struct bpfu_bytes *b, uint8_t op, uint8_t operand_size)
{
	bpfu_bytes_put8(b, LNS_EXTENDED);
	bpfu_bytes_put8(b, (uint8_t)(1 + operand_size));
	bpfu_bytes_put8(b, op);
}

static void put_advance(struct bpfu_bytes *b, uint64_t bytes)
{
	if (!bytes)
		return;
	bpfu_bytes_put8(b, LNS_ADVANCE_PC);
	bpfu_bytes_put_uleb(b, bytes);
}

static void put_sequence(struct bpfu_bytes *b, const struct bpfu_gdb_image *image,
			 const struct bpfu_gdb_func *func)
{
	struct bpfu_gdb_line at = { func->addr, 0, 1 }; /* what the rows begin with */
	bool any = false;

	for (uint32_t i = 0; i < image->line_cnt; i++) {
		const struct bpfu_gdb_line *line = &image->lines[i];

		if (line->addr < func->addr || line->addr >= func->addr + func->len)
			continue;
		if (!any) {
			put_extended(b, LNE_SET_ADDRESS, sizeof(uint64_t));
			bpfu_bytes_put64(b, func->addr);
			any = true;
		}
		put_advance(b, line->addr - at.addr);
		if (line->file != at.file) {
			bpfu_bytes_put8(b, LNS_SET_FILE);
			bpfu_bytes_put_uleb(b, line->file + 1);
		}
		if (line->line != at.line) {
			bpfu_bytes_put8(b, LNS_ADVANCE_LINE);
			bpfu_bytes_put_sleb(b, (int64_t)line->line - at.line);
		}
		bpfu_bytes_put8(b, LNS_COPY);
		at = *line;
	}
	if (!any)
		return;
	put_advance(b, func->addr + func->len - at.addr);
	put_extended(b, LNE_END_SEQUENCE, 0);
}

static void make_line(struct bpfu_bytes *b, const struct bpfu_gdb_image *image)
{
	put_line_header(b, image);
	for (uint32_t i = 0; i < image->func_cnt; i++)
		put_sequence(b, image, &image->funcs[i]);
	bpfu_bytes_set32(b, 0, b->len - 4);
}

void bpfu_dwarf_make(struct bpfu_dwarf *dwarf, const struct bpfu_gdb_image *image)
{
	make_abbrev(&dwarf->abbrev);
	make_info(&dwarf->info, image);
	make_line(&dwarf->line, image);
}
