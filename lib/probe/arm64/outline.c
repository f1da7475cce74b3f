// SPDX-License-Identifier: BSD-2-Clause
/*
 * Out of line on arm64 (outline.h). Instructions that use the program counter are done on the
 * registers; the others run as a copy, followed by a branch. Exclusive loads and stores would lose
 * their reservation to the trap, so that a loop around them would never end: refused.
 */
#include <errno.h>
#include <string.h>

#include "probe/outline.h"

enum { REG_SP = 31, REG_PC = 32, REG_PSTATE = 33, REG_LR = 30 };

/* Bits [@hi:@lo]. */
static uint32_t bits(uint32_t insn, int hi, int lo)
{
	return insn >> lo & ((2u << (hi - lo)) - 1);
}

static int64_t sign_extend(uint64_t value, int width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

static bool is(uint32_t insn, uint32_t mask, uint32_t value)
{
	return (insn & mask) == value;
}

static uint32_t load_insn(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	return insn;
}

static bool is_branch(uint32_t insn)
{
	return is(insn, 0x7c000000, 0x14000000) ||  /* b, bl */
	       is(insn, 0xff000010, 0x54000000) ||  /* b.cond */
	       is(insn, 0x7e000000, 0x34000000) ||  /* cbz, cbnz */
	       is(insn, 0x7e000000, 0x36000000);    /* tbz, tbnz */
}

static bool is_branch_to_register(uint32_t insn)
{
	return is(insn, 0xff9ffc1f, 0xd61f0000) && bits(insn, 22, 21) != 3; /* br, blr, ret */
}

static bool is_address(uint32_t insn)
{
	return is(insn, 0x1f000000, 0x10000000); /* adr, adrp */
}

static bool is_load_literal(uint32_t insn)
{
	return is(insn, 0x3b000000, 0x18000000);
}

static bool is_vector_literal(uint32_t insn)
{
	return is_load_literal(insn) && (insn & 1u << 26);
}

static bool is_emulated(uint32_t insn)
{
	return is_branch(insn) || is_branch_to_register(insn) || is_address(insn) ||
	       is_load_literal(insn);
}

static bool is_refused(uint32_t insn)
{
	/* svc leaves from anywhere; hvc, smc, brk, hlt; what no instruction is. */
	if (is(insn, 0xff000000, 0xd4000000))
		return !is(insn, 0xffe0001f, 0xd4000001);
	/* eret, drps, and the branches that check their pointer first. */
	if (is(insn, 0xfe000000, 0xd6000000) && !is_branch_to_register(insn))
		return true;
	/* Exclusive ones, of one register or two. */
	if (is(insn, 0x3fa00000, 0x08000000) || is(insn, 0x3fa00000, 0x08200000))
		return true;
	return is_vector_literal(insn) || is(insn, 0x1e000000, 0);
}

int bpfu_a64_insn_len(const uint8_t *code, size_t size)
{
	return size < 4 ? -EINVAL : 4;
}

int bpfu_a64_outline_len(const uint8_t *code, size_t size)
{
	if (size < 4)
		return -EINVAL;
	return is_refused(load_insn(code)) ? -EOPNOTSUPP : 4;
}

int bpfu_a64_outline(uint8_t out[BPFU_OUTLINE_MAX], uint64_t slot, const uint8_t *code, uint64_t at)
{
	uint32_t insn = load_insn(code), branch;
	int64_t words = (int64_t)(at + 4 - (slot + 4)) / 4;

	if (is_refused(insn))
		return -EOPNOTSUPP;
	if (is_emulated(insn))
		return 0;
	if (words < -(1 << 25) || words >= 1 << 25)
		return -ERANGE;
	branch = 0x14000000u | ((uint32_t)words & 0x3ffffffu);
	memcpy(out, &insn, sizeof(insn));
	memcpy(out + 4, &branch, sizeof(branch));
	return 8;
}

/* ---- on the registers ---- */

static bool holds(uint32_t cond, uint64_t pstate)
{
	bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1, v = pstate >> 28 & 1;
	const bool results[] = { z, c, n, v, c && !z, n == v, n == v && !z, true };
	bool result = results[cond >> 1];

	return cond & 1 && cond != 15 ? !result : result;
}

/* A register that reads as zero where its number is 31. */
static uint64_t reg(const uint64_t *regs, uint32_t number)
{
	return number == 31 ? 0 : regs[number];
}

static void set_reg(uint64_t *regs, uint32_t number, uint64_t value)
{
	if (number != 31)
		regs[number] = value;
}

static bool is_taken(uint32_t insn, const uint64_t *regs)
{
	uint64_t value = reg(regs, bits(insn, 4, 0));

	if (is(insn, 0x7c000000, 0x14000000))
		return true;
	if (is(insn, 0xff000010, 0x54000000))
		return holds(bits(insn, 3, 0), regs[REG_PSTATE]);
	if (is(insn, 0x7e000000, 0x34000000)) {
		if (!(insn & 1u << 31))
			value = (uint32_t)value;
		return (value != 0) == bits(insn, 24, 24);
	}
	return (value >> (bits(insn, 31, 31) << 5 | bits(insn, 23, 19)) & 1) == bits(insn, 24, 24);
}

static int64_t branch_distance(uint32_t insn)
{
	if (is(insn, 0x7c000000, 0x14000000))
		return 4 * sign_extend(bits(insn, 25, 0), 26);
	if (is(insn, 0x7e000000, 0x36000000))
		return 4 * sign_extend(bits(insn, 18, 5), 14);
	return 4 * sign_extend(bits(insn, 23, 5), 19);
}

static void do_branch(uint32_t insn, uint64_t *regs)
{
	uint64_t pc = regs[REG_PC];
	bool taken = is_taken(insn, regs);

	if (is(insn, 0xfc000000, 0x94000000)) /* bl */
		regs[REG_LR] = pc + 4;
	regs[REG_PC] = pc + (uint64_t)(taken ? branch_distance(insn) : 4);
}

static void do_branch_to_register(uint32_t insn, uint64_t *regs)
{
	uint64_t target = reg(regs, bits(insn, 9, 5));

	if (bits(insn, 22, 21) == 1) /* blr */
		regs[REG_LR] = regs[REG_PC] + 4;
	regs[REG_PC] = target;
}

static void do_address(uint32_t insn, uint64_t *regs)
{
	int64_t off = sign_extend((uint64_t)bits(insn, 23, 5) << 2 | bits(insn, 30, 29), 21);
	uint64_t pc = regs[REG_PC];

	if (insn & 1u << 31)
		set_reg(regs, bits(insn, 4, 0), (pc & ~0xfffull) + (uint64_t)off * 4096);
	else
		set_reg(regs, bits(insn, 4, 0), pc + (uint64_t)off);
	regs[REG_PC] = pc + 4;
}

static void do_load_literal(uint32_t insn, uint64_t *regs)
{
	const char *p = (const char *)(uintptr_t)(regs[REG_PC] +
						  (uint64_t)(4 * sign_extend(bits(insn, 23, 5), 19)));
	uint64_t wide;
	uint32_t narrow;

	if (bits(insn, 31, 30) == 1) {
		memcpy(&wide, p, sizeof(wide));
		set_reg(regs, bits(insn, 4, 0), wide);
	} else if (bits(insn, 31, 30) != 3) { /* else a prefetch */
		memcpy(&narrow, p, sizeof(narrow));
		set_reg(regs, bits(insn, 4, 0),
			bits(insn, 31, 30) == 2 ? (uint64_t)(int32_t)narrow : narrow);
	}
	regs[REG_PC] += 4;
}

void bpfu_a64_emulate(uint32_t insn, uint64_t regs[34])
{
	if (is_branch(insn))
		do_branch(insn, regs);
	else if (is_branch_to_register(insn))
		do_branch_to_register(insn, regs);
	else if (is_address(insn))
		do_address(insn, regs);
	else
		do_load_literal(insn, regs);
}
