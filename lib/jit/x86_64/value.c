// SPDX-License-Identifier: BSD-2-Clause
/*
 * Deferred values. BPF has two operands per instruction, so clang writes
 *
 *      r3 = r1                 and means      mov eax, [rdi + rsi*8 + 16]
 *      r2 <<= 3
 *      r3 += r2
 *      r0 = *(u32 *)(r3 + 16)
 *
 * Copies, constants, additions and small shifts emit nothing here. They are remembered as
 *
 *      base + (index << scale) + disp                 (zx: of that the low half, zero-extended)
 *
 * until somebody needs the value: as part of an address, as an operand that is another register's
 * copy, or, failing that, in its own register by one lea, mov, add or shl ("settled"). What nobody
 * needs is never computed.
 *
 * Rules. base and index are x86 registers and stand for what these hold now. So before a register is
 * written, all deferred values that mention it are settled (bpfu_x86_clobber()). A register whose
 * own value is deferred holds something stale, which others may not mention; only the value itself
 * may ("r2 <<= 3" in place). Nothing stays deferred into a branch target.
 */
#include "jit/x86_64/lower.h"

static bool is_const(const struct x86_val *v)
{
	return v->base == X86_NONE && v->index == X86_NONE;
}

static bool is_copy(const struct x86_val *v)
{
	return v->base != X86_NONE && v->index == X86_NONE && !v->disp;
}

static bool mentions(const struct x86_val *v, uint8_t reg)
{
	return v->base == reg || v->index == reg;
}

/* A constant that is not negative is the same with and without zx. */
static void normalise(struct x86_val *v)
{
	if (is_const(v) && v->disp >= 0)
		v->zx = false;
	if (v->base == X86_NONE && v->index != X86_NONE && !v->scale) {
		v->base = v->index;
		v->index = X86_NONE;
	}
}

/* For changing r itself. */
static struct x86_val own_value(const struct x86_jit *j, unsigned r)
{
	if (j->deferred >> r & 1)
		return j->val[r];
	return (struct x86_val){ .base = j->map[r], .index = X86_NONE,
				 .disp = r == BPF_REG_10 ? j->fp_disp : 0 };
}

/*
 * For use elsewhere. An in-place value that is needed again is settled first, as nobody else may
 * mention its register. One that is not needed again is never settled, and its register stays as it
 * is until it is written.
 */
struct x86_val bpfu_x86_value(struct x86_jit *j, unsigned r)
{
	if (j->deferred >> r & 1 && mentions(&j->val[r], j->map[r]) && x86_is_live(j, r))
		bpfu_x86_settle(j, r);
	return own_value(j, r);
}

/* dst = v, in one instruction if possible. */
static void emit_value(struct x86_jit *j, uint8_t dst, const struct x86_val *v)
{
	bool w = !v->zx;

	if (is_const(v)) {
		bpfu_x86_mov_imm(j, dst, w ? (uint64_t)(int64_t)v->disp : (uint32_t)v->disp);
	} else if (is_copy(v)) {
		x86_mov_rr(j->cb, w, dst, v->base);
	} else if (v->index == X86_NONE && v->base == dst) {
		bpfu_x86_add_imm(j, w, dst, v->disp);
		x86_flags_set(j, dst, w, false);
	} else if (!v->disp && !v->scale && (v->base == dst || v->index == dst)) {
		x86_alu_rr(j->cb, X86_ADD, w, dst, v->base == dst ? v->index : v->base);
		x86_flags_set(j, dst, w, false);
	} else if (!v->disp && v->base == X86_NONE && v->index == dst) {
		x86_shift_ri(j->cb, X86_SHL, w, dst, v->scale);
		x86_flags_set(j, dst, w, false);
	} else if (v->base == X86_NONE && v->scale == 1) { /* [i + i] needs no long displacement */
		x86_lea(j->cb, w, dst, x86_mem_bisd(v->index, v->index, 0, v->disp));
	} else {
		x86_lea(j->cb, w, dst, x86_mem_bisd(v->base, v->index, v->scale, v->disp));
	}
}

uint8_t bpfu_x86_settle(struct x86_jit *j, unsigned r)
{
	struct x86_val v = j->val[r];

	if (!(j->deferred >> r & 1))
		return j->map[r];
	j->deferred &= (uint16_t)~(1u << r);
	bpfu_x86_clobber(j, j->map[r]);
	emit_value(j, j->map[r], &v);
	return j->map[r];
}

void bpfu_x86_clobber(struct x86_jit *j, uint8_t reg)
{
	if (j->flags_reg == reg) /* a load or move replaces the register, but not the flags */
		x86_flags_lost(j);
	for (unsigned r = 0, set = j->deferred; set; r++, set >>= 1) {
		if (!(set & 1) || !(j->deferred >> r & 1) || j->map[r] == reg ||
		    !mentions(&j->val[r], reg))
			continue;
		if (x86_is_live(j, r))
			bpfu_x86_settle(j, r);
		else
			j->deferred &= (uint16_t)~(1u << r);
	}
}

void bpfu_x86_flush(struct x86_jit *j, uint16_t regs)
{
	for (unsigned r = 0, set = j->deferred & regs; set; r++, set >>= 1)
		if (set & 1)
			bpfu_x86_settle(j, r);
}

void bpfu_x86_defer(struct x86_jit *j, unsigned r, struct x86_val v)
{
	uint16_t bit = (uint16_t)(1u << r);

	j->deferred &= (uint16_t)~bit;
	if (!x86_is_wanted(j, r))
		return;
	normalise(&v);
	if (is_copy(&v) && v.base == j->map[r] && !v.zx)
		return;
	bpfu_x86_clobber(j, j->map[r]);
	j->val[r] = v;
	j->deferred |= bit;
}

uint8_t bpfu_x86_src(struct x86_jit *j, unsigned r, bool w)
{
	const struct x86_val *v = &j->val[r];

	if (!(j->deferred >> r & 1))
		return j->map[r];
	if (is_copy(v) && !(w && v->zx))
		return v->base;
	return bpfu_x86_settle(j, r);
}

bool bpfu_x86_const(const struct x86_jit *j, unsigned r, bool w, int32_t *imm)
{
	const struct x86_val *v = &j->val[r];

	if (!(j->deferred >> r & 1) || !is_const(v) || (w && v->zx))
		return false;
	*imm = v->disp;
	return true;
}

struct x86_mem bpfu_x86_addr(struct x86_jit *j, unsigned r, int32_t off)
{
	struct x86_val v = bpfu_x86_value(j, r);
	int32_t disp;

	if (v.zx || is_const(&v) || __builtin_add_overflow(v.disp, off, &disp))
		return x86_mem_bd(bpfu_x86_settle(j, r), off);
	return x86_mem_bisd(v.base, v.index, v.scale, disp);
}

/* ---- the instructions that defer ---- */

void bpfu_x86_defer_trunc(struct x86_jit *j, unsigned d)
{
	struct x86_val v = own_value(j, d);

	v.zx = true;
	bpfu_x86_defer(j, d, v);
}

bool bpfu_x86_defer_add_imm(struct x86_jit *j, unsigned d, bool w, int32_t imm)
{
	struct x86_val v = j->val[d];

	if (!(j->deferred >> d & 1) || (w && v.zx))
		return false;
	if (__builtin_add_overflow(v.disp, imm, &v.disp)) {
		if (w)
			return false;
		/* the wrapped sum is what the low half holds */
	}
	v.zx = !w;
	bpfu_x86_defer(j, d, v);
	return true;
}

/* v += index << scale, if the form has room. rsp, which has the frame of a leaf, is no index. */
static bool add_part(struct x86_val *v, uint8_t reg, uint8_t scale)
{
	if (reg == X86_NONE)
		return true;
	if (reg == X86_RSP && v->base != X86_NONE) {
		if (v->base == X86_RSP || v->index != X86_NONE)
			return false;
		v->index = v->base;
		v->scale = 0;
		v->base = X86_RSP;
		return true;
	}
	if (!scale && v->base == X86_NONE) {
		v->base = reg;
	} else if (v->index == X86_NONE) {
		v->index = reg;
		v->scale = scale;
	} else if (!v->scale && scale && v->base == X86_NONE) {
		v->base = v->index;
		v->index = reg;
		v->scale = scale;
	} else {
		return false;
	}
	return true;
}

bool bpfu_x86_defer_add(struct x86_jit *j, unsigned d, unsigned s, bool w)
{
	struct x86_val u, v;

	if (s == BPFU_REG_AX) /* gone with the next constant, division or call */
		return false;
	u = bpfu_x86_value(j, s);
	v = own_value(j, d);

	if (w && (v.zx || u.zx))
		return false;
	if (__builtin_add_overflow(v.disp, u.disp, &v.disp) && w)
		return false;
	if (!add_part(&v, u.base, 0) || !add_part(&v, u.index, u.scale))
		return false;
	v.zx = !w;
	bpfu_x86_defer(j, d, v);
	return true;
}

/* d <<= count; @self: and add the value itself, for multiples of 3, 5 and 9 */
bool bpfu_x86_defer_scale(struct x86_jit *j, unsigned d, bool w, unsigned count, bool self)
{
	struct x86_val v = own_value(j, d);

	if (count > 3 || !is_copy(&v) || v.base == X86_RSP || (w && v.zx))
		return false;
	v.index = v.base;
	v.scale = (uint8_t)count;
	if (!self)
		v.base = X86_NONE;
	v.zx = !w;
	bpfu_x86_defer(j, d, v);
	return true;
}
