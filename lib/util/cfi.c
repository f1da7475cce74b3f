// SPDX-License-Identifier: BSD-2-Clause
/*
 * .eh_frame (Linux Standard Base, "Exception Frames"; DWARF 5, 6.4): a sorted table leads to the description
 * of a function (FDE), which has a common part (CIE). Both hold a program that makes, from the entry on,
 * a table of rules; the one for an address is what it says when it gets there.
 *
 * Of all that such a program may say only what walking needs is kept: where the caller's frame begins,
 * its frame pointer and the return address. Reads are of files that the dynamic linker has loaded, which are
 * trusted as their code is; what is not understood ends the walk.
 */
#include "util/cfi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "util/uaccess.h"

#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16 };
#else
enum { REG_FP = 29, REG_RA = 30, REG_SP = 31 };
#endif

enum { ENC_UDATA4 = 0x03, ENC_PCREL_SDATA4 = 0x1b, ENC_TABLE = 0x3b };

struct header {
	uint8_t version, eh_frame_enc, cnt_enc, table_enc;
	int32_t eh_frame;
	uint32_t cnt;
	struct {
		int32_t start, fde; /* from the header */
	} rows[];
};

/* Where in a register's caller the value is. */
enum where { SAME, AT_CFA, UNDEFINED, ELSEWHERE };

struct saved {
	enum where where;
	int64_t off;
};

struct state {
	enum { CFA_REG, CFA_DEREF, CFA_UNKNOWN } how;
	uint64_t cfa_reg;
	int64_t cfa_off;
	struct saved fp, ra;
};

#define REMEMBERED_MAX 4

struct machine {
	struct state now, initial, remembered[REMEMBERED_MAX];
	unsigned depth;
	uint64_t code_align;
	int64_t data_align;
	uintptr_t loc, wanted;
	bool signal; /* the function is what signal handlers return to */
	bool bad;
};

/* ---- files ---- */

bool bpfu_loaded_file(uintptr_t pc, const void **start, const void **eh_frame_hdr)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)pc, &found))
		return false;
	*start = found.dlfo_map_start;
	*eh_frame_hdr = found.dlfo_eh_frame;
	return true;
}

/* ---- numbers ---- */

static uint64_t uleb(const uint8_t **p)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		if (shift < 64)
			value |= (uint64_t)(**p & 0x7f) << shift;
		shift += 7;
	} while (*(*p)++ & 0x80);
	return value;
}

static int64_t sleb(const uint8_t **p)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = *(*p)++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uintptr_t pcrel(const uint8_t *p)
{
	return (uintptr_t)p + (uintptr_t)(intptr_t)(int32_t)get32(p);
}

/* ---- the program ---- */

static struct saved *saved_of(struct state *s, uint64_t reg)
{
	return reg == REG_FP ? &s->fp : reg == REG_RA ? &s->ra : NULL;
}

static void set(struct machine *m, uint64_t reg, enum where where, int64_t off)
{
	struct saved *saved = saved_of(&m->now, reg);

	if (saved)
		*saved = (struct saved){ where, off };
}

static void restore(struct machine *m, uint64_t reg)
{
	struct saved *saved = saved_of(&m->now, reg);

	if (saved)
		*saved = *saved_of(&m->initial, reg);
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	m->now.how = CFA_REG;
	m->now.cfa_reg = reg;
	m->now.cfa_off = off;
}

/* Of all expressions one: what the word at the frame pointer plus a number says. */
static void cfa_expression(struct machine *m, const uint8_t **p)
{
	enum { OP_BREG = 0x70, OP_DEREF = 0x06 };
	uint64_t len = uleb(p);
	const uint8_t *at = *p, *end = at + len;

	m->now.how = CFA_UNKNOWN;
	if (len >= 3 && *at == OP_BREG + REG_FP) {
		at++;
		m->now.cfa_off = sleb(&at);
		if (at + 1 == end && *at == OP_DEREF)
			m->now.how = CFA_DEREF;
	}
	*p = end;
}

static void skip_block(const uint8_t **p)
{
	uint64_t len = uleb(p);

	*p += len;
}

/* The instructions whose operands are in the low bits. True if @op was one. */
static bool run_packed(struct machine *m, uint8_t op, const uint8_t **p)
{
	uint64_t low = op & 0x3f;

	switch (op & 0xc0) {
	case 0x40: /* advance_loc */
		m->loc += low * m->code_align;
		return true;
	case 0x80: /* offset */
		set(m, low, AT_CFA, (int64_t)uleb(p) * m->data_align);
		return true;
	case 0xc0: /* restore */
		restore(m, low);
		return true;
	default:
		return false;
	}
}

static void run_advance(struct machine *m, uint8_t op, const uint8_t **p)
{
	uint64_t by = **p;

	if (op == 0x03)
		by |= (uint64_t)(*p)[1] << 8;
	else if (op == 0x04)
		by = get32(*p);
	*p += op == 0x02 ? 1 : op == 0x03 ? 2 : 4;
	m->loc += by * m->code_align;
}

static void run_cfa(struct machine *m, uint8_t op, const uint8_t **p)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = uleb(p);
		def_cfa(m, reg, (int64_t)uleb(p));
		return;
	case 0x0d: /* def_cfa_register */
		m->now.cfa_reg = uleb(p);
		return;
	case 0x0e: /* def_cfa_offset */
		m->now.cfa_off = (int64_t)uleb(p);
		return;
	case 0x0f: /* def_cfa_expression */
		cfa_expression(m, p);
		return;
	case 0x12: /* def_cfa_sf */
		reg = uleb(p);
		def_cfa(m, reg, sleb(p) * m->data_align);
		return;
	default: /* 0x13, def_cfa_offset_sf */
		m->now.cfa_off = sleb(p) * m->data_align;
		return;
	}
}

static void run_register(struct machine *m, uint8_t op, const uint8_t **p)
{
	uint64_t reg = uleb(p);

	switch (op) {
	case 0x05: /* offset_extended */
		set(m, reg, AT_CFA, (int64_t)uleb(p) * m->data_align);
		return;
	case 0x06: /* restore_extended */
		restore(m, reg);
		return;
	case 0x07: /* undefined */
		set(m, reg, UNDEFINED, 0);
		return;
	case 0x08: /* same_value */
		set(m, reg, SAME, 0);
		return;
	case 0x11: /* offset_extended_sf */
		set(m, reg, AT_CFA, sleb(p) * m->data_align);
		return;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		skip_block(p);
		break;
	default: /* 0x09 register, 0x14 val_offset, 0x15 val_offset_sf */
		uleb(p);
		break;
	}
	set(m, reg, ELSEWHERE, 0);
}

static void run_other(struct machine *m, uint8_t op, const uint8_t **p)
{
	switch (op) {
	case 0x00: /* nop */
	case 0x2d: /* the return address is signed, or not; on arm64 the signature is cut off anyway */
		return;
	case 0x0a: /* remember_state */
		if (m->depth < REMEMBERED_MAX)
			m->remembered[m->depth++] = m->now;
		else
			m->bad = true;
		return;
	case 0x0b: /* restore_state */
		if (m->depth)
			m->now = m->remembered[--m->depth];
		else
			m->bad = true;
		return;
	case 0x2e: /* the size of arguments on the stack */
		uleb(p);
		return;
	default:
		m->bad = true;
		return;
	}
}

static void run(struct machine *m, const uint8_t *p, const uint8_t *end)
{
	while (p < end && !m->bad && m->loc <= m->wanted) {
		uint8_t op = *p++;

		if (run_packed(m, op, &p))
			continue;
		if (op >= 0x02 && op <= 0x04)
			run_advance(m, op, &p);
		else if ((op >= 0x0c && op <= 0x0f) || op == 0x12 || op == 0x13)
			run_cfa(m, op, &p);
		else if ((op >= 0x05 && op <= 0x09) || op == 0x10 || op == 0x11 ||
			 (op >= 0x14 && op <= 0x16))
			run_register(m, op, &p);
		else
			run_other(m, op, &p);
	}
}

/* ---- descriptions ---- */

/* The pointer of a personality routine, whose encoding says how long it is. */
static bool skip_pointer(uint8_t enc, const uint8_t **p)
{
	switch (enc & 0x0f) {
	case 0x02:
	case 0x0a:
		*p += 2;
		return true;
	case 0x03:
	case 0x0b:
		*p += 4;
		return true;
	case 0x00:
	case 0x04:
	case 0x0c:
		*p += 8;
		return true;
	default:
		return false;
	}
}

/* @cie with its initial rules. False: not understood. *@augmented: an FDE of it has augmentation data. */
static bool run_cie(struct machine *m, const uint8_t *cie, bool *augmented)
{
	const uint8_t *end = cie + 4 + get32(cie), *p = cie + 8, *data_end;
	const char *aug = (const char *)p + 1;
	uint8_t version = *p;
	bool understood = true;

	if (get32(cie) == UINT32_MAX || (version != 1 && version != 3))
		return false;
	p += 1 + strlen(aug) + 1;
	m->code_align = uleb(&p);
	m->data_align = sleb(&p);
	if ((version == 1 ? *p++ : uleb(&p)) != REG_RA)
		return false;
	*augmented = *aug == 'z';
	if (*aug && !*augmented)
		return false;
	if (*augmented) {
		uint64_t len = uleb(&p);

		data_end = p + len;
		for (aug++; *aug && understood; aug++) {
			if (*aug == 'P')
				understood = p++ < data_end && skip_pointer(p[-1], &p);
			else if (*aug == 'R')
				understood = *p++ == ENC_PCREL_SDATA4;
			else if (*aug == 'L')
				p++;
			else if (*aug == 'S')
				m->signal = true;
			else
				understood = *aug == 'B'; /* of arm64: which key signs addresses */
		}
		p = data_end;
	}
	m->loc = 0;
	m->wanted = 0;
	run(m, p, end);
	m->initial = m->now;
	return understood && !m->bad;
}

/* The description of the function around @pc, NULL: the table has none. */
static const uint8_t *find_fde(const struct header *h, uintptr_t pc)
{
	uint32_t lo = 0, hi;

	if (h->version != 1 || h->cnt_enc != ENC_UDATA4 || h->table_enc != ENC_TABLE ||
	    h->eh_frame_enc != ENC_PCREL_SDATA4)
		return NULL;
	for (hi = h->cnt; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((uintptr_t)h + (uintptr_t)(intptr_t)h->rows[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? (const uint8_t *)((uintptr_t)h + (uintptr_t)(intptr_t)h->rows[lo - 1].fde) :
		    NULL;
}

/* An FDE is its length, the distance back to the CIE, the function's start and size, and its program. */
static bool run_fde(struct machine *m, const uint8_t *fde, uintptr_t pc)
{
	const uint8_t *end = fde + 4 + get32(fde), *p = fde + 16;
	uintptr_t start = pcrel(fde + 8);
	bool augmented;

	if (!run_cie(m, fde + 4 - get32(fde + 4), &augmented) || pc < start ||
	    pc - start >= get32(fde + 12))
		return false;
	if (augmented)
		skip_block(&p);
	m->loc = start;
	m->wanted = pc;
	run(m, p, end);
	return !m->bad;
}

/* ---- from the state to a rule ---- */

static bool pack(const struct saved *saved, int16_t *out)
{
	*out = BPFU_CFI_SAME;
	if (saved->where == SAME)
		return true;
	*out = (int16_t)(saved->off / 8);
	return saved->where == AT_CFA && saved->off % 8 == 0 && saved->off / 8 == *out &&
	       *out != BPFU_CFI_SAME;
}

static void make_rule(const struct state *s, struct bpfu_cfi *out)
{
	bool ok = s->cfa_off == (int32_t)s->cfa_off && pack(&s->fp, &out->fp) && pack(&s->ra, &out->ra);

	out->cfa = (int32_t)s->cfa_off;
	if (ok && s->how == CFA_REG && s->cfa_reg == REG_SP)
		out->kind = BPFU_CFI_SP;
	else if (ok && s->how == CFA_REG && s->cfa_reg == REG_FP)
		out->kind = BPFU_CFI_FP;
	else if (ok && s->how == CFA_DEREF)
		out->kind = BPFU_CFI_DEREF;
}

/* What the kernel has signal handlers return to, as it has always been: not every kernel has a table for it. */
static bool is_sigreturn(uintptr_t pc)
{
#if defined(__aarch64__)
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
#else
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
#endif
	uint8_t there[sizeof(code)];

	return !bpfu_copy_from_user(there, pc, sizeof(there)) && !memcmp(there, code, sizeof(code));
}

static bool run_table(struct machine *m, const struct header *h, uintptr_t pc)
{
	const uint8_t *fde = find_fde(h, pc);

	*m = (struct machine){ .bad = false };
	return fde && run_fde(m, fde, pc);
}

#if defined(__aarch64__)
#define AHEAD 12 /* a landing pad and nops, which gcc has in front of what it describes */
#else
#define AHEAD 0
#endif

bool bpfu_cfi_find(uintptr_t pc, struct bpfu_cfi *out)
{
	const void *start, *hdr;
	struct machine m;
	bool found = false;

	*out = (struct bpfu_cfi){ .kind = BPFU_CFI_END };
	if (!bpfu_loaded_file(pc, &start, &hdr))
		return false;
	for (uintptr_t ahead = 0; hdr && !found && ahead <= AHEAD; ahead += 4)
		found = run_table(&m, hdr, pc + ahead);
	if (found)
		make_rule(&m.now, out);
	/* @pc may be the byte in front of it. */
	if ((found && m.signal) ||
	    (out->kind == BPFU_CFI_END && (is_sigreturn(pc) || is_sigreturn(pc + 1))))
		out->kind = BPFU_CFI_SIGNAL;
	return true;
}
