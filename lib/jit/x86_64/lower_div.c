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
	uint8_t x;      /* x86 register of the dividend: dst, or another that holds the same */
	uint8_t dst;    /* x86 register of d */
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
	if (o->x != X86_RAX)
		x86_mov_rr(j->cb, o->w, X86_RAX, o->x);
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

	if (src == X86_RAX || src == X86_RDX || src == X86_SCRATCH_DX) {
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

/* Multiplier for divisor @c, not a power of two, of @n-bit dividends with @prec significant bits. */
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

/*
 * Where the quotient is computed: in dst, unless the dividend is there and needed for the remainder
 * or a correction.
 */
static uint8_t quotient_reg(const struct divmod *o, bool keep_x)
{
	return (o->mod || keep_x) && o->x == o->dst ? X86_SCRATCH : o->dst;
}

/* dst = q, or dst = x - q * c */
static void finish(struct x86_jit *j, const struct divmod *o, uint8_t q, int32_t c)
{
	if (o->mod) {
		x86_imul_rri(j->cb, o->w, X86_SCRATCH, q, c);
		if (o->dst != o->x)
			x86_mov_rr(j->cb, o->w, o->dst, o->x);
		x86_alu_rr(j->cb, X86_SUB, o->w, o->dst, X86_SCRATCH);
	} else if (q != o->dst) {
		x86_mov_rr(j->cb, o->w, o->dst, q);
	}
}

/* q = (((x - q) >> 1) + q) >> (l-1), clobbers r10 */
static void correct_wide_magic(struct x86_jit *j, bool w, uint8_t q, uint8_t x, unsigned l)
{
	if (x != X86_SCRATCH_AX)
		x86_mov_rr(j->cb, w, X86_SCRATCH_AX, x);
	x86_alu_rr(j->cb, X86_SUB, w, X86_SCRATCH_AX, q);
	x86_shift_ri(j->cb, X86_SHR, w, X86_SCRATCH_AX, 1);
	x86_alu_rr(j->cb, X86_ADD, w, q, X86_SCRATCH_AX);
	if (l > 1)
		x86_shift_ri(j->cb, X86_SHR, w, q, (uint8_t)(l - 1));
}

/* 32 bits: the product fits in a register. */
static void div32_magic(struct x86_jit *j, const struct divmod *o, uint32_t c)
{
	struct magic g = find_magic(c, 32, 32);
	uint32_t m = (uint32_t)g.m;
	bool wide = g.m >> 32;
	uint8_t x = o->x, q = quotient_reg(o, wide);

	if (!x86_is_zext(j, o->d)) { /* the upper half must not take part */
		x = wide || q == o->x ? X86_SCRATCH_AX : q;
		x86_mov_rr(j->cb, false, x, o->x);
	}
	if (m <= INT32_MAX) {
		x86_imul_rri(j->cb, true, q, x, (int32_t)m);
	} else if (q == x) {
		uint8_t factor = q == X86_SCRATCH ? X86_SCRATCH_AX : X86_SCRATCH;

		x86_mov_ri32(j->cb, factor, m);
		x86_imul_rr(j->cb, true, q, factor);
	} else {
		x86_mov_ri32(j->cb, q, m);
		x86_imul_rr(j->cb, true, q, x);
	}
	if (wide) {
		x86_shift_ri(j->cb, X86_SHR, true, q, 32);
		correct_wide_magic(j, false, q, x, g.l);
	} else {
		x86_shift_ri(j->cb, X86_SHR, true, q, (uint8_t)(32 + g.l));
	}
	finish(j, o, q, (int32_t)c);
}

/* q = upper half of r11 * x; clobbers r10, r9 */
static void mul_high(struct x86_jit *j, const struct divmod *o, uint8_t q)
{
	bool keep_ax = q != X86_RAX && (o->x == X86_RAX || x86_reg_busy(j, X86_RAX));
	bool keep_dx = q != X86_RDX && (o->x == X86_RDX || x86_reg_busy(j, X86_RDX));

	if (x86_has(j, X86_CPU_BMI2)) {
		if (o->x == X86_RDX) {
			x86_mulx_rrr(j->cb, true, q, X86_SCRATCH_AX, X86_SCRATCH);
			return;
		}
		if (keep_dx)
			x86_mov_rr(j->cb, true, X86_SCRATCH_DX, X86_RDX);
		x86_mov_rr(j->cb, true, X86_RDX, o->x);
		x86_mulx_rrr(j->cb, true, q, X86_SCRATCH_AX, X86_SCRATCH);
		if (keep_dx)
			x86_mov_rr(j->cb, true, X86_RDX, X86_SCRATCH_DX);
		return;
	}
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_SCRATCH_AX, X86_RAX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_SCRATCH_DX, X86_RDX);
	if (o->x != X86_RAX)
		x86_mov_rr(j->cb, true, X86_RAX, o->x);
	x86_unary_r(j->cb, X86_MUL, true, X86_SCRATCH);
	if (q != X86_RDX)
		x86_mov_rr(j->cb, true, q, X86_RDX);
	if (keep_ax)
		x86_mov_rr(j->cb, true, X86_RAX, X86_SCRATCH_AX);
	if (keep_dx)
		x86_mov_rr(j->cb, true, X86_RDX, X86_SCRATCH_DX);
}

static void div64_magic(struct x86_jit *j, const struct divmod *o, int32_t c)
{
	struct magic g = find_magic((uint64_t)c, 64, 64);
	bool wide = g.m >> 64;
	uint8_t q = quotient_reg(o, wide);

	bpfu_x86_mov_imm(j, X86_SCRATCH, (uint64_t)g.m);
	mul_high(j, o, q);
	if (wide)
		correct_wide_magic(j, true, q, o->x, g.l);
	else if (g.l)
		x86_shift_ri(j->cb, X86_SHR, true, q, (uint8_t)g.l);
	finish(j, o, q, c);
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
	finish(j, o, X86_SCRATCH, c);
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

static void divmod_imm(struct x86_jit *j, struct divmod *o, int32_t c)
{
	bool unchanged = c == 0 ? o->mod : c == 1 && !o->mod;
	bool by_magic = !o->sign && (uint32_t)c & ((uint32_t)c - 1) && !(o->w && c < 0);

	/* All but the multiplications work in place. */
	if (!by_magic && o->x != o->dst) {
		x86_mov_rr(j->cb, o->w, o->dst, o->x);
		o->x = o->dst;
	}

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
	uint8_t src;

	if (BPF_SRC(insn->code) == BPF_X) {
		src = bpfu_x86_src(j, insn->src_reg, o.w);
		o.x = o.dst = x86_dst_rw(j, o.d);
	} else {
		src = X86_NONE;
		o.x = bpfu_x86_src(j, o.d, true); /* all 64 bits: they may be known to be zero */
		o.dst = x86_dst(j, o.d);
	}
	bpfu_x86_clobber(j, X86_RAX);
	bpfu_x86_clobber(j, X86_RDX);
	if (src != X86_NONE)
		divmod_reg(j, &o, src);
	else
		divmod_imm(j, &o, insn->imm);
}
