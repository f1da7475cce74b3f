/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoders of x86-64 instructions: pure functions from operands to bytes, appended to a code
 * buffer. The only place of the backend that knows opcodes. Where the manual offers several
 * encodings of equal meaning the shortest is taken, among equals the one assemblers take, so that
 * the goldens in tests/encode/ can be made by llvm-mc.
 *
 * An instruction is   [fs] [66] [lock] [REX | VEX] opcode [ModRM [SIB] [disp]] [imm].
 * "w" selects 64-bit operands (REX.W); without it an operand is 32 bits wide and its register's
 * upper half becomes zero, which is just what the ALU32 class of BPF asks for.
 *
 * Names: x86_<op>_<operands>, r a register, m memory, i an immediate, destination first. The
 * comment on each line is the instruction in the manual's (Intel SDM volume 2) notation.
 */
#ifndef BPFU_JIT_X86_64_ENCODE_H
#define BPFU_JIT_X86_64_ENCODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jit/codebuf.h"
#include "jit/x86_64/regs.h"

/* ---- operands ---- */

struct x86_mem {
	uint8_t base;  /* enum x86_reg, X86_NONE or X86_RIP */
	uint8_t index; /* enum x86_reg but rsp, or X86_NONE */
	uint8_t scale; /* log2 */
	bool fs;       /* relative to the thread pointer */
	int32_t disp;
};

static inline struct x86_mem x86_mem_bd(uint8_t base, int32_t disp)
{
	return (struct x86_mem){ .base = base, .index = X86_NONE, .disp = disp };
}

static inline struct x86_mem x86_mem_bisd(uint8_t base, uint8_t index, uint8_t scale, int32_t disp)
{
	return (struct x86_mem){ .base = base, .index = index, .scale = scale, .disp = disp };
}

static inline struct x86_mem x86_mem_fs(int32_t disp)
{
	return (struct x86_mem){ .base = X86_NONE, .index = X86_NONE, .fs = true, .disp = disp };
}

enum x86_cc {
	X86_CC_B = 2, X86_CC_AE, X86_CC_E, X86_CC_NE, X86_CC_BE, X86_CC_A, X86_CC_S, X86_CC_NS,
	X86_CC_L = 12, X86_CC_GE, X86_CC_LE, X86_CC_G,
};

static inline enum x86_cc x86_cc_not(enum x86_cc cc)
{
	return (enum x86_cc)((unsigned)cc ^ 1u);
}

/* Row of the ALU group: bits 5:3 of the opcode and of ModRM /digit. */
enum x86_alu { X86_ADD, X86_OR, X86_ADC, X86_SBB, X86_AND, X86_SUB, X86_XOR, X86_CMP };

/* Shift group 2, ModRM /digit. */
enum x86_shift { X86_ROL = 0, X86_ROR = 1, X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };

/* Group 3, ModRM /digit. */
enum x86_unary { X86_NOT = 2, X86_NEG, X86_MUL, X86_IMUL, X86_DIV, X86_IDIV };

static inline bool x86_is_imm8(int64_t imm)
{
	return imm == (int8_t)imm;
}

static inline bool x86_is_imm32(int64_t imm)
{
	return imm == (int32_t)imm;
}

/* ---- machinery ---- */

enum x86_flag {
	X86_F_W = 1u << 0,    /* REX.W */
	X86_F_66 = 1u << 1,   /* operand-size prefix */
	X86_F_LOCK = 1u << 2,
	X86_F_0F = 1u << 3,   /* two-byte opcodes */
	X86_F_0F38 = 1u << 4, /* three-byte opcodes */
	X86_F_B8 = 1u << 5,   /* the reg field names a byte register (sil, dil … need a REX) */
	X86_F_BRM8 = 1u << 6, /* so does the rm field */
};

static inline uint8_t *x86_put_i32(uint8_t *p, int32_t v)
{
	uint32_t u = (uint32_t)v;

	*p++ = u & 0xff;
	*p++ = u >> 8 & 0xff;
	*p++ = u >> 16 & 0xff;
	*p++ = u >> 24;
	return p;
}

static inline uint8_t *x86_put_i64(uint8_t *p, uint64_t v)
{
	p = x86_put_i32(p, (int32_t)(uint32_t)v);
	return x86_put_i32(p, (int32_t)(uint32_t)(v >> 32));
}

/* Immediate of 1, 2 or 4 bytes. */
static inline uint8_t *x86_put_imm(uint8_t *p, int32_t imm, unsigned size)
{
	if (size == 4)
		return x86_put_i32(p, imm);
	*p++ = (uint32_t)imm & 0xff;
	if (size == 2)
		*p++ = (uint32_t)imm >> 8 & 0xff;
	return p;
}

/* Everything before the ModRM byte. @x and @b extend index and base/rm. */
static inline uint8_t *x86_put_op(uint8_t *p, unsigned f, uint8_t op, unsigned reg, unsigned index,
				  unsigned rm)
{
	unsigned rex = 0;

	if (f & X86_F_W)
		rex |= 0x48;
	if (reg & 8)
		rex |= 0x44;
	if (index < X86_NONE && index & 8)
		rex |= 0x42;
	if (rm < X86_NONE && rm & 8)
		rex |= 0x41;
	if (((f & X86_F_B8) && reg >= X86_RSP) || ((f & X86_F_BRM8) && rm >= X86_RSP))
		rex |= 0x40;
	if (f & X86_F_66)
		*p++ = 0x66;
	if (f & X86_F_LOCK)
		*p++ = 0xf0;
	if (rex)
		*p++ = rex;
	if (f & (X86_F_0F | X86_F_0F38))
		*p++ = 0x0f;
	if (f & X86_F_0F38)
		*p++ = 0x38;
	*p++ = op;
	return p;
}

static inline uint8_t x86_modrm(unsigned mod, unsigned reg, unsigned rm)
{
	return (uint8_t)(mod << 6 | (reg & 7) << 3 | (rm & 7));
}

/* ModRM, SIB and displacement of a memory operand. SDM volume 2, tables 2-2 and 2-3. */
static inline uint8_t *x86_put_mem(uint8_t *p, unsigned reg, struct x86_mem m)
{
	bool sib = m.index != X86_NONE || (m.base & 7) == X86_RSP || m.base == X86_NONE;
	unsigned index = m.index == X86_NONE ? X86_RSP : m.index;
	unsigned mod;

	if (m.base == X86_RIP) {
		*p++ = x86_modrm(0, reg, X86_RBP);
		return x86_put_i32(p, m.disp);
	}
	if (m.base == X86_NONE) { /* [index * scale + disp32] */
		*p++ = x86_modrm(0, reg, X86_RSP);
		*p++ = x86_modrm(m.scale, index, X86_RBP);
		return x86_put_i32(p, m.disp);
	}
	if (m.disp == 0 && (m.base & 7) != X86_RBP) /* rbp and r13 without disp mean disp32 */
		mod = 0;
	else
		mod = x86_is_imm8(m.disp) ? 1 : 2;
	*p++ = x86_modrm(mod, reg, sib ? X86_RSP : m.base);
	if (sib)
		*p++ = x86_modrm(m.scale, index, m.base);
	if (mod == 1)
		*p++ = (uint32_t)m.disp & 0xff;
	else if (mod == 2)
		p = x86_put_i32(p, m.disp);
	return p;
}

static inline void x86_op_rr_imm(struct bpfu_codebuf *cb, unsigned f, uint8_t op, unsigned reg,
				 unsigned rm, int32_t imm, unsigned imm_size)
{
	uint8_t *p = x86_put_op(bpfu_codebuf_room(cb), f, op, reg, X86_NONE, rm);

	*p++ = x86_modrm(3, reg, rm);
	if (imm_size)
		p = x86_put_imm(p, imm, imm_size);
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_op_rm_imm(struct bpfu_codebuf *cb, unsigned f, uint8_t op, unsigned reg,
				 struct x86_mem m, int32_t imm, unsigned imm_size)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (m.fs)
		*p++ = 0x64;
	p = x86_put_op(p, f, op, reg, m.index, m.base);
	p = x86_put_mem(p, reg, m);
	if (imm_size)
		p = x86_put_imm(p, imm, imm_size);
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_op_rr(struct bpfu_codebuf *cb, unsigned f, uint8_t op, unsigned reg,
			     unsigned rm)
{
	x86_op_rr_imm(cb, f, op, reg, rm, 0, 0);
}

static inline void x86_op_rm(struct bpfu_codebuf *cb, unsigned f, uint8_t op, unsigned reg,
			     struct x86_mem m)
{
	x86_op_rm_imm(cb, f, op, reg, m, 0, 0);
}

static inline unsigned x86_w(bool w)
{
	return w ? X86_F_W : 0;
}

/* Flags of an operation on @size bytes in memory whose register operand is @reg's field. */
static inline unsigned x86_size_flags(unsigned size)
{
	return size == 8 ? X86_F_W : size == 2 ? X86_F_66 : size == 1 ? X86_F_B8 : 0;
}

/* Opcodes of the classic groups come in pairs: even for bytes, odd for the wider sizes. */
static inline uint8_t x86_sized(uint8_t wide_op, unsigned size)
{
	return size == 1 ? wide_op - 1 : wide_op;
}

static inline unsigned x86_imm_bytes(unsigned size)
{
	return size < 4 ? size : 4;
}

/* Three-operand VEX instruction, register form. @map 2: 0F38, 3: 0F3A; @pp 1: 66, 2: F3, 3: F2. */
static inline uint8_t *x86_put_vex(uint8_t *p, bool w, unsigned map, unsigned pp, uint8_t op,
				   unsigned reg, unsigned vvvv, unsigned index, unsigned rm)
{
	bool r = reg & 8, x = index < X86_NONE && index & 8, b = rm < X86_NONE && rm & 8;

	*p++ = 0xc4;
	*p++ = (uint8_t)((unsigned)!r << 7 | (unsigned)!x << 6 | (unsigned)!b << 5 | map);
	*p++ = (uint8_t)((unsigned)w << 7 | (~vvvv & 15) << 3 | pp);
	*p++ = op;
	return p;
}

static inline void x86_vex_rrr(struct bpfu_codebuf *cb, bool w, unsigned map, unsigned pp,
			       uint8_t op, unsigned reg, unsigned vvvv, unsigned rm)
{
	uint8_t *p = x86_put_vex(bpfu_codebuf_room(cb), w, map, pp, op, reg, vvvv, X86_NONE, rm);

	*p++ = x86_modrm(3, reg, rm);
	bpfu_codebuf_commit(cb, p);
}

/* ---- moves ---- */

static inline void x86_mov_rr(struct bpfu_codebuf *cb, bool w, uint8_t dst, uint8_t src)
{
	x86_op_rr(cb, x86_w(w), 0x89, src, dst); /* mov r/m, r */
}

/* mov r32, imm32: zero-extends */
static inline void x86_mov_ri32(struct bpfu_codebuf *cb, uint8_t dst, uint32_t imm)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (dst & 8)
		*p++ = 0x41;
	*p++ = 0xb8 | (dst & 7);
	bpfu_codebuf_commit(cb, x86_put_i32(p, (int32_t)imm));
}

/* mov r64, imm32: sign-extends */
static inline void x86_mov_ris32(struct bpfu_codebuf *cb, uint8_t dst, int32_t imm)
{
	x86_op_rr_imm(cb, X86_F_W, 0xc7, 0, dst, imm, 4);
}

static inline void x86_movabs(struct bpfu_codebuf *cb, uint8_t dst, uint64_t imm)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	*p++ = 0x48 | (dst >> 3);
	*p++ = 0xb8 | (dst & 7); /* movabs r64, imm64 */
	bpfu_codebuf_commit(cb, x86_put_i64(p, imm));
}

/* Load @size bytes; narrow ones are zero-extended to 64 bits. */
static inline void x86_load(struct bpfu_codebuf *cb, unsigned size, uint8_t dst, struct x86_mem m)
{
	if (size == 1)
		x86_op_rm(cb, X86_F_0F, 0xb6, dst, m); /* movzx r32, m8 */
	else if (size == 2)
		x86_op_rm(cb, X86_F_0F, 0xb7, dst, m); /* movzx r32, m16 */
	else
		x86_op_rm(cb, x86_w(size == 8), 0x8b, dst, m); /* mov r, m */
}

/* Load @size (1, 2, 4) bytes, sign-extended to 64 or (!w) 32 bits. */
static inline void x86_load_sx(struct bpfu_codebuf *cb, bool w, unsigned size, uint8_t dst,
			       struct x86_mem m)
{
	if (size == 4)
		x86_op_rm(cb, X86_F_W, 0x63, dst, m); /* movsxd r64, m32 */
	else
		x86_op_rm(cb, x86_w(w) | X86_F_0F, size == 1 ? 0xbe : 0xbf, dst, m); /* movsx r, m */
}

static inline void x86_movzx_rr(struct bpfu_codebuf *cb, unsigned size, uint8_t dst, uint8_t src)
{
	/* movzx r32, r8 or r16 */
	x86_op_rr(cb, X86_F_0F | (size == 1 ? X86_F_BRM8 : 0), size == 1 ? 0xb6 : 0xb7, dst, src);
}

static inline void x86_movsx_rr(struct bpfu_codebuf *cb, bool w, unsigned size, uint8_t dst,
				uint8_t src)
{
	if (size == 4)
		x86_op_rr(cb, X86_F_W, 0x63, dst, src); /* movsxd r64, r32 */
	else                                             /* movsx r, r8 or r16 */
		x86_op_rr(cb, x86_w(w) | X86_F_0F | (size == 1 ? X86_F_BRM8 : 0),
			  size == 1 ? 0xbe : 0xbf, dst, src);
}

static inline void x86_store(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m, uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size), x86_sized(0x89, size), src, m); /* mov m, r */
}

static inline void x86_store_i(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m,
			       int32_t imm)
{
	x86_op_rm_imm(cb, x86_size_flags(size) & ~(unsigned)X86_F_B8, x86_sized(0xc7, size), 0, m,
		      imm, x86_imm_bytes(size)); /* mov m, imm */
}

/* Byte-swapping load and store of 2, 4 or 8 bytes; the 16-bit load leaves the upper bits alone. */
static inline void x86_movbe_rm(struct bpfu_codebuf *cb, unsigned size, uint8_t dst,
				struct x86_mem m)
{
	x86_op_rm(cb, x86_size_flags(size) | X86_F_0F38, 0xf0, dst, m);
}

static inline void x86_movbe_mr(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m,
				uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size) | X86_F_0F38, 0xf1, src, m);
}

static inline void x86_lea(struct bpfu_codebuf *cb, bool w, uint8_t dst, struct x86_mem m)
{
	x86_op_rm(cb, x86_w(w), 0x8d, dst, m);
}

static inline void x86_cmov_rr(struct bpfu_codebuf *cb, enum x86_cc cc, bool w, uint8_t dst,
			       uint8_t src)
{
	x86_op_rr(cb, x86_w(w) | X86_F_0F, 0x40 | cc, dst, src);
}

/* The low byte becomes 0 or 1, the rest stays. */
static inline void x86_setcc(struct bpfu_codebuf *cb, enum x86_cc cc, uint8_t dst)
{
	x86_op_rr(cb, X86_F_0F | X86_F_BRM8, 0x90 | cc, 0, dst);
}

static inline void x86_push(struct bpfu_codebuf *cb, uint8_t reg)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (reg & 8)
		*p++ = 0x41;
	*p++ = 0x50 | (reg & 7);
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_pop(struct bpfu_codebuf *cb, uint8_t reg)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (reg & 8)
		*p++ = 0x41;
	*p++ = 0x58 | (reg & 7);
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_push_m(struct bpfu_codebuf *cb, struct x86_mem m)
{
	x86_op_rm(cb, 0, 0xff, 6, m); /* push m64 */
}

static inline void x86_push_i8(struct bpfu_codebuf *cb, int8_t imm)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	*p++ = 0x6a;
	*p++ = (uint8_t)imm;
	bpfu_codebuf_commit(cb, p);
}

/* ---- arithmetic ---- */

static inline void x86_alu_rr(struct bpfu_codebuf *cb, enum x86_alu op, bool w, uint8_t dst,
			      uint8_t src)
{
	x86_op_rr(cb, x86_w(w), (uint8_t)(op << 3 | 1), src, dst); /* op r/m, r */
}

static inline void x86_alu_ri(struct bpfu_codebuf *cb, enum x86_alu op, bool w, uint8_t dst,
			      int32_t imm)
{
	uint8_t *p;

	if (x86_is_imm8(imm)) {
		x86_op_rr_imm(cb, x86_w(w), 0x83, op, dst, imm, 1); /* op r/m, imm8 */
	} else if (dst == X86_RAX) {
		p = bpfu_codebuf_room(cb);
		if (w)
			*p++ = 0x48;
		*p++ = (uint8_t)(op << 3 | 5); /* op rax, imm32 */
		bpfu_codebuf_commit(cb, x86_put_i32(p, imm));
	} else {
		x86_op_rr_imm(cb, x86_w(w), 0x81, op, dst, imm, 4); /* op r/m, imm32 */
	}
}

/* @size 1 to 8: the register is the operand's low part. */
static inline void x86_alu_rm(struct bpfu_codebuf *cb, enum x86_alu op, unsigned size, uint8_t dst,
			      struct x86_mem m)
{
	x86_op_rm(cb, x86_size_flags(size), x86_sized((uint8_t)(op << 3 | 3), size), dst, m);
}

static inline void x86_alu_mr(struct bpfu_codebuf *cb, enum x86_alu op, unsigned size,
			      struct x86_mem m, uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size), x86_sized((uint8_t)(op << 3 | 1), size), src, m);
}

static inline void x86_alu_mi(struct bpfu_codebuf *cb, enum x86_alu op, unsigned size,
			      struct x86_mem m, int32_t imm)
{
	unsigned f = x86_size_flags(size) & ~(unsigned)X86_F_B8;

	if (size > 1 && x86_is_imm8(imm))
		x86_op_rm_imm(cb, f, 0x83, op, m, imm, 1); /* op m, imm8 */
	else
		x86_op_rm_imm(cb, f, x86_sized(0x81, size), op, m, imm, x86_imm_bytes(size));
}

static inline void x86_test_rr(struct bpfu_codebuf *cb, bool w, uint8_t a, uint8_t b)
{
	x86_op_rr(cb, x86_w(w), 0x85, b, a);
}

static inline void x86_test_ri(struct bpfu_codebuf *cb, bool w, uint8_t reg, int32_t imm)
{
	uint8_t *p;

	if (reg == X86_RAX) {
		p = bpfu_codebuf_room(cb);
		if (w)
			*p++ = 0x48;
		*p++ = 0xa9; /* test rax, imm32 */
		bpfu_codebuf_commit(cb, x86_put_i32(p, imm));
	} else {
		x86_op_rr_imm(cb, x86_w(w), 0xf7, 0, reg, imm, 4); /* test r/m, imm32 */
	}
}

static inline void x86_test8_ri(struct bpfu_codebuf *cb, uint8_t reg, uint8_t imm)
{
	uint8_t *p;

	if (reg == X86_RAX) {
		p = bpfu_codebuf_room(cb);
		*p++ = 0xa8; /* test al, imm8 */
		*p++ = imm;
		bpfu_codebuf_commit(cb, p);
	} else {
		x86_op_rr_imm(cb, X86_F_BRM8, 0xf6, 0, reg, imm, 1); /* test r/m8, imm8 */
	}
}

static inline void x86_test_mi(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m, int32_t imm)
{
	x86_op_rm_imm(cb, x86_size_flags(size) & ~(unsigned)X86_F_B8, x86_sized(0xf7, size), 0, m,
		      imm, x86_imm_bytes(size)); /* test m, imm */
}

static inline void x86_unary_r(struct bpfu_codebuf *cb, enum x86_unary op, bool w, uint8_t reg)
{
	x86_op_rr(cb, x86_w(w), 0xf7, op, reg);
}

static inline void x86_unary_m(struct bpfu_codebuf *cb, enum x86_unary op, unsigned size,
			       struct x86_mem m)
{
	x86_op_rm(cb, x86_size_flags(size) & ~(unsigned)X86_F_B8, x86_sized(0xf7, size), op, m);
}

static inline void x86_inc_r(struct bpfu_codebuf *cb, bool w, uint8_t reg)
{
	x86_op_rr(cb, x86_w(w), 0xff, 0, reg);
}

static inline void x86_dec_r(struct bpfu_codebuf *cb, bool w, uint8_t reg)
{
	x86_op_rr(cb, x86_w(w), 0xff, 1, reg);
}

static inline void x86_imul_rr(struct bpfu_codebuf *cb, bool w, uint8_t dst, uint8_t src)
{
	x86_op_rr(cb, x86_w(w) | X86_F_0F, 0xaf, dst, src);
}

static inline void x86_imul_rm(struct bpfu_codebuf *cb, bool w, uint8_t dst, struct x86_mem m)
{
	x86_op_rm(cb, x86_w(w) | X86_F_0F, 0xaf, dst, m);
}

static inline void x86_imul_rri(struct bpfu_codebuf *cb, bool w, uint8_t dst, uint8_t src,
				int32_t imm)
{
	if (x86_is_imm8(imm))
		x86_op_rr_imm(cb, x86_w(w), 0x6b, dst, src, imm, 1);
	else
		x86_op_rr_imm(cb, x86_w(w), 0x69, dst, src, imm, 4);
}

static inline void x86_imul_rmi(struct bpfu_codebuf *cb, bool w, uint8_t dst, struct x86_mem m,
				int32_t imm)
{
	if (x86_is_imm8(imm))
		x86_op_rm_imm(cb, x86_w(w), 0x6b, dst, m, imm, 1);
	else
		x86_op_rm_imm(cb, x86_w(w), 0x69, dst, m, imm, 4);
}

/* rdx = sign of rax, for idiv (cdq, cqo) */
static inline void x86_cdq(struct bpfu_codebuf *cb, bool w)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (w)
		*p++ = 0x48;
	*p++ = 0x99;
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_shift_ri(struct bpfu_codebuf *cb, enum x86_shift op, bool w, uint8_t reg,
				uint8_t count)
{
	if (count == 1)
		x86_op_rr(cb, x86_w(w), 0xd1, op, reg);
	else
		x86_op_rr_imm(cb, x86_w(w), 0xc1, op, reg, count, 1);
}

static inline void x86_shift_r_cl(struct bpfu_codebuf *cb, enum x86_shift op, bool w, uint8_t reg)
{
	x86_op_rr(cb, x86_w(w), 0xd3, op, reg);
}

/* rol or ror of the low 16 bits; the upper bits stay. */
static inline void x86_rot16_ri(struct bpfu_codebuf *cb, enum x86_shift op, uint8_t reg,
				uint8_t count)
{
	x86_op_rr_imm(cb, X86_F_66, 0xc1, op, reg, count, 1);
}

static inline void x86_bswap(struct bpfu_codebuf *cb, bool w, uint8_t reg)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	if (w || reg & 8)
		*p++ = (uint8_t)(0x40 | (w ? 8u : 0u) | reg >> 3);
	*p++ = 0x0f;
	*p++ = 0xc8 | (reg & 7);
	bpfu_codebuf_commit(cb, p);
}

/* ---- BMI1, BMI2 ---- */

/* shlx, shrx, sarx dst, src, count; no flags, count taken modulo the width */
static inline void x86_shiftx_rrr(struct bpfu_codebuf *cb, enum x86_shift op, bool w, uint8_t dst,
				  uint8_t src, uint8_t count)
{
	x86_vex_rrr(cb, w, 2, op == X86_SHL ? 1 : op == X86_SAR ? 2 : 3, 0xf7, dst, count, src);
}

static inline void x86_shiftx_rmr(struct bpfu_codebuf *cb, enum x86_shift op, bool w, uint8_t dst,
				  struct x86_mem m, uint8_t count)
{
	uint8_t *p = x86_put_vex(bpfu_codebuf_room(cb), w, 2,
				 op == X86_SHL ? 1 : op == X86_SAR ? 2 : 3, 0xf7, dst, count,
				 m.index, m.base);

	bpfu_codebuf_commit(cb, x86_put_mem(p, dst, m));
}

static inline void x86_rorx_rri(struct bpfu_codebuf *cb, bool w, uint8_t dst, uint8_t src,
				uint8_t count)
{
	uint8_t *p = x86_put_vex(bpfu_codebuf_room(cb), w, 3, 3, 0xf0, dst, 0, X86_NONE, src);

	*p++ = x86_modrm(3, dst, src);
	*p++ = count;
	bpfu_codebuf_commit(cb, p);
}

/* hi:lo = rdx * src */
static inline void x86_mulx_rrr(struct bpfu_codebuf *cb, bool w, uint8_t hi, uint8_t lo,
				uint8_t src)
{
	x86_vex_rrr(cb, w, 2, 3, 0xf6, hi, lo, src);
}

/* dst = ~a & b */
static inline void x86_andn_rrr(struct bpfu_codebuf *cb, bool w, uint8_t dst, uint8_t a, uint8_t b)
{
	x86_vex_rrr(cb, w, 2, 0, 0xf2, dst, a, b);
}

/* ---- atomics ---- */

static inline void x86_lock_alu_mr(struct bpfu_codebuf *cb, enum x86_alu op, unsigned size,
				   struct x86_mem m, uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size) | X86_F_LOCK, x86_sized((uint8_t)(op << 3 | 1), size),
		  src, m);
}

static inline void x86_lock_xadd(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m,
				 uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size) | X86_F_LOCK | X86_F_0F, x86_sized(0xc1, size), src, m);
}

static inline void x86_lock_cmpxchg(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m,
				    uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size) | X86_F_LOCK | X86_F_0F, x86_sized(0xb1, size), src, m);
}

/* xchg with memory locks by itself */
static inline void x86_xchg_mr(struct bpfu_codebuf *cb, unsigned size, struct x86_mem m, uint8_t src)
{
	x86_op_rm(cb, x86_size_flags(size), x86_sized(0x87, size), src, m);
}

/* ---- control flow ---- */

static inline void x86_byte(struct bpfu_codebuf *cb, uint8_t op)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	*p++ = op;
	bpfu_codebuf_commit(cb, p);
}

static inline void x86_ret(struct bpfu_codebuf *cb)
{
	x86_byte(cb, 0xc3);
}

static inline void x86_leave(struct bpfu_codebuf *cb)
{
	x86_byte(cb, 0xc9);
}

static inline void x86_int3(struct bpfu_codebuf *cb)
{
	x86_byte(cb, 0xcc);
}

#define X86_INT3_BYTE 0xcc

static inline void x86_lfence(struct bpfu_codebuf *cb)
{
	x86_op_rr(cb, X86_F_0F, 0xae, 5, 0);
}

static inline void x86_jmp_r(struct bpfu_codebuf *cb, uint8_t reg)
{
	x86_op_rr(cb, 0, 0xff, 4, reg);
}

static inline void x86_jmp_m(struct bpfu_codebuf *cb, struct x86_mem m)
{
	x86_op_rm(cb, 0, 0xff, 4, m);
}

static inline void x86_call_r(struct bpfu_codebuf *cb, uint8_t reg)
{
	x86_op_rr(cb, 0, 0xff, 2, reg);
}

static inline void x86_call_m(struct bpfu_codebuf *cb, struct x86_mem m)
{
	x86_op_rm(cb, 0, 0xff, 2, m);
}

/* @rel: from the end of the instruction */
static inline void x86_call_rel32(struct bpfu_codebuf *cb, int32_t rel)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	*p++ = 0xe8;
	bpfu_codebuf_commit(cb, x86_put_i32(p, rel));
}

/* @n bytes that do nothing, in as few instructions as there can be without prefixes that stall. */
static inline void x86_put_nops(uint8_t *p, size_t n)
{
	static const uint8_t forms[9][9] = {
		{ 0x90 },
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	};

	while (n) {
		size_t len = n < sizeof(forms[0]) ? n : sizeof(forms[0]);

		memcpy(p, forms[len - 1], len);
		p += len;
		n -= len;
	}
}

/*
 * Branches are written in place once their distance is known (jit/layout.h), hence the pointers.
 * @cc X86_JMP: always. @rel counts from the end. Returns the length.
 */
#define X86_JMP 16
#define X86_BRANCH_SHORT 2

static inline unsigned x86_branch_long_len(unsigned cc)
{
	return cc == X86_JMP ? 5 : 6;
}

static inline unsigned x86_put_branch(uint8_t *p, unsigned cc, bool is_long, int32_t rel)
{
	if (!is_long) {
		p[0] = cc == X86_JMP ? 0xeb : (uint8_t)(0x70 | cc); /* jmp rel8, jcc rel8 */
		p[1] = (uint32_t)rel & 0xff;
		return 2;
	}
	if (cc == X86_JMP) {
		*p++ = 0xe9; /* jmp rel32 */
		x86_put_i32(p, rel);
		return 5;
	}
	*p++ = 0x0f;
	*p++ = (uint8_t)(0x80 | cc); /* jcc rel32 */
	x86_put_i32(p, rel);
	return 6;
}

#endif
