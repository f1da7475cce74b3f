// SPDX-License-Identifier: BSD-2-Clause
/*
 * The opcode table and the structural check. The check knows one instruction at a time: where a jump
 * goes, what a register holds and which map a descriptor names is the verifier's business. Phrases
 * and the order in which faults are reported are the kernel's.
 */
#include "insn/insn.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "insn/opcode.h"
#include "util/bits.h"

static const struct bpfu_opcode opcode_table[256] = {
#define _(n, code, f, s) [(code)] = { .name = #n, .sym = s, .form = BPFU_FORM_##f },
	BPFU_INSN_DEF(_)
#undef _
#define _(n, code, f, s)                                                                           \
	[(code)] = { .name = #n, .sym = s, .form = BPFU_FORM_##f, .internal = true },
		BPFU_INSN_INTERNAL_DEF(_)
#undef _
};

static const struct bpfu_atomic atomic_table[] = {
#define _(n, i, s, text)                                                                           \
	{ .name = #n, .sym = text, .imm = (i), .shape = BPFU_ATOMIC_SHAPE_##s },
	BPFU_ATOMIC_DEF(_)
#undef _
};

static const struct {
	uint8_t src_reg;
	bool high; /* the second immediate may be non-zero */
} pseudo_table[] = {
#define _(n, src, h) { .src_reg = (src), .high = (h) },
	BPFU_PSEUDO_DEF(_)
#undef _
};

const struct bpfu_opcode *bpfu_opcode_of(uint8_t code)
{
	return opcode_table[code].form == BPFU_FORM_NONE ? NULL : &opcode_table[code];
}

const struct bpfu_atomic *bpfu_atomic_of(int32_t imm)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(atomic_table); i++)
		if (atomic_table[i].imm == imm)
			return &atomic_table[i];
	return NULL;
}

bool bpfu_insn_opcode_valid(uint8_t code)
{
	return opcode_table[code].form != BPFU_FORM_NONE && !opcode_table[code].internal;
}

/* Where the reason goes. */
struct reason {
	char *msg;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reason *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->msg, why->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int check_reg(uint8_t reg, struct reason *why)
{
	return reg < BPFU_MAX_REG ? 0 : refuse(why, "R%d is invalid", reg);
}

static int check_regs(uint8_t first, uint8_t second, struct reason *why)
{
	int err = check_reg(first, why);

	return err ? err : check_reg(second, why);
}

static bool pseudo_known(uint8_t src_reg, int32_t high)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(pseudo_table); i++)
		if (pseudo_table[i].src_reg == src_reg)
			return pseudo_table[i].high || !high;
	return false;
}

static int check_ld_imm64_early(const struct bpf_insn *insn, bool last, struct reason *why)
{
	if (last || insn[1].code || insn[1].dst_reg || insn[1].src_reg || insn[1].off)
		return refuse(why, "invalid bpf_ld_imm64 insn");
	if (!pseudo_known(insn->src_reg, insn[1].imm))
		return refuse(why, "unrecognized bpf_ld_imm64 insn");
	return 0;
}

static int check_early(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx, struct reason *why)
{
	const struct bpf_insn *insn = &insns[idx];
	uint8_t mode = BPF_MODE(insn->code);

	if (BPF_CLASS(insn->code) == BPF_LDX && ((mode != BPF_MEM && mode != BPF_MEMSX) || insn->imm))
		return refuse(why, "BPF_LDX uses reserved fields");
	if (bpfu_insn_is_ld_imm64(insn))
		return check_ld_imm64_early(insn, idx + 1 >= cnt, why);
	if (!bpfu_insn_opcode_valid(insn->code))
		return refuse(why, "unknown opcode %02x", insn->code);
	return 0;
}

static int check_mov_x(const struct bpf_insn *insn, struct reason *why)
{
	bool alu64 = BPF_CLASS(insn->code) == BPF_ALU64;
	bool sign_extends = insn->off == 8 || insn->off == 16 || (alu64 && insn->off == 32);

	if (alu64 && insn->off == BPF_ADDR_SPACE_CAST) {
		if (insn->imm != 1 && insn->imm != 1 << 16)
			return refuse(why, "addr_space_cast insn can only convert between address "
					   "space 1 and 0");
		return refuse(why, "addr_space_cast insn can only be used in a program that has an "
				   "associated arena");
	}
	if (insn->imm || (insn->off && !sign_extends))
		return refuse(why, "BPF_MOV uses reserved fields");
	return check_regs(insn->src_reg, insn->dst_reg, why);
}

static int check_alu_k(const struct bpf_insn *insn, enum bpfu_form form, struct reason *why)
{
	int bits = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;
	bool sign = form == BPFU_FORM_DIV_K && insn->off == 1;
	int err;

	if (insn->src_reg || (insn->off && !sign))
		return refuse(why, "BPF_ALU uses reserved fields");
	err = check_reg(insn->dst_reg, why);
	if (err)
		return err;
	if (form == BPFU_FORM_DIV_K && !insn->imm)
		return refuse(why, "div by zero");
	if (form == BPFU_FORM_SHIFT_K && (insn->imm < 0 || insn->imm >= bits))
		return refuse(why, "invalid shift %d", insn->imm);
	return 0;
}

static int check_alu_x(const struct bpf_insn *insn, enum bpfu_form form, struct reason *why)
{
	bool sign = form == BPFU_FORM_DIV_X && insn->off == 1;

	if (insn->imm || (insn->off && !sign))
		return refuse(why, "BPF_ALU uses reserved fields");
	return check_regs(insn->src_reg, insn->dst_reg, why);
}

static int check_alu(const struct bpf_insn *insn, enum bpfu_form form, struct reason *why)
{
	switch (form) {
	case BPFU_FORM_MOV_K:
		if (insn->src_reg || insn->off)
			return refuse(why, "BPF_MOV uses reserved fields");
		return check_reg(insn->dst_reg, why);
	case BPFU_FORM_MOV_X:
		return check_mov_x(insn, why);
	case BPFU_FORM_NEG:
		if (insn->src_reg || insn->off || insn->imm)
			return refuse(why, "BPF_NEG uses reserved fields");
		return check_reg(insn->dst_reg, why);
	case BPFU_FORM_END:
		if (insn->src_reg || insn->off ||
		    (insn->imm != 16 && insn->imm != 32 && insn->imm != 64))
			return refuse(why, "BPF_END uses reserved fields");
		return check_reg(insn->dst_reg, why);
	case BPFU_FORM_ALU_X:
	case BPFU_FORM_DIV_X:
		return check_alu_x(insn, form, why);
	default:
		return check_alu_k(insn, form, why);
	}
}

static int check_jmp(const struct bpf_insn *insn, enum bpfu_form form, struct reason *why)
{
	bool jmp32 = BPF_CLASS(insn->code) == BPF_JMP32;
	int err;

	switch (form) {
	case BPFU_FORM_CALL:
		if (insn->dst_reg || insn->src_reg > BPF_PSEUDO_KFUNC_CALL ||
		    (insn->off && insn->src_reg != BPF_PSEUDO_KFUNC_CALL))
			return refuse(why, "BPF_CALL uses reserved fields");
		return 0;
	case BPFU_FORM_JA:
		if (insn->src_reg || insn->dst_reg || (jmp32 ? insn->off : insn->imm))
			return refuse(why, "BPF_JA uses reserved fields");
		return 0;
	case BPFU_FORM_EXIT: /* the kernel does not look at off either */
		if (insn->src_reg || insn->dst_reg || insn->imm)
			return refuse(why, "BPF_EXIT uses reserved fields");
		return 0;
	case BPFU_FORM_MAY_GOTO:
		if (insn->src_reg != BPF_MAY_GOTO || insn->dst_reg || insn->imm)
			return refuse(why, "invalid may_goto imm %d", insn->imm);
		return 0;
	default: /* conditional */
		err = check_reg(insn->dst_reg, why);
		if (err)
			return err;
		if (form == BPFU_FORM_JMP_X ? insn->imm : insn->src_reg)
			return refuse(why, "BPF_JMP/JMP32 uses reserved fields");
		return form == BPFU_FORM_JMP_X ? check_reg(insn->src_reg, why) : 0;
	}
}

static int check_atomic(const struct bpf_insn *insn, struct reason *why)
{
	const struct bpfu_atomic *op = bpfu_atomic_of(insn->imm);
	uint8_t size = BPF_SIZE(insn->code);

	if (!op)
		return refuse(why, "BPF_ATOMIC uses invalid atomic opcode %02x",
			      (uint32_t)insn->imm);
	if (op->shape != BPFU_ATOMIC_SHAPE_LOAD && op->shape != BPFU_ATOMIC_SHAPE_STORE &&
	    size != BPF_W && size != BPF_DW)
		return refuse(why, "invalid atomic operand size");
	return check_regs(insn->src_reg, insn->dst_reg, why);
}

static int check_mem(const struct bpf_insn *insn, enum bpfu_form form, struct reason *why)
{
	switch (form) {
	case BPFU_FORM_ST:
		if (insn->src_reg)
			return refuse(why, "BPF_ST uses reserved fields");
		return check_reg(insn->dst_reg, why);
	case BPFU_FORM_STX:
		if (insn->imm)
			return refuse(why, "BPF_STX uses reserved fields");
		return check_regs(insn->src_reg, insn->dst_reg, why);
	case BPFU_FORM_ATOMIC:
		return check_atomic(insn, why);
	case BPFU_FORM_LD_IMM64:
		if (insn->off)
			return refuse(why, "BPF_LD_IMM64 uses reserved fields");
		return check_reg(insn->dst_reg, why);
	case BPFU_FORM_LD_ABS:
	case BPFU_FORM_LD_IND:
		if (insn->dst_reg || insn->off || (form == BPFU_FORM_LD_ABS && insn->src_reg))
			return refuse(why, "BPF_LD_[ABS|IND] uses reserved fields");
		return check_reg(insn->src_reg, why);
	default:
		return check_regs(insn->src_reg, insn->dst_reg, why);
	}
}

int bpfu_insn_check_early(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx, char *msg,
			  size_t msg_size)
{
	struct reason why = { .msg = msg, .size = msg_size };

	return check_early(insns, cnt, idx, &why);
}

int bpfu_insn_check(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx, char *msg,
		    size_t msg_size)
{
	const struct bpf_insn *insn = &insns[idx];
	enum bpfu_form form = opcode_table[insn->code].form;
	struct reason why = { .msg = msg, .size = msg_size };
	int err;

	err = check_early(insns, cnt, idx, &why);
	if (err)
		return err;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(insn, form, &why);
	case BPF_JMP:
	case BPF_JMP32:
		return check_jmp(insn, form, &why);
	default:
		return check_mem(insn, form, &why);
	}
}
