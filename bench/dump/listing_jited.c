// SPDX-License-Identifier: BSD-2-Clause
/*
 * Machine code, disassembled by capstone. What it prints of an instruction is kept, but for numbers
 * that are addresses: branch targets become labels, callees and constants names.
 *
 * arm64 builds an address of several moves; these are followed until the address is complete, and
 * then all of them get its name.
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/listing.h"

#define MIN_ADDRESS 0x10000 /* smaller constants are not looked up */
#define MAX_MOVES 4

/* A function being listed. */
struct jited {
	const struct dump_prog *p;
	const struct dump_func *f;
	struct listing_func *lf;
	bool x86;
	csh cs;
	uint64_t *targets; /* addresses that branches go to, one an instruction; 0: none */
	size_t room;       /* of both */
	/* arm64: moves that build a constant in a register */
	unsigned int reg;
	uint64_t value;
	size_t moves[MAX_MOVES];
	unsigned int nr_moves;
};

/* ---- what an instruction is ---- */

static bool in_group(const struct jited *j, const cs_insn *insn, unsigned int group)
{
	return cs_insn_group(j->cs, insn, group);
}

static bool is_call(const struct jited *j, const cs_insn *insn)
{
	return in_group(j, insn, CS_GRP_CALL) ||
	       (!j->x86 && (insn->id == ARM64_INS_BL || insn->id == ARM64_INS_BLR));
}

static bool is_branch(const struct jited *j, const cs_insn *insn)
{
	if (is_call(j, insn) || in_group(j, insn, CS_GRP_RET))
		return false;
	return in_group(j, insn, CS_GRP_JUMP);
}

static enum listing_kind memory_kind(const struct jited *j, const cs_insn *insn)
{
	if (!j->x86) {
		if (!strncmp(insn->mnemonic, "ld", 2))
			return LISTING_LOAD;
		return !strncmp(insn->mnemonic, "st", 2) ? LISTING_STORE : LISTING_COMPUTE;
	}
	if (insn->id == X86_INS_PUSH)
		return LISTING_STORE;
	if (insn->id == X86_INS_POP || insn->id == X86_INS_LEAVE)
		return LISTING_LOAD;
	if (insn->id == X86_INS_LEA || insn->id == X86_INS_NOP)
		return LISTING_COMPUTE;
	for (uint8_t i = 0; i < insn->detail->x86.op_count; i++) {
		const cs_x86_op *op = &insn->detail->x86.operands[i];

		if (op->type == X86_OP_MEM)
			return op->access & CS_AC_WRITE ? LISTING_STORE : LISTING_LOAD;
	}
	return LISTING_COMPUTE;
}

static enum listing_kind kind_of(const struct jited *j, const cs_insn *insn)
{
	if (in_group(j, insn, CS_GRP_RET))
		return LISTING_RETURN;
	if (is_call(j, insn))
		return LISTING_CALL;
	return is_branch(j, insn) ? LISTING_BRANCH : memory_kind(j, insn);
}

/* The constant of an instruction: an immediate, or where a pc-relative operand points. */
static bool constant_of(const struct jited *j, const cs_insn *insn, uint64_t *value)
{
	const cs_detail *d = insn->detail;

	if (j->x86) {
		for (uint8_t i = 0; i < d->x86.op_count; i++) {
			const cs_x86_op *op = &d->x86.operands[i];

			if (op->type == X86_OP_IMM) {
				*value = (uint64_t)op->imm;
				return true;
			}
			if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP) {
				*value = insn->address + insn->size + (uint64_t)op->mem.disp;
				return true;
			}
		}
		return false;
	}
	if (insn->id == ARM64_INS_ADRP)
		return false; /* half of one */
	for (uint8_t i = 0; i < d->arm64.op_count; i++)
		if (d->arm64.operands[i].type == ARM64_OP_IMM) {
			*value = (uint64_t)d->arm64.operands[i].imm;
			if (is_branch(j, insn) || is_call(j, insn) || insn->id == ARM64_INS_ADR)
				continue; /* the last one; tbz has two */
			return true;
		}
	return is_branch(j, insn) || is_call(j, insn) || insn->id == ARM64_INS_ADR;
}

/* ---- text ---- */

/* The last operand that is a number, or rip-relative: the one that constant_of() found. */
static const char *constant_operand(const char *ops)
{
	const char *at = NULL;

	while (*ops) {
		const char *rip = strstr(ops, "[rip");
		size_t len = strcspn(ops, ",");

		if (strspn(ops, "#-0123456789") || (rip && rip < ops + len))
			at = ops;
		ops += len;
		ops += strspn(ops, ", ");
	}
	return at;
}

/* "MNEMONIC OPERANDS", with @name in place of the constant unless NULL. */
static char *make_text(const cs_insn *insn, const char *name)
{
	const char *ops = insn->op_str, *at = name ? constant_operand(ops) : NULL;
	bool rip = at && strstr(at, "[rip");
	char *text;
	int len;

	if (at)
		len = asprintf(&text, "%s %.*s%s%s%s", insn->mnemonic, (int)(at - ops), ops,
			       rip ? "[" : "", name, rip ? "]" : "");
	else
		len = asprintf(&text, "%s %s", insn->mnemonic, ops);
	if (len < 0)
		return NULL;
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
	return text;
}

static int replace_text(struct listing_insn *li, char *text)
{
	if (!text)
		return -ENOMEM;
	free(li->text);
	li->text = text;
	return 0;
}

/* "{NAME}" of a constant that is an address. */
static bool symbol_of(const struct jited *j, uint64_t value, char *buf, size_t size)
{
	char name[160];

	if (value < MIN_ADDRESS || !dump_prog_symbol(j->p, value, name, sizeof(name)))
		return false;
	snprintf(buf, size, "{%s}", name);
	return true;
}

/* ---- arm64: constants of several instructions ---- */

static int name_moves(struct jited *j)
{
	char symbol[192], *text;
	int err = 0;

	if (!symbol_of(j, j->value, symbol, sizeof(symbol)))
		return 0;
	for (unsigned int i = 0; i < j->nr_moves && !err; i++) {
		struct listing_insn *li = &j->lf->insns[j->moves[i]];
		const char *hash = strchr(li->text, '#');
		const char *shift = hash ? strstr(hash, ", lsl") : NULL;

		if (!hash)
			continue;
		if (asprintf(&text, "%.*s%s%s", (int)(hash - li->text), li->text, symbol,
			     shift ? shift : "") < 0)
			text = NULL;
		err = replace_text(li, text);
	}
	return err;
}

static unsigned int lsl_of(const cs_arm64_op *op)
{
	return op->shift.type == ARM64_SFT_LSL ? op->shift.value : 0;
}

/* Does @insn go on with the constant that is being built: movk, or the add after an adrp? */
static bool is_part(const struct jited *j, const cs_insn *insn)
{
	const cs_arm64_op *ops = insn->detail->arm64.operands;

	if (!j->nr_moves || j->nr_moves == MAX_MOVES || !insn->detail->arm64.op_count ||
	    ops[0].type != ARM64_OP_REG || ops[0].reg != j->reg)
		return false;
	if (insn->id == ARM64_INS_MOVK)
		return ops[1].type == ARM64_OP_IMM;
	return insn->id == ARM64_INS_ADD && insn->detail->arm64.op_count == 3 &&
	       ops[1].reg == j->reg && ops[2].type == ARM64_OP_IMM;
}

static bool is_start(const cs_insn *insn)
{
	const cs_arm64_op *ops = insn->detail->arm64.operands;

	return (insn->id == ARM64_INS_MOVZ || insn->id == ARM64_INS_MOVN ||
		insn->id == ARM64_INS_MOV || insn->id == ARM64_INS_ADRP) &&
	       insn->detail->arm64.op_count == 2 && ops[0].type == ARM64_OP_REG &&
	       ops[1].type == ARM64_OP_IMM;
}

/* Follow @insn, which became line @idx. A complete constant is named when the next one is no part. */
static int follow_moves(struct jited *j, const cs_insn *insn, size_t idx)
{
	const cs_arm64_op *ops = insn->detail->arm64.operands;
	int err = 0;

	if (is_part(j, insn)) {
		if (insn->id == ARM64_INS_ADD) {
			j->value += (uint64_t)ops[2].imm << lsl_of(&ops[2]);
		} else {
			j->value &= ~(0xffffull << lsl_of(&ops[1]));
			j->value |= (uint64_t)ops[1].imm << lsl_of(&ops[1]);
		}
	} else {
		err = j->nr_moves ? name_moves(j) : 0;
		j->nr_moves = 0;
		if (!is_start(insn))
			return err;
		j->reg = ops[0].reg;
		j->value = (uint64_t)ops[1].imm << lsl_of(&ops[1]);
		if (insn->id == ARM64_INS_MOVN)
			j->value = ~j->value;
	}
	j->moves[j->nr_moves++] = idx;
	return err;
}

/* ---- the function ---- */

static int add_insn(struct jited *j, const cs_insn *insn)
{
	struct listing_insn *li = &j->lf->insns[j->lf->nr];
	bool goes = is_branch(j, insn) || is_call(j, insn);
	const char *shown = NULL;
	char symbol[192];
	uint64_t value = 0;

	li->kind = kind_of(j, insn);
	if (constant_of(j, insn, &value)) {
		if (is_branch(j, insn) && value - j->f->addr < j->f->len) {
			j->targets[j->lf->nr] = value;
			shown = "";
		} else if (symbol_of(j, value, symbol, sizeof(symbol))) {
			shown = symbol;
			if (goes) { /* without the braces */
				symbol[strlen(symbol) - 1] = '\0';
				shown = symbol + 1;
			}
			/* A kernel with mitigations returns by a jump. */
			if (li->kind == LISTING_BRANCH && strstr(symbol, "return_thunk"))
				li->kind = LISTING_RETURN;
		}
	}
	li->text = make_text(insn, shown);
	if (!li->text)
		return -ENOMEM;
	return j->x86 ? 0 : follow_moves(j, insn, j->lf->nr);
}

/* What capstone does not know: newer instructions, or data. */
static int add_unknown(struct jited *j, const uint8_t *bytes)
{
	struct listing_insn *li = &j->lf->insns[j->lf->nr];
	uint32_t word;
	char buf[32];

	if (j->x86) {
		snprintf(buf, sizeof(buf), ".byte 0x%02x", bytes[0]);
	} else {
		memcpy(&word, bytes, sizeof(word));
		snprintf(buf, sizeof(buf), ".inst 0x%08" PRIx32, word);
	}
	li->kind = LISTING_COMPUTE;
	li->text = strdup(buf);
	return li->text ? 0 : -ENOMEM;
}

/* Room for one more instruction; what is new is zero. */
static int make_room(struct jited *j)
{
	size_t more = j->room ? j->room : 64;
	struct listing_insn *insns;
	uint64_t *targets;

	if (j->lf->nr < j->room)
		return 0;
	insns = realloc(j->lf->insns, (j->room + more) * sizeof(*insns));
	if (insns)
		j->lf->insns = insns;
	targets = realloc(j->targets, (j->room + more) * sizeof(*targets));
	if (targets)
		j->targets = targets;
	if (!insns || !targets)
		return -ENOMEM;
	memset(insns + j->room, 0, more * sizeof(*insns));
	memset(targets + j->room, 0, more * sizeof(*targets));
	j->room += more;
	return 0;
}

static int disassemble(struct jited *j)
{
	const uint8_t *at = j->f->bytes;
	uint64_t addr = j->f->addr;
	size_t left = j->f->len;
	cs_insn *insn = cs_malloc(j->cs);
	int err = insn ? 0 : -ENOMEM;

	while (left && !err) {
		struct listing_insn *li;
		const uint8_t *from = at;
		bool known;
		size_t step;

		err = make_room(j);
		if (err)
			break;
		li = &j->lf->insns[j->lf->nr];
		known = cs_disasm_iter(j->cs, &at, &left, &addr, insn);
		step = known ? 0 : j->x86 || left < 4 ? 1 : 4;
		at += step;
		left -= step;
		addr += step;
		li->off = (uint64_t)(from - j->f->bytes);
		li->len = (uint8_t)(at - from);
		li->target = -1;
		memcpy(li->bytes, from, li->len);
		err = known ? add_insn(j, insn) : add_unknown(j, from);
		j->lf->nr++;
	}
	if (insn)
		cs_free(insn, 1);
	if (!err && j->nr_moves)
		err = name_moves(j);
	j->lf->bytes = j->f->len;
	return err;
}

/* The line of the listing at @addr, or -1 if that is in the middle of one. */
static int32_t line_at(const struct jited *j, uint64_t addr)
{
	size_t lo = 0, hi = j->lf->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->f->addr + j->lf->insns[mid].off < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < j->lf->nr && j->f->addr + j->lf->insns[lo].off == addr ? (int32_t)lo : -1;
}

/* A target in the middle of an instruction has no line to put a label at. */
static int resolve_targets(struct jited *j)
{
	int err = 0;

	for (size_t i = 0; i < j->lf->nr && !err; i++) {
		struct listing_insn *li = &j->lf->insns[i];
		char *text;

		if (!j->targets[i])
			continue;
		li->target = line_at(j, j->targets[i]);
		if (li->target >= 0)
			continue;
		if (asprintf(&text, "%s %s+0x%" PRIx64, li->text, j->f->name,
			     j->targets[i] - j->f->addr) < 0)
			text = NULL;
		err = replace_text(li, text);
	}
	return err;
}

/* The first line at or after @addr; a source line may begin where no code was made. */
static void place_source_lines(struct jited *j)
{
	for (uint32_t k = 0; k < j->p->nr_lines; k++) {
		const struct dump_line *line = &j->p->lines[k];
		int32_t at = -1;

		if (line->addr < j->f->addr || line->addr - j->f->addr >= j->f->len)
			continue;
		for (uint64_t addr = line->addr; at < 0 && addr - j->f->addr < j->f->len; addr++)
			at = line_at(j, addr);
		if (at >= 0)
			j->lf->insns[at].line = line;
	}
}

static int list_func(struct jited *j)
{
	int err;

	j->lf->name = j->f->name;
	j->targets = NULL;
	j->room = 0;
	j->nr_moves = 0;
	err = disassemble(j);
	if (!err)
		err = resolve_targets(j);
	free(j->targets);
	if (err)
		return err;
	listing_number_labels(j->lf);
	place_source_lines(j);
	return 0;
}

int listing_jited(struct listing *l, const struct dump_prog *p)
{
	struct jited j = { .p = p, .x86 = !strcmp(p->arch, "x86_64") };
	int err = 0;

	memset(l, 0, sizeof(*l));
	if (cs_open(j.x86 ? CS_ARCH_X86 : CS_ARCH_ARM64,
		    j.x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &j.cs) != CS_ERR_OK)
		return -EOPNOTSUPP;
	cs_option(j.cs, CS_OPT_DETAIL, CS_OPT_ON);
	l->funcs = calloc(p->nr_funcs + 1ul, sizeof(*l->funcs));
	for (uint32_t i = 0; i < p->nr_funcs && l->funcs && !err; i++) {
		j.f = &p->funcs[i];
		j.lf = &l->funcs[l->nr++];
		err = list_func(&j);
	}
	cs_close(&j.cs);
	return l->funcs ? err : -ENOMEM;
}
