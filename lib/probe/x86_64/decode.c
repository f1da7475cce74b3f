// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lengths of x86-64 instructions. One letter for each opcode says what follows it:
 *
 *      .  nothing                  m  ModRM              b  a byte          w  two bytes
 *      z  2 or 4 bytes             B  ModRM and b        Z  ModRM and z     e  w and b (enter)
 *      v  2, 4 or 8 bytes          a  an address         j  short distance  J  long distance
 *      g  ModRM, and b for /0, /1  G  the same with z    p  it is a prefix  r  it is a REX prefix
 *      V  a VEX, EVEX, XOP prefix  T  another table      x  no instruction
 *
 * "2 or 4": 2 behind the prefix 66 unless REX.W is there. What each letter stands for is uniform over
 * the families that came later: all of a VEX map has a ModRM, and a byte behind it or not.
 */
#include "probe/x86_64/decode.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const char one_byte[] =
	/* 00 */ "mmmmbzxx" "mmmmbzxT"
	/* 10 */ "mmmmbzxx" "mmmmbzxx"
	/* 20 */ "mmmmbzpx" "mmmmbzpx"
	/* 30 */ "mmmmbzpx" "mmmmbzpx"
	/* 40 */ "rrrrrrrr" "rrrrrrrr"
	/* 50 */ "........" "........"
	/* 60 */ "xxVmpppp" "zZbB...."
	/* 70 */ "jjjjjjjj" "jjjjjjjj"
	/* 80 */ "BZxBmmmm" "mmmmmmmm"
	/* 90 */ "........" "..x....."
	/* a0 */ "aaaa...." "bz......"
	/* b0 */ "bbbbbbbb" "vvvvvvvv"
	/* c0 */ "BBw.VVBZ" "e.w..bx."
	/* d0 */ "mmmmxxx." "mmmmmmmm"
	/* e0 */ "jjjjbbbb" "JJxj...."
	/* f0 */ "p.pp..gG" "......mm";

static const char two_bytes[] = /* behind 0f */
	/* 00 */ "mmmmx..." "..x.xm.B"
	/* 10 */ "mmmmmmmm" "mmmmmmmm"
	/* 20 */ "mmmmxxxx" "mmmmmmmm"
	/* 30 */ "......x." "TxTxxxxx"
	/* 40 */ "mmmmmmmm" "mmmmmmmm"
	/* 50 */ "mmmmmmmm" "mmmmmmmm"
	/* 60 */ "mmmmmmmm" "mmmmmmmm"
	/* 70 */ "BBBBmmm." "mmxxmmmm"
	/* 80 */ "JJJJJJJJ" "JJJJJJJJ"
	/* 90 */ "mmmmmmmm" "mmmmmmmm"
	/* a0 */ "...mBmmm" "...mBmmm"
	/* b0 */ "mmmmmmmm" "mmBmmmmm"
	/* c0 */ "mmBmBBBm" "........"
	/* d0 */ "mmmmmmmm" "mmmmmmmm"
	/* e0 */ "mmmmmmmm" "mmmmmmmm"
	/* f0 */ "mmmmmmmm" "mmmmmmmm";
/* clang-format on */

/* Opcode maps. Those of VEX and EVEX have the numbers of the legacy ones. */
enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_5 = 5, MAP_6, MAP_XOP8 = 8, MAP_XOP9, MAP_XOPA };

struct decoder {
	const uint8_t *code;
	size_t size, at;
	bool p66, p67, lock, repz, repnz, rex_w;
	bool vex; /* VEX, EVEX or XOP: no legacy meaning of the opcode */
	int map;
	bool too_short;
};

static uint8_t next(struct decoder *d)
{
	if (d->at >= d->size || d->at >= BPFU_X86_INSN_MAX) {
		d->too_short = true;
		return 0;
	}
	return d->code[d->at++];
}

static void skip(struct decoder *d, size_t n)
{
	while (n--)
		next(d);
}

static bool prefix(struct decoder *d, uint8_t byte)
{
	d->p66 |= byte == 0x66;
	d->p67 |= byte == 0x67;
	d->lock |= byte == 0xf0;
	d->repnz |= byte == 0xf2;
	d->repz |= byte == 0xf3;
	return one_byte[byte] == 'p';
}

/* The prefix byte @first has been read; read the rest and the opcode. */
static int vex_prefix(struct decoder *d, uint8_t first, uint8_t *opcode)
{
	uint8_t p = next(d);

	d->vex = true;
	switch (first) {
	case 0xc5:
		d->map = MAP_0F;
		break;
	case 0xc4:
		d->map = p & 0x1f;
		d->rex_w = next(d) & 0x80;
		if (d->map < MAP_0F || d->map > MAP_0F3A)
			return -EINVAL;
		break;
	case 0x8f:
		d->map = p & 0x1f;
		d->rex_w = next(d) & 0x80;
		break;
	default: /* EVEX; the bits 08 and, in the next byte, 04 are fixed */
		d->map = p & 7;
		if ((p & 8) || !(next(d) & 4) || d->map == MAP_ONE || d->map == 4 || d->map == 7)
			return -EINVAL;
		next(d);
	}
	*opcode = next(d);
	return d->p66 || d->lock || d->repz || d->repnz ? -EINVAL : 0;
}

static char vex_form(const struct decoder *d, uint8_t opcode)
{
	switch (d->map) {
	case MAP_0F:
		return strchr("B.", two_bytes[opcode]) && (opcode >> 4 == 7 || opcode >> 4 == 0xc) ?
			       two_bytes[opcode] : 'm';
	case MAP_0F3A:
	case MAP_XOP8:
		return 'B';
	case MAP_XOPA:
		return 'D'; /* ModRM and four bytes */
	default:
		return 'm';
	}
}

/* Prefixes and opcode. *@form gets its letter. */
static int read_opcode(struct decoder *d, struct bpfu_x86_insn *insn, char *form)
{
	uint8_t byte = next(d), opcode;
	bool rex = false;
	int err;

	/* REX counts only right in front of the opcode. */
	while (!d->too_short && (prefix(d, byte) || one_byte[byte] == 'r')) {
		rex = one_byte[byte] == 'r';
		d->rex_w = rex && (byte & 8);
		byte = next(d);
	}
	*form = one_byte[byte];
	if (rex && *form == 'V')
		return -EINVAL;
	opcode = byte;
	if (byte == 0x8f && d->at < d->size && (d->code[d->at] & 0x1f) >= MAP_XOP8)
		*form = 'V'; /* else pop r/m, whose ModRM has zeros there */
	if (*form == 'V') {
		err = vex_prefix(d, byte, &opcode);
		if (err)
			return err;
		*form = vex_form(d, opcode);
	} else if (*form == 'T') {
		d->map = MAP_0F;
		opcode = next(d);
		*form = two_bytes[opcode];
		if (*form == 'T') {
			d->map = opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
			opcode = next(d);
			*form = d->map == MAP_0F38 ? 'm' : 'B';
		}
	}
	insn->opcode_at = (uint8_t)(d->at - 1);
	insn->opcode = opcode;
	return d->too_short || *form == 'x' ? -EINVAL : 0;
}

/* Addressing is that of 64-bit mode; with the prefix 67 its lengths are the same. */
static uint8_t read_modrm(struct decoder *d, struct bpfu_x86_insn *insn)
{
	uint8_t modrm = next(d), mod = modrm >> 6, rm = modrm & 7, base = rm;

	insn->modrm_at = (uint8_t)(d->at - 1);
	if (mod == 3)
		return modrm;
	/* Moves to and from control registers take registers whatever mod says. */
	if (d->map == MAP_0F && !d->vex && (insn->opcode & 0xfc) == 0x20)
		return modrm;
	if (rm == 4)
		base = next(d) & 7;
	if (mod == 0 && rm == 5)
		insn->rip_disp_at = (uint8_t)d->at;
	if (mod == 1)
		skip(d, 1);
	else if (mod == 2 || base == 5)
		skip(d, 4);
	return modrm;
}

static size_t z_size(const struct decoder *d)
{
	return d->p66 && !d->rex_w ? 2 : 4;
}

static void read_distance(struct decoder *d, struct bpfu_x86_insn *insn, size_t size)
{
	int32_t rel = 0;

	skip(d, size);
	if (d->too_short)
		return;
	if (size == 1) {
		insn->target_off = (int8_t)d->code[d->at - 1];
		return;
	}
	memcpy(&rel, d->code + d->at - size, sizeof(rel));
	insn->target_off = rel;
}

static int read_operands(struct decoder *d, struct bpfu_x86_insn *insn, char form)
{
	uint8_t modrm = strchr("mBZgGD", form) ? read_modrm(d, insn) : 0;

	switch (form) {
	case 'b':
	case 'B':
		skip(d, 1);
		break;
	case 'w':
		skip(d, 2);
		break;
	case 'e':
		skip(d, 3);
		break;
	case 'z':
	case 'Z':
		skip(d, z_size(d));
		break;
	case 'D':
		skip(d, 4);
		break;
	case 'v':
		skip(d, d->rex_w ? 8 : z_size(d));
		break;
	case 'a':
		skip(d, d->p67 ? 4 : 8);
		break;
	case 'g':
		skip(d, (modrm >> 3 & 7) < 2 ? 1 : 0);
		break;
	case 'G':
		skip(d, (modrm >> 3 & 7) < 2 ? z_size(d) : 0);
		break;
	case 'j':
		read_distance(d, insn, 1);
		break;
	case 'J':
		/* Of 16 bits to some processors, of 32 to others. */
		if (d->p66 && !d->rex_w)
			return -EINVAL;
		read_distance(d, insn, 4);
		break;
	}
	/* extrq and insertq of SSE4a: two bytes. */
	if (d->map == MAP_0F && !d->vex && insn->opcode == 0x78 && modrm >= 0xc0 &&
	    (d->p66 || d->repnz))
		skip(d, 2);
	return d->too_short ? -EINVAL : 0;
}

static enum bpfu_x86_kind kind_of_0f(const struct bpfu_x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x07: /* sysret */
	case 0x34: /* sysenter */
	case 0x35: /* sysexit */
	case 0x0b: /* ud2 */
	case 0xb9: /* ud1 */
	case 0xff: /* ud0 */
	case 0xaa: /* rsm */
		return BPFU_X86_REFUSED;
	case 0x1f:
		return BPFU_X86_NOP;
	default:
		return insn->opcode >> 4 == 8 ? BPFU_X86_JCC : BPFU_X86_PLAIN;
	}
}

static enum bpfu_x86_kind kind_of_ff(uint8_t modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
		return BPFU_X86_CALL_RM;
	case 4:
		return BPFU_X86_JMP_RM;
	case 3: /* far */
	case 5:
	case 7: /* none */
		return BPFU_X86_REFUSED;
	default:
		return BPFU_X86_PLAIN;
	}
}

static enum bpfu_x86_kind kind_of(const struct decoder *d, const struct bpfu_x86_insn *insn)
{
	uint8_t op = insn->opcode, modrm = insn->modrm_at ? d->code[insn->modrm_at] : 0;

	if (d->vex || d->map > MAP_0F)
		return BPFU_X86_PLAIN;
	if (d->map == MAP_0F)
		return kind_of_0f(insn);
	switch (op) {
	case 0x90:
		/* f3: pause; REX.B makes it an exchange of registers. */
		return d->repz || (insn->opcode_at && (d->code[insn->opcode_at - 1] & 0xf1) == 0x41) ?
			       BPFU_X86_PLAIN : BPFU_X86_NOP;
	case 0xc2:
	case 0xc3:
		return BPFU_X86_RET;
	case 0xe8:
		return BPFU_X86_CALL;
	case 0xe9:
	case 0xeb:
		return BPFU_X86_JMP;
	case 0xff:
		return kind_of_ff(modrm);
	case 0xc7: /* xbegin has a distance, too */
		return modrm == 0xf8 ? BPFU_X86_REFUSED : BPFU_X86_PLAIN;
	case 0x8e: /* to ss: the next instruction belongs to it */
		return (modrm >> 3 & 7) == 2 ? BPFU_X86_REFUSED : BPFU_X86_PLAIN;
	case 0xca: /* far returns, interrupts, iret */
	case 0xcb:
	case 0xcc:
	case 0xcd:
	case 0xcf:
	case 0xf1:
	case 0xf4: /* hlt, cli, sti */
	case 0xfa:
	case 0xfb:
		return BPFU_X86_REFUSED;
	default:
		break;
	}
	if (op >> 4 == 7)
		return BPFU_X86_JCC;
	if (op >> 2 == 0xe0 >> 2)
		return BPFU_X86_LOOP;
	/* Input and output. */
	return op >> 2 == 0xe4 >> 2 || op >> 2 == 0xec >> 2 || op >> 2 == 0x6c >> 2 ?
		       BPFU_X86_REFUSED : BPFU_X86_PLAIN;
}

int bpfu_x86_decode(const uint8_t *code, size_t size, struct bpfu_x86_insn *insn)
{
	struct decoder d = { .code = code, .size = size };
	char form;
	int err;

	*insn = (struct bpfu_x86_insn){ 0 };
	err = read_opcode(&d, insn, &form);
	if (!err)
		err = read_operands(&d, insn, form);
	if (err)
		return err;
	insn->len = (uint8_t)d.at;
	insn->kind = kind_of(&d, insn);
	/* Relative to eip, or an address that would need the prefix of the copy: nobody writes these. */
	if (d.p67 && insn->rip_disp_at)
		insn->kind = BPFU_X86_REFUSED;
	return 0;
}
