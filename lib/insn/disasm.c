// SPDX-License-Identifier: BSD-2-Clause
/*
 * The printer: one instruction as text, letter for letter what the kernel's verifier log and
 * "bpftool prog dump xlated" show. Internal-only forms, which a kernel never shows, are printed in the
 * same style. Text that is not an instruction prints as BUG_<opcode>, as in the kernel.
 */
#include "insn/insn.h"

#include <stdarg.h>

#include "insn/opcode.h"
#include "util/bits.h"

/* A snprintf() that continues: len counts what the full text needs. */
struct text {
	char *buf;
	size_t size;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	size_t at = BPFU_MIN(t->len, t->size);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->size > at ? t->buf + at : NULL, t->size - at, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? n : 0;
}

static const char *mem_type(uint8_t code)
{
	static const char *const unsigned_types[] = { "u32", "u16", "u8", "u64" };

	return unsigned_types[BPF_SIZE(code) >> 3];
}

/* Registers of 32-bit operations are called w0, w1, … */
static char reg_letter(uint8_t code)
{
	return BPF_CLASS(code) == BPF_ALU || BPF_CLASS(code) == BPF_JMP32 ? 'w' : 'r';
}

static void put_mov_x(struct text *t, const struct bpf_insn *insn)
{
	bool alu64 = BPF_CLASS(insn->code) == BPF_ALU64;
	char c = reg_letter(insn->code);

	if (alu64 && insn->off == BPF_ADDR_SPACE_CAST)
		put(t, "r%d = addr_space_cast(r%d, %u, %u)", insn->dst_reg, insn->src_reg,
		    (uint32_t)insn->imm >> 16, (uint32_t)insn->imm & 0xffff);
	else if (alu64 && insn->off == BPFU_OFF_PERCPU)
		put(t, "r%d = &(void __percpu *)(r%d)", insn->dst_reg, insn->src_reg);
	else if (insn->off == 8 || insn->off == 16 || insn->off == 32)
		put(t, "%c%d = (s%d)%c%d", c, insn->dst_reg, insn->off, c, insn->src_reg);
	else
		put(t, "%c%d = %c%d", c, insn->dst_reg, c, insn->src_reg);
}

static void put_alu(struct text *t, const struct bpf_insn *insn, const struct bpfu_opcode *op)
{
	char c = reg_letter(insn->code);

	switch (op->form) {
	case BPFU_FORM_MOV_X:
		put_mov_x(t, insn);
		break;
	case BPFU_FORM_NEG:
		put(t, "%c%d = -%c%d", c, insn->dst_reg, c, insn->dst_reg);
		break;
	case BPFU_FORM_END:
		put(t, "r%d = %s%d r%d", insn->dst_reg, op->sym, insn->imm, insn->dst_reg);
		break;
	case BPFU_FORM_DIV_X:
		put(t, "%c%d %s%s %c%d", c, insn->dst_reg, insn->off == 1 ? "s" : "", op->sym, c,
		    insn->src_reg);
		break;
	case BPFU_FORM_DIV_K:
		put(t, "%c%d %s%s %d", c, insn->dst_reg, insn->off == 1 ? "s" : "", op->sym,
		    insn->imm);
		break;
	case BPFU_FORM_ALU_X:
		put(t, "%c%d %s %c%d", c, insn->dst_reg, op->sym, c, insn->src_reg);
		break;
	default:
		put(t, "%c%d %s %d", c, insn->dst_reg, op->sym, insn->imm);
	}
}

static void put_atomic(struct text *t, const struct bpf_insn *insn)
{
	const struct bpfu_atomic *op = bpfu_atomic_of(insn->imm);
	const char *type = mem_type(insn->code);
	const char *prefix = BPF_SIZE(insn->code) == BPF_DW ? "atomic64" : "atomic";

	switch (op->shape) {
	case BPFU_ATOMIC_SHAPE_LOCK:
		put(t, "lock *(%s *)(r%d %+d) %s r%d", type, insn->dst_reg, insn->off, op->sym,
		    insn->src_reg);
		break;
	case BPFU_ATOMIC_SHAPE_FETCH:
		put(t, "r%d = %s_%s((%s *)(r%d %+d), r%d)", insn->src_reg, prefix, op->sym, type,
		    insn->dst_reg, insn->off, insn->src_reg);
		break;
	case BPFU_ATOMIC_SHAPE_CMPXCHG:
		put(t, "r0 = %s_%s((%s *)(r%d %+d), r0, r%d)", prefix, op->sym, type, insn->dst_reg,
		    insn->off, insn->src_reg);
		break;
	case BPFU_ATOMIC_SHAPE_LOAD:
		put(t, "r%d = %s((%s *)(r%d %+d))", insn->dst_reg, op->sym, type, insn->src_reg,
		    insn->off);
		break;
	case BPFU_ATOMIC_SHAPE_STORE:
		put(t, "%s((%s *)(r%d %+d), r%d)", op->sym, type, insn->dst_reg, insn->off,
		    insn->src_reg);
		break;
	}
}

static void put_mem(struct text *t, const struct bpf_insn *insn, const struct bpfu_opcode *op)
{
	switch (op->form) {
	case BPFU_FORM_LDX:
		put(t, "r%d = *(%s *)(r%d %+d)", insn->dst_reg, op->sym, insn->src_reg, insn->off);
		break;
	case BPFU_FORM_ST:
		put(t, "*(%s *)(r%d %+d) = %d", op->sym, insn->dst_reg, insn->off, insn->imm);
		break;
	case BPFU_FORM_STX:
		put(t, "*(%s *)(r%d %+d) = r%d", op->sym, insn->dst_reg, insn->off, insn->src_reg);
		break;
	case BPFU_FORM_LD_IMM64:
		put(t, "r%d = 0x%llx", insn->dst_reg, (unsigned long long)bpfu_insn_imm64(insn));
		break;
	case BPFU_FORM_LD_ABS:
		put(t, "r0 = *(%s *)skb[%d]", op->sym, insn->imm);
		break;
	case BPFU_FORM_LD_IND:
		put(t, "r0 = *(%s *)skb[r%d + %d]", op->sym, insn->src_reg, insn->imm);
		break;
	case BPFU_FORM_NOSPEC:
		put(t, "%s", op->sym);
		break;
	default:
		put_atomic(t, insn);
	}
}

static void put_call(struct text *t, const struct bpf_insn *insn,
		     const char *(*helper_name)(int32_t id))
{
	if (insn->src_reg == BPF_PSEUDO_CALL)
		put(t, "call pc%+d", insn->imm);
	else if (insn->src_reg == BPF_PSEUDO_KFUNC_CALL)
		put(t, "call kernel-function");
	else
		put(t, "call %s#%d",
		    helper_name && insn->src_reg == 0 ? helper_name(insn->imm) : "unknown",
		    insn->imm);
}

static void put_jmp(struct text *t, const struct bpf_insn *insn, const struct bpfu_opcode *op,
		    const char *(*helper_name)(int32_t id))
{
	bool jmp32 = BPF_CLASS(insn->code) == BPF_JMP32;
	char c = reg_letter(insn->code);

	switch (op->form) {
	case BPFU_FORM_CALL:
		put_call(t, insn, helper_name);
		break;
	case BPFU_FORM_JA:
		put(t, "%s pc%+d", op->sym, jmp32 ? insn->imm : insn->off);
		break;
	case BPFU_FORM_MAY_GOTO:
		put(t, "%s pc%+d", op->sym, insn->off);
		break;
	case BPFU_FORM_JMP_X:
		put(t, "if %c%d %s %c%d goto pc%+d", c, insn->dst_reg, op->sym, c, insn->src_reg,
		    insn->off);
		break;
	case BPFU_FORM_JMP_K:
		put(t, "if %c%d %s 0x%x goto pc%+d", c, insn->dst_reg, op->sym, (uint32_t)insn->imm,
		    insn->off);
		break;
	default: /* exit, tail call */
		put(t, "%s", op->sym);
	}
}

int bpfu_insn_print(char *buf, size_t size, const struct bpf_insn *insn,
		    const char *(*helper_name)(int32_t id))
{
	const struct bpfu_opcode *op = bpfu_opcode_of(insn->code);
	struct text t = { .buf = buf, .size = size };

	if (!op || (op->form == BPFU_FORM_ATOMIC && !bpfu_atomic_of(insn->imm))) {
		put(&t, "BUG_%02x", insn->code);
		return t.len;
	}
	put(&t, "(%02x) ", insn->code);
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		put_alu(&t, insn, op);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		put_jmp(&t, insn, op, helper_name);
		break;
	default:
		put_mem(&t, insn, op);
	}
	return t.len;
}
