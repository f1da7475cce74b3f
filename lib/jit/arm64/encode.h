/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoders of A64 instructions: pure functions from operands to a 32-bit word. The only place of
 * the backend that knows opcodes; grouped as in the Arm Architecture Reference Manual, section C4.1
 * ("A64 instruction set encoding"). "sf" selects 64-bit registers; without it an operand is 32 bits
 * wide and its register's upper half becomes zero, as the ALU32 class of BPF asks for.
 *
 * Operands that do not fit are the caller's bug, except where a function says that it returns
 * whether they fit (a64_*_fits, a64_logical_imm).
 */
#ifndef BPFU_JIT_ARM64_ENCODE_H
#define BPFU_JIT_ARM64_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/arm64/regs.h"

enum a64_cond {
	A64_EQ, A64_NE, A64_HS, A64_LO, A64_MI, A64_PL, A64_VS, A64_VC,
	A64_HI, A64_LS, A64_GE, A64_LT, A64_GT, A64_LE, A64_AL,
};

static inline enum a64_cond a64_cond_not(enum a64_cond c)
{
	return (enum a64_cond)((unsigned)c ^ 1u);
}

/* log2 of the access size in bytes: the "size" field of loads and stores. */
enum a64_size { A64_B, A64_H, A64_W, A64_D };

#define A64_FIELD(value, lsb, width) (((uint32_t)(value) & ((1u << (width)) - 1)) << (lsb))
#define A64_SF(sf) ((uint32_t)(sf) << 31)
#define A64_RD(r) A64_FIELD(r, 0, 5)
#define A64_RN(r) A64_FIELD(r, 5, 5)
#define A64_RM(r) A64_FIELD(r, 16, 5)
#define A64_RA(r) A64_FIELD(r, 10, 5)

/* ---- C4.1: data processing, immediate ---- */

static inline bool a64_addsub_imm_fits(int64_t imm)
{
	return imm >= 0 && (imm < 4096 || (!(imm & 4095) && imm < (4096 << 12)));
}

static inline uint32_t a64_addsub_i(uint32_t op, bool sf, uint8_t rd, uint8_t rn, uint32_t imm)
{
	uint32_t shift = imm >= 4096;

	return op | A64_SF(sf) | shift << 22 | A64_FIELD(shift ? imm >> 12 : imm, 10, 12) |
	       A64_RN(rn) | A64_RD(rd);
}

/* ADD Rd|SP, Rn|SP, #imm */
static inline uint32_t a64_add_i(bool sf, uint8_t rd, uint8_t rn, uint32_t imm)
{
	return a64_addsub_i(0x11000000, sf, rd, rn, imm);
}

/* SUB Rd|SP, Rn|SP, #imm */
static inline uint32_t a64_sub_i(bool sf, uint8_t rd, uint8_t rn, uint32_t imm)
{
	return a64_addsub_i(0x51000000, sf, rd, rn, imm);
}

/* CMP Rn, #imm (SUBS ZR, Rn, #imm) */
static inline uint32_t a64_cmp_i(bool sf, uint8_t rn, uint32_t imm)
{
	return a64_addsub_i(0x71000000, sf, A64_ZR, rn, imm);
}

/* CMN Rn, #imm (ADDS ZR, Rn, #imm) */
static inline uint32_t a64_cmn_i(bool sf, uint8_t rn, uint32_t imm)
{
	return a64_addsub_i(0x31000000, sf, A64_ZR, rn, imm);
}

/* SUBS Rd, Rn|SP, #imm */
static inline uint32_t a64_subs_i(bool sf, uint8_t rd, uint8_t rn, uint32_t imm)
{
	return a64_addsub_i(0x71000000, sf, rd, rn, imm);
}

enum a64_logic { A64_AND, A64_ORR, A64_EOR, A64_ANDS };

/*
 * The N:immr:imms fields of a logical immediate: a run of ones, rotated, repeated every 2, 4, …, 64
 * bits. Returns false if @imm is no such pattern. For 32-bit operations pass the value in both
 * halves.
 */
static inline bool a64_logical_imm(uint64_t imm, uint32_t *fields)
{
	uint32_t width = 64, ones, rot, n;
	uint64_t elem;

	if (imm == 0 || imm == UINT64_MAX)
		return false;
	while (width > 2) {
		uint32_t half = width / 2;
		uint64_t mask = (1ull << half) - 1;

		if ((imm & mask) != ((imm >> half) & mask))
			break;
		width = half;
	}
	elem = width == 64 ? imm : imm & ((1ull << width) - 1);
	ones = (uint32_t)__builtin_popcountll(elem);

	/* Rotate until the ones fill the low end; the count of steps is immr. */
	for (rot = 0; rot < width; rot++) {
		uint64_t low = ones == 64 ? UINT64_MAX : (1ull << ones) - 1;
		uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
		uint64_t turned = rot ? ((low >> rot) | (low << (width - rot))) & mask : low;

		if (turned == elem)
			break;
	}
	if (rot == width)
		return false;
	n = width == 64;
	*fields = n << 22 | A64_FIELD(rot, 16, 6) |
		  A64_FIELD((~(width * 2 - 1) & 63) | (ones - 1), 10, 6);
	return true;
}

/* AND|ORR|EOR|ANDS Rd, Rn, #fields (from a64_logical_imm; ANDS writes ZR for TST) */
static inline uint32_t a64_logic_i(enum a64_logic op, bool sf, uint8_t rd, uint8_t rn,
				   uint32_t fields)
{
	return 0x12000000 | A64_SF(sf) | (uint32_t)op << 29 | fields | A64_RN(rn) | A64_RD(rd);
}

/* MOVN Rd, #imm16, LSL #(16 * hw) */
static inline uint32_t a64_movn(bool sf, uint8_t rd, uint16_t imm, uint8_t hw)
{
	return 0x12800000 | A64_SF(sf) | A64_FIELD(hw, 21, 2) | A64_FIELD(imm, 5, 16) | A64_RD(rd);
}

/* MOVZ Rd, #imm16, LSL #(16 * hw) */
static inline uint32_t a64_movz(bool sf, uint8_t rd, uint16_t imm, uint8_t hw)
{
	return 0x52800000 | A64_SF(sf) | A64_FIELD(hw, 21, 2) | A64_FIELD(imm, 5, 16) | A64_RD(rd);
}

/* MOVK Rd, #imm16, LSL #(16 * hw) */
static inline uint32_t a64_movk(bool sf, uint8_t rd, uint16_t imm, uint8_t hw)
{
	return 0x72800000 | A64_SF(sf) | A64_FIELD(hw, 21, 2) | A64_FIELD(imm, 5, 16) | A64_RD(rd);
}

static inline uint32_t a64_bitfield(uint32_t op, bool sf, uint8_t rd, uint8_t rn, uint8_t immr,
				    uint8_t imms)
{
	return op | A64_SF(sf) | (uint32_t)sf << 22 | A64_FIELD(immr, 16, 6) |
	       A64_FIELD(imms, 10, 6) | A64_RN(rn) | A64_RD(rd);
}

/* SBFM Rd, Rn, #immr, #imms */
static inline uint32_t a64_sbfm(bool sf, uint8_t rd, uint8_t rn, uint8_t immr, uint8_t imms)
{
	return a64_bitfield(0x13000000, sf, rd, rn, immr, imms);
}

/* UBFM Rd, Rn, #immr, #imms */
static inline uint32_t a64_ubfm(bool sf, uint8_t rd, uint8_t rn, uint8_t immr, uint8_t imms)
{
	return a64_bitfield(0x53000000, sf, rd, rn, immr, imms);
}

/* LSL Rd, Rn, #shift */
static inline uint32_t a64_lsl_i(bool sf, uint8_t rd, uint8_t rn, uint8_t shift)
{
	uint8_t bits = sf ? 64 : 32;

	return a64_ubfm(sf, rd, rn, (bits - shift) & (bits - 1), bits - 1 - shift);
}

/* LSR Rd, Rn, #shift */
static inline uint32_t a64_lsr_i(bool sf, uint8_t rd, uint8_t rn, uint8_t shift)
{
	return a64_ubfm(sf, rd, rn, shift, sf ? 63 : 31);
}

/* ASR Rd, Rn, #shift */
static inline uint32_t a64_asr_i(bool sf, uint8_t rd, uint8_t rn, uint8_t shift)
{
	return a64_sbfm(sf, rd, rn, shift, sf ? 63 : 31);
}

/* SXTB|SXTH|SXTW Rd, Wn for @bits of 8, 16, 32 */
static inline uint32_t a64_sxt(bool sf, uint8_t rd, uint8_t rn, uint8_t bits)
{
	return a64_sbfm(sf, rd, rn, 0, bits - 1);
}

/* UXTB|UXTH Wd, Wn for @bits of 8, 16 */
static inline uint32_t a64_uxt(uint8_t rd, uint8_t rn, uint8_t bits)
{
	return a64_ubfm(false, rd, rn, 0, bits - 1);
}

/* ROR Rd, Rs, #shift (EXTR Rd, Rs, Rs, #shift) */
static inline uint32_t a64_ror_i(bool sf, uint8_t rd, uint8_t rs, uint8_t shift)
{
	return 0x13800000 | A64_SF(sf) | (uint32_t)sf << 22 | A64_RM(rs) | A64_FIELD(shift, 10, 6) |
	       A64_RN(rs) | A64_RD(rd);
}

/* ADR Rd, #offset: bytes from this instruction, within 1 MiB */
static inline uint32_t a64_adr(uint8_t rd, int32_t offset)
{
	return 0x10000000 | A64_FIELD(offset, 29, 2) | A64_FIELD(offset >> 2, 5, 19) | A64_RD(rd);
}

/* ADRP Rd, #pages: the 4 KiB page of this instruction plus so many pages */
static inline uint32_t a64_adrp(uint8_t rd, int32_t pages)
{
	return 0x90000000 | A64_FIELD(pages, 29, 2) | A64_FIELD(pages >> 2, 5, 19) | A64_RD(rd);
}

/* ---- C4.1: data processing, register ---- */

enum a64_shift { A64_LSL, A64_LSR, A64_ASR };

static inline uint32_t a64_rrr(uint32_t op, bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return op | A64_SF(sf) | A64_RM(rm) | A64_RN(rn) | A64_RD(rd);
}

/* Shift of the second operand, for the functions below that take plain registers. */
static inline uint32_t a64_with_shift(uint32_t insn, enum a64_shift shift, uint8_t amount)
{
	return insn | A64_FIELD(shift, 22, 2) | A64_FIELD(amount, 10, 6);
}

/* ADD Rd, Rn, Rm */
static inline uint32_t a64_add(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x0b000000, sf, rd, rn, rm);
}

/* SUB Rd, Rn, Rm */
static inline uint32_t a64_sub(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x4b000000, sf, rd, rn, rm);
}

/* SUBS Rd, Rn, Rm */
static inline uint32_t a64_subs(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x6b000000, sf, rd, rn, rm);
}

/* NEG Rd, Rm */
static inline uint32_t a64_neg(bool sf, uint8_t rd, uint8_t rm)
{
	return a64_sub(sf, rd, A64_ZR, rm);
}

/* CMP Rn, Rm */
static inline uint32_t a64_cmp(bool sf, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x6b000000, sf, A64_ZR, rn, rm);
}

/* AND|ORR|EOR|ANDS Rd, Rn, Rm */
static inline uint32_t a64_logic(enum a64_logic op, bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x0a000000 | (uint32_t)op << 29, sf, rd, rn, rm);
}

/* TST Rn, Rm */
static inline uint32_t a64_tst(bool sf, uint8_t rn, uint8_t rm)
{
	return a64_logic(A64_ANDS, sf, A64_ZR, rn, rm);
}

/* MOV Rd, Rm (ORR Rd, ZR, Rm; no SP) */
static inline uint32_t a64_mov(bool sf, uint8_t rd, uint8_t rm)
{
	return a64_logic(A64_ORR, sf, rd, A64_ZR, rm);
}

/* MVN Rd, Rm (ORN Rd, ZR, Rm) */
static inline uint32_t a64_mvn(bool sf, uint8_t rd, uint8_t rm)
{
	return a64_rrr(0x2a200000, sf, rd, A64_ZR, rm);
}

/* MADD Rd, Rn, Rm, Ra */
static inline uint32_t a64_madd(bool sf, uint8_t rd, uint8_t rn, uint8_t rm, uint8_t ra)
{
	return a64_rrr(0x1b000000, sf, rd, rn, rm) | A64_RA(ra);
}

/* MUL Rd, Rn, Rm */
static inline uint32_t a64_mul(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_madd(sf, rd, rn, rm, A64_ZR);
}

/* MSUB Rd, Rn, Rm, Ra: Ra - Rn * Rm */
static inline uint32_t a64_msub(bool sf, uint8_t rd, uint8_t rn, uint8_t rm, uint8_t ra)
{
	return a64_rrr(0x1b008000, sf, rd, rn, rm) | A64_RA(ra);
}

/* UMULH Xd, Xn, Xm */
static inline uint32_t a64_umulh(uint8_t rd, uint8_t rn, uint8_t rm)
{
	return 0x9bc07c00 | A64_RM(rm) | A64_RN(rn) | A64_RD(rd);
}

/* UDIV Rd, Rn, Rm: 0 for a zero divisor */
static inline uint32_t a64_udiv(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x1ac00800, sf, rd, rn, rm);
}

/* SDIV Rd, Rn, Rm: 0 for a zero divisor, MIN for MIN / -1 */
static inline uint32_t a64_sdiv(bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x1ac00c00, sf, rd, rn, rm);
}

/* LSLV|LSRV|ASRV Rd, Rn, Rm: count modulo the register width */
static inline uint32_t a64_shift_r(enum a64_shift op, bool sf, uint8_t rd, uint8_t rn, uint8_t rm)
{
	return a64_rrr(0x1ac02000 | (uint32_t)op << 10, sf, rd, rn, rm);
}

/* REV16 Wd, Wn */
static inline uint32_t a64_rev16(uint8_t rd, uint8_t rn)
{
	return 0x5ac00400 | A64_RN(rn) | A64_RD(rd);
}

/* REV Wd, Wn */
static inline uint32_t a64_rev32(uint8_t rd, uint8_t rn)
{
	return 0x5ac00800 | A64_RN(rn) | A64_RD(rd);
}

/* REV Xd, Xn */
static inline uint32_t a64_rev64(uint8_t rd, uint8_t rn)
{
	return 0xdac00c00 | A64_RN(rn) | A64_RD(rd);
}

/* CSEL Rd, Rn, Rm, cond */
static inline uint32_t a64_csel(bool sf, uint8_t rd, uint8_t rn, uint8_t rm, enum a64_cond cond)
{
	return a64_rrr(0x1a800000, sf, rd, rn, rm) | A64_FIELD(cond, 12, 4);
}

/* ---- C4.1: branches, exceptions, system ---- */

static inline bool a64_imm26_fits(int64_t offset)
{
	return !(offset & 3) && offset >= -(1ll << 27) && offset < (1ll << 27);
}

static inline bool a64_imm19_fits(int64_t offset)
{
	return !(offset & 3) && offset >= -(1ll << 20) && offset < (1ll << 20);
}

/* B #offset (bytes from this instruction) */
static inline uint32_t a64_b(int32_t offset)
{
	return 0x14000000 | A64_FIELD(offset >> 2, 0, 26);
}

/* BL #offset */
static inline uint32_t a64_bl(int32_t offset)
{
	return 0x94000000 | A64_FIELD(offset >> 2, 0, 26);
}

/* B.cond #offset */
static inline uint32_t a64_b_cond(enum a64_cond cond, int32_t offset)
{
	return 0x54000000 | A64_FIELD(offset >> 2, 5, 19) | (uint32_t)cond;
}

/* CBZ Rt, #offset */
static inline uint32_t a64_cbz(bool sf, uint8_t rt, int32_t offset)
{
	return 0x34000000 | A64_SF(sf) | A64_FIELD(offset >> 2, 5, 19) | A64_RD(rt);
}

/* CBNZ Rt, #offset */
static inline uint32_t a64_cbnz(bool sf, uint8_t rt, int32_t offset)
{
	return 0x35000000 | A64_SF(sf) | A64_FIELD(offset >> 2, 5, 19) | A64_RD(rt);
}

/* BR Xn */
static inline uint32_t a64_br(uint8_t rn)
{
	return 0xd61f0000 | A64_RN(rn);
}

/* BLR Xn */
static inline uint32_t a64_blr(uint8_t rn)
{
	return 0xd63f0000 | A64_RN(rn);
}

/* RET Xn */
static inline uint32_t a64_ret_to(uint8_t rn)
{
	return 0xd65f0000 | A64_RN(rn);
}

/* RET */
static inline uint32_t a64_ret(void)
{
	return a64_ret_to(A64_LR);
}

/* NOP */
static inline uint32_t a64_nop(void)
{
	return 0xd503201f;
}

/* BTI C: landing pad of calls; a hint that older cores ignore */
static inline uint32_t a64_bti_c(void)
{
	return 0xd503245f;
}

/* BTI J: landing pad of jumps through a register */
static inline uint32_t a64_bti_j(void)
{
	return 0xd503249f;
}

/* BRK #imm16 */
static inline uint32_t a64_brk(uint16_t imm)
{
	return 0xd4200000 | A64_FIELD(imm, 5, 16);
}

/* DMB ISH */
static inline uint32_t a64_dmb_ish(void)
{
	return 0xd5033bbf;
}

/* SB as its fallback for cores without it: DSB NSH; ISB */
static inline uint32_t a64_dsb_nsh(void)
{
	return 0xd503379f;
}

static inline uint32_t a64_isb(void)
{
	return 0xd5033fdf;
}

/* MRS Xt, TPIDR_EL0: the thread pointer */
static inline uint32_t a64_mrs_tpidr_el0(uint8_t rt)
{
	return 0xd53bd040 | A64_RD(rt);
}

/* ---- C4.1: loads and stores ---- */

/* Which load: the opc field; signed loads extend to 64 bits. */
enum a64_ls { A64_STR = 0, A64_LDR = 1, A64_LDRS = 2 };

static inline bool a64_ls_uimm_fits(enum a64_size size, int64_t off)
{
	return off >= 0 && !(off & ((1 << size) - 1)) && (off >> size) < 4096;
}

static inline bool a64_ls_simm9_fits(int64_t off)
{
	return off >= -256 && off < 256;
}

/* STR|LDR|LDRS Rt, [Xn|SP, #off], off a multiple of the size, 0 … 4095 times it */
static inline uint32_t a64_ls_uimm(enum a64_ls op, enum a64_size size, uint8_t rt, uint8_t rn,
				   uint32_t off)
{
	return 0x39000000 | (uint32_t)size << 30 | (uint32_t)op << 22 |
	       A64_FIELD(off >> size, 10, 12) | A64_RN(rn) | A64_RD(rt);
}

/* STUR|LDUR|LDURS Rt, [Xn|SP, #off], -256 … 255 */
static inline uint32_t a64_ls_simm9(enum a64_ls op, enum a64_size size, uint8_t rt, uint8_t rn,
				    int32_t off)
{
	return 0x38000000 | (uint32_t)size << 30 | (uint32_t)op << 22 | A64_FIELD(off, 12, 9) |
	       A64_RN(rn) | A64_RD(rt);
}

/* STR|LDR|LDRS Rt, [Xn|SP, Xm] */
static inline uint32_t a64_ls_reg(enum a64_ls op, enum a64_size size, uint8_t rt, uint8_t rn,
				  uint8_t rm)
{
	return 0x38206800 | (uint32_t)size << 30 | (uint32_t)op << 22 | A64_RM(rm) | A64_RN(rn) |
	       A64_RD(rt);
}

/* STP Xt1, Xt2, [SP, #off]! : off a multiple of 8, -512 … 504 */
static inline uint32_t a64_stp_pre(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xa9800000 | A64_FIELD(off >> 3, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* LDP Xt1, Xt2, [SP], #off */
static inline uint32_t a64_ldp_post(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xa8c00000 | A64_FIELD(off >> 3, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* STP Xt1, Xt2, [Xn|SP, #off] */
static inline uint32_t a64_stp(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xa9000000 | A64_FIELD(off >> 3, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* LDP Xt1, Xt2, [Xn|SP, #off] */
static inline uint32_t a64_ldp(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xa9400000 | A64_FIELD(off >> 3, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* STP Qt1, Qt2, [Xn|SP, #off] : off a multiple of 16, -1024 … 1008 */
static inline uint32_t a64_stp_q(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xad000000 | A64_FIELD(off >> 4, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* LDP Qt1, Qt2, [Xn|SP, #off] */
static inline uint32_t a64_ldp_q(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xad400000 | A64_FIELD(off >> 4, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* LDP Qt1, Qt2, [Xn|SP], #off : off a multiple of 16, -1024 … 1008 */
static inline uint32_t a64_ldp_q_post(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xacc00000 | A64_FIELD(off >> 4, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* STP Qt1, Qt2, [Xn|SP], #off */
static inline uint32_t a64_stp_q_post(uint8_t rt1, uint8_t rt2, uint8_t rn, int32_t off)
{
	return 0xac800000 | A64_FIELD(off >> 4, 15, 7) | A64_RA(rt2) | A64_RN(rn) | A64_RD(rt1);
}

/* LDR Qt, [Xn|SP], #off : -256 … 255 */
static inline uint32_t a64_ldr_q_post(uint8_t rt, uint8_t rn, int32_t off)
{
	return 0x3cc00400 | A64_FIELD(off, 12, 9) | A64_RN(rn) | A64_RD(rt);
}

/* LDAR{B,H} Rt, [Xn] */
static inline uint32_t a64_ldar(enum a64_size size, uint8_t rt, uint8_t rn)
{
	return 0x08dffc00 | (uint32_t)size << 30 | A64_RN(rn) | A64_RD(rt);
}

/* STLR{B,H} Rt, [Xn] */
static inline uint32_t a64_stlr(enum a64_size size, uint8_t rt, uint8_t rn)
{
	return 0x089ffc00 | (uint32_t)size << 30 | A64_RN(rn) | A64_RD(rt);
}

/* LDXR Rt, [Xn] */
static inline uint32_t a64_ldxr(enum a64_size size, uint8_t rt, uint8_t rn)
{
	return 0x085f7c00 | (uint32_t)size << 30 | A64_RN(rn) | A64_RD(rt);
}

/* STXR Ws, Rt, [Xn] */
static inline uint32_t a64_stxr(enum a64_size size, uint8_t rs, uint8_t rt, uint8_t rn)
{
	return 0x08007c00 | (uint32_t)size << 30 | A64_RM(rs) | A64_RN(rn) | A64_RD(rt);
}

/* STLXR Ws, Rt, [Xn] */
static inline uint32_t a64_stlxr(enum a64_size size, uint8_t rs, uint8_t rt, uint8_t rn)
{
	return 0x0800fc00 | (uint32_t)size << 30 | A64_RM(rs) | A64_RN(rn) | A64_RD(rt);
}

/* FEAT_LSE. LDADD and friends: the old value goes to Rt (ZR: discarded). */
enum a64_lse { A64_LDADD = 0, A64_LDCLR = 1, A64_LDEOR = 2, A64_LDSET = 3, A64_SWP = 8 };

/* LDADD|LDCLR|LDEOR|LDSET|SWP Rs, Rt, [Xn], with acquire and release as @al */
static inline uint32_t a64_lse_op(enum a64_lse op, bool al, enum a64_size size, uint8_t rs,
				  uint8_t rt, uint8_t rn)
{
	return 0x38200000 | (uint32_t)size << 30 | (al ? 3u << 22 : 0) | A64_RM(rs) |
	       (uint32_t)op << 12 | A64_RN(rn) | A64_RD(rt);
}

/* CASAL Rs, Rt, [Xn]: compare with Rs, store Rt; the old value goes to Rs */
static inline uint32_t a64_casal(enum a64_size size, uint8_t rs, uint8_t rt, uint8_t rn)
{
	return 0x08e0fc00 | (uint32_t)size << 30 | A64_RM(rs) | A64_RN(rn) | A64_RD(rt);
}

/* ---- C4.1: data processing, scalar floating-point and advanced SIMD; vectors are of 128 bits ---- */

/* DUP Vd.T, Rn : parts of @size */
static inline uint32_t a64_dup(enum a64_size size, uint8_t vd, uint8_t rn)
{
	return 0x4e000c00 | A64_FIELD(1u << size, 16, 5) | A64_RN(rn) | A64_RD(vd);
}

/* MOVI Vd.2D, #0 */
static inline uint32_t a64_movi_zero(uint8_t vd)
{
	return 0x6f00e400 | A64_RD(vd);
}

/* UADDLP Vd.T2, Vn.T : sums of pairs of parts of @size */
static inline uint32_t a64_uaddlp(enum a64_size size, uint8_t vd, uint8_t vn)
{
	return 0x6e202800 | (uint32_t)size << 22 | A64_RN(vn) | A64_RD(vd);
}

/* UADALP Vd.T2, Vn.T : the same, added to Vd */
static inline uint32_t a64_uadalp(enum a64_size size, uint8_t vd, uint8_t vn)
{
	return 0x6e206800 | (uint32_t)size << 22 | A64_RN(vn) | A64_RD(vd);
}

/* ADD Vd.2D, Vn.2D, Vm.2D */
static inline uint32_t a64_add_2d(uint8_t vd, uint8_t vn, uint8_t vm)
{
	return 0x4ee08400 | A64_RM(vm) | A64_RN(vn) | A64_RD(vd);
}

/* ADDP Dd, Vn.2D */
static inline uint32_t a64_addp_d(uint8_t vd, uint8_t vn)
{
	return 0x5ef1b800 | A64_RN(vn) | A64_RD(vd);
}

/* FMOV Xd, Dn */
static inline uint32_t a64_fmov_x(uint8_t rd, uint8_t vn)
{
	return 0x9e660000 | A64_RN(vn) | A64_RD(rd);
}

#endif
