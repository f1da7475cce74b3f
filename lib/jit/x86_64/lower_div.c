// SPDX-License-Identifier: BSD-2-Clause
/*
 * Division and remainder. BPF defines what the processor traps on: x / 0 is 0, x % 0 is x, and
 * MIN / -1 is MIN. With a register as divisor a test branches around those cases into cold code;
 * a constant divisor needs no test, and mostly no division:
 *
 *   2^k        shift or mask
 *   others     multiplication by the reciprocal (Granlund and Montgomery, "Division by invariant
 *              integers using multiplication", 1994): with 2^(n+l) / c rounded up to m,
 *              x / c = (x * m) >> (n+l). If m takes n+1 bits, t = (x * (m - 2^n)) >> n and
 *              x / c = (((x - t) >> 1) + t) >> (l-1).
 *
 * div works on rdx:rax. What lives there moves to the scratch registers meanwhile, if it is needed
 * later at all.
 */
#include "jit/x86_64/lower.h"

struct divmod {
	bool w;
	bool sign;
	bool mod;
	unsigned d;     /* BPF register */
	uint8_t dst;    /* its x86 register */
};

/* ---- divisor in a register ---- */

static void div_reg(struct x86_jit *j, const struct divmod *o, uint8_t src)
{
	bool keep_ax, keep_dx;
	uint8_t result = o->mod ? X86_RDX : X86_RAX;

	keep_ax = o->dst != X86_RAX && x86_reg_busy(j, X86_RAX);
	keep_dx = o->dst != X86_RDX && x86_reg_busy(j, X86_RDX);
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_SCRATCH_AX, X86_RAX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_SCRATCH_DX, X86_RDX);
	if (o->dst != X86_RAX)
		x86_mov_rr(j->cb, o->w, X86_RAX, o->dst);
	if (o->sign)
		x86_cdq(j->cb, o->w);
	else
		x86_alu_rr(j->cb, X86_XOR, false, X86_RDX, X86_RDX);
	x86_unary_r(j->cb, o->sign ? X86_IDIV : X86_DIV, o->w, src);
	if (o->dst != result)
		x86_mov_rr(j->cb, o->w, o->dst, result);
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_RAX, X86_SCRATCH_AX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_RDX, X86_SCRATCH_DX);
}

/*
 *   test src, src              lea r10, [src + 1]       ; signed: catches 0 and -1
 *   jz cold                    cmp r10, 1
 *                              jbe cold
 */
static void divmod_reg(struct x86_jit *j, const struct divmod *o, uint8_t src)
{
	uint32_t back = bpfu_layout_new_label(j->l);
	struct x86_cold cold = { .back = back, .dst = o->dst, .w = o->w };

	if (src == X86_RAX || src == X86_RDX) {
		x86_mov_rr(j->cb, o->w, X86_SCRATCH, src);
		src = X86_SCRATCH;
	}
	cold.src = src;
	if (o->sign) {
		cold.kind = o->mod ? X86_COLD_SMOD : X86_COLD_SDIV;
		x86_lea(j->cb, o->w, X86_SCRATCH_AX, x86_mem_bd(src, 1));
		x86_alu_ri(j->cb, X86_CMP, o->w, X86_SCRATCH_AX, 1);
		x86_branch(j, X86_CC_BE, bpfu_x86_cold(j, &cold));
	} else {
		x86_test_rr(j->cb, o->w, src, src);
		if (!o->mod) {
			cold.kind = X86_COLD_ZERO;
			x86_branch(j, X86_CC_E, bpfu_x86_cold(j, &cold));
		} else if (o->w || x86_is_zext(j, o->d)) {
			x86_branch(j, X86_CC_E, back);
		} else {
			cold.kind = X86_COLD_TRUNC;
			x86_branch(j, X86_CC_E, bpfu_x86_cold(j, &cold));
		}
	}
	div_reg(j, o, src);
	bpfu_layout_set_label(j->l, back);
}

/* ---- reciprocals ---- */

struct magic {
	unsigned __int128 m;
	unsigned l;
};

/* Multiplier for divisor @c (not a power of two) of dividends of @prec significant bits, n bits wide. */
static struct magic find_magic(uint64_t c, unsigned n, unsigned prec)
{
	unsigned l = 64 - (unsigned)__builtin_clzll(c - 1);
	unsigned __int128 top = (unsigned __int128)1 << (n + l);
	unsigned __int128 lo = top / c;
	unsigned __int128 hi = (top + ((unsigned __int128)1 << (n + l - prec))) / c;

	while (lo >> 1 < hi >> 1 && l) {
		lo >>= 1;
		hi >>= 1;
		l--;
	}
	return (struct magic){ hi, l };
}

/* dst = q, or dst -= q * c; q is in r11 and nothing else is needed. */
static void finish(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	if (o->mod) {
		x86_imul_rri(j->cb, o->w, X86_SCRATCH, X86_SCRATCH, c);
		x86_alu_rr(j->cb, X86_SUB, o->w, o->dst, X86_SCRATCH);
	} else {
		x86_mov_rr(j->cb, o->w, o->dst, X86_SCRATCH);
	}
}

/* r11 = (((x - r11) >> 1) + r11) >> (l-1), clobbers r10 */
static void correct_wide_magic(struct x86_jit *j, bool w, uint8_t x, unsigned l)
{
	if (x != X86_SCRATCH_AX)
		x86_mov_rr(j->cb, w, X86_SCRATCH_AX, x);
	x86_alu_rr(j->cb, X86_SUB, w, X86_SCRATCH_AX, X86_SCRATCH);
	x86_shift_ri(j->cb, X86_SHR, w, X86_SCRATCH_AX, 1);
	x86_alu_rr(j->cb, X86_ADD, w, X86_SCRATCH, X86_SCRATCH_AX);
	if (l > 1)
		x86_shift_ri(j->cb, X86_SHR, w, X86_SCRATCH, (uint8_t)(l - 1));
}

/* 32 bits: the product fits in a register. */
static void div32_magic(struct x86_jit *j, const struct divmod *o, uint32_t c)
{
	struct magic g = find_magic(c, 32, 32);
	uint32_t m = (uint32_t)g.m;
	uint8_t x = o->dst;

	if (!x86_is_zext(j, o->d)) {
		x = X86_SCRATCH_AX;
		x86_mov_rr(j->cb, false, x, o->dst);
	}
	if (m <= INT32_MAX) {
		x86_imul_rri(j->cb, true, X86_SCRATCH, x, (int32_t)m);
	} else {
		x86_mov_ri32(j->cb, X86_SCRATCH, m);
		x86_imul_rr(j->cb, true, X86_SCRATCH, x);
	}
	if (g.m >> 32) {
		x86_shift_ri(j->cb, X86_SHR, true, X86_SCRATCH, 32);
		correct_wide_magic(j, false, x, g.l);
	} else {
		x86_shift_ri(j->cb, X86_SHR, true, X86_SCRATCH, (uint8_t)(32 + g.l));
	}
	finish(j, o, (int32_t)c);
}

/* r11 = upper half of r11 * x, x in dst */
static void mul_high(struct x86_jit *j, const struct divmod *o)
{
	bool keep_ax = o->dst == X86_RAX || x86_reg_busy(j, X86_RAX);
	bool keep_dx = o->dst == X86_RDX || x86_reg_busy(j, X86_RDX);

	if (x86_has(j, X86_CPU_BMI2)) {
		if (o->dst != X86_RDX) {
			if (keep_dx)
				x86_mov_rr(j->cb, true, X86_SCRATCH_DX, X86_RDX);
			x86_mov_rr(j->cb, true, X86_RDX, o->dst);
		}
		x86_mulx_rrr(j->cb, true, X86_SCRATCH, X86_SCRATCH_AX, X86_SCRATCH);
		if (o->dst != X86_RDX && keep_dx)
			x86_mov_rr(j->cb, true, X86_RDX, X86_SCRATCH_DX);
		return;
	}
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_SCRATCH_AX, X86_RAX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_SCRATCH_DX, X86_RDX);
	if (o->dst != X86_RAX)
		x86_mov_rr(j->cb, true, X86_RAX, o->dst);
	x86_unary_r(j->cb, X86_MUL, true, X86_SCRATCH);
	x86_mov_rr(j->cb, true, X86_SCRATCH, X86_RDX);
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_RAX, X86_SCRATCH_AX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_RDX, X86_SCRATCH_DX);
}

static void div64_magic(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	struct magic g = find_magic((uint64_t)c, 64, 64);

	bpfu_x86_mov_imm(j, X86_SCRATCH, (uint64_t)g.m);
	mul_high(j, o);
	if (g.m >> 64)
		correct_wide_magic(j, true, o->dst, g.l);
	else if (g.l)
		x86_shift_ri(j->cb, X86_SHR, true, X86_SCRATCH, (uint8_t)g.l);
	finish(j, o, c);
}

/* A 64-bit divisor above 2^63: the quotient is 0 or 1.   xor r11, r11; cmp x, c; adc/sbb … */
static void div64_huge(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	uint32_t less;

	if (!o->mod) {
		x86_mov_ri32(j->cb, X86_SCRATCH, 0);
		x86_mov_ri32(j->cb, X86_SCRATCH_AX, 1);
		x86_alu_ri(j->cb, X86_CMP, true, o->dst, c);
		x86_cmov_rr(j->cb, X86_CC_AE, false, X86_SCRATCH, X86_SCRATCH_AX);
		x86_mov_rr(j->cb, false, o->dst, X86_SCRATCH);
		return;
	}
	less = bpfu_layout_new_label(j->l);
	x86_alu_ri(j->cb, X86_CMP, true, o->dst, c);
	x86_branch(j, X86_CC_B, less);
	x86_mov_ris32(j->cb, X86_SCRATCH, c);
	x86_alu_rr(j->cb, X86_SUB, true, o->dst, X86_SCRATCH);
	bpfu_layout_set_label(j->l, less);
}

static void udivmod_imm(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	uint32_t low = (uint32_t)c;

	if (o->w && c < 0) {
		div64_huge(j, o, c);
	} else if (low & (low - 1)) {
		if (o->w)
			div64_magic(j, o, c);
		else
			div32_magic(j, o, low);
	} else if (!o->mod) {
		x86_shift_ri(j->cb, X86_SHR, o->w, o->dst, (uint8_t)__builtin_ctz(low));
	} else {
		x86_alu_ri(j->cb, X86_AND, false, o->dst, (int32_t)(low - 1));
	}
}

/* ---- signed, by a constant other than 0, 1 and -1 ---- */

/* r11 = x + (x < 0 ? 2^k - 1 : 0): rounds towards zero what the shift would round down */
static void sdivmod_pow2(struct x86_jit *j, const struct divmod *o, unsigned k, bool negative)
{
	unsigned bits = o->w ? 64 : 32;

	x86_mov_rr(j->cb, o->w, X86_SCRATCH, o->dst);
	if (k > 1)
		x86_shift_ri(j->cb, X86_SAR, o->w, X86_SCRATCH, (uint8_t)(bits - 1));
	x86_shift_ri(j->cb, X86_SHR, o->w, X86_SCRATCH, (uint8_t)(bits - k));
	x86_alu_rr(j->cb, X86_ADD, o->w, X86_SCRATCH, o->dst);
	if (o->mod) { /* clear the low bits, subtract */
		x86_alu_ri(j->cb, X86_AND, o->w, X86_SCRATCH, (int32_t)-(1ll << k));
		x86_alu_rr(j->cb, X86_SUB, o->w, o->dst, X86_SCRATCH);
		return;
	}
	x86_shift_ri(j->cb, X86_SAR, o->w, X86_SCRATCH, (uint8_t)k);
	if (negative)
		x86_unary_r(j->cb, X86_NEG, o->w, X86_SCRATCH);
	x86_mov_rr(j->cb, o->w, o->dst, X86_SCRATCH);
}

/* (x * m) >> (32 + l) rounds down: one more for negative x. */
static void sdiv32_magic(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	uint32_t abs = c < 0 ? -(uint32_t)c : (uint32_t)c;
	struct magic g = find_magic(abs, 32, 31);

	x86_movsx_rr(j->cb, true, 4, X86_SCRATCH_AX, o->dst);
	if ((uint32_t)g.m <= INT32_MAX) {
		x86_imul_rri(j->cb, true, X86_SCRATCH, X86_SCRATCH_AX, (int32_t)g.m);
	} else {
		x86_mov_ri32(j->cb, X86_SCRATCH, (uint32_t)g.m);
		x86_imul_rr(j->cb, true, X86_SCRATCH, X86_SCRATCH_AX);
	}
	x86_mov_rr(j->cb, true, X86_SCRATCH_AX, X86_SCRATCH);
	x86_shift_ri(j->cb, X86_SHR, true, X86_SCRATCH_AX, 63);
	x86_shift_ri(j->cb, X86_SAR, true, X86_SCRATCH, (uint8_t)(32 + g.l));
	x86_alu_rr(j->cb, X86_ADD, false, X86_SCRATCH, X86_SCRATCH_AX);
	if (c < 0)
		x86_unary_r(j->cb, X86_NEG, false, X86_SCRATCH);
	finish(j, o, c);
}

static void sdivmod_imm(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	uint32_t abs = c < 0 ? -(uint32_t)c : (uint32_t)c;

	if (!(abs & (abs - 1)) && (c != INT32_MIN || o->w)) {
		sdivmod_pow2(j, o, (unsigned)__builtin_ctz(abs), c < 0);
	} else if (!o->w && c != INT32_MIN) {
		sdiv32_magic(j, o, c);
	} else {
		bpfu_x86_mov_imm(j, X86_SCRATCH, o->w ? (uint64_t)(int64_t)c : (uint32_t)c);
		div_reg(j, o, X86_SCRATCH);
	}
}

static void divmod_imm(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	bool unchanged = c == 0 ? o->mod : c == 1 && !o->mod;

	if (unchanged) {
		if (!o->w)
			x86_mov_rr(j->cb, false, o->dst, o->dst);
	} else if (c == 0 || c == 1 || (o->sign && c == -1 && o->mod)) {
		x86_alu_rr(j->cb, X86_XOR, false, o->dst, o->dst);
	} else if (o->sign && c == -1) {
		x86_unary_r(j->cb, X86_NEG, o->w, o->dst);
	} else if (o->sign) {
		sdivmod_imm(j, o, c);
	} else {
		udivmod_imm(j, o, c);
	}
}

void bpfu_x86_lower_divmod(struct x86_jit *j, const struct bpf_insn *insn)
{
	struct divmod o = {
		.w = BPF_CLASS(insn->code) == BPF_ALU64,
		.sign = insn->off == 1,
		.mod = BPF_OP(insn->code) == BPF_MOD,
		.d = insn->dst_reg,
	};
	uint8_t src = X86_NONE;

	if (BPF_SRC(insn->code) == BPF_X)
		src = bpfu_x86_src(j, insn->src_reg, o.w);
	o.dst = x86_dst_rw(j, o.d);
	bpfu_x86_clobber(j, X86_RAX);
	bpfu_x86_clobber(j, X86_RDX);
	if (src != X86_NONE)
		divmod_reg(j, &o, src);
	else
		divmod_imm(j, &o, insn->imm);
}
