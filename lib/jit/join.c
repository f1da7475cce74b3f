// SPDX-License-Identifier: BSD-2-Clause
/*
 * Joining adjacent loads; see join.h.
 *
 * Each register is followed as a row of eight bytes, each zero or the byte at some offset from one
 * base register. Loads fill rows, shifts move them, an "or" puts two together; where the result is
 * a run of two, four or eight adjacent bytes, the "or" becomes a load. That is right as long as the
 * base still has the value it had, and nothing has been stored since: both are counted. The walk
 * forgets everything where a branch comes in, and only goes where there is a shift.
 */
#include "jit/join.h"

#include <string.h>

#define BYTES 8
#define ZERO INT16_MIN /* an offset that no byte of a row is given */

struct row {
	bool known;
	uint8_t base;       /* register */
	uint32_t version;   /* of the base */
	uint32_t epoch;     /* of memory */
	int16_t off[BYTES]; /* from the base, lowest byte first */
};

struct walk {
	struct row rows[BPFU_MAX_REG];
	uint32_t version[BPFU_MAX_REG];
	uint32_t epoch;
};

static bool is_byte_shift(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_ALU64 || class == BPF_ALU) && BPF_SRC(insn->code) == BPF_K &&
	       (op == BPF_LSH || op == BPF_RSH) && insn->imm > 0 && insn->imm % 8 == 0 &&
	       insn->imm < (class == BPF_ALU64 ? 64 : 32);
}

/* The next instruction from @i on that puts a byte where another may be put beside it. */
static uint32_t next_shift(const struct bpf_insn *insns, uint32_t insn_cnt, uint32_t i)
{
	while (i < insn_cnt && !(is_byte_shift(&insns[i]) && BPF_OP(insns[i].code) == BPF_LSH))
		i++;
	return i;
}

bool bpfu_join_worthwhile(const struct bpf_insn *insns, uint32_t insn_cnt)
{
	return next_shift(insns, insn_cnt, 0) < insn_cnt;
}

static void forget_all(struct walk *w)
{
	for (int r = 0; r < BPFU_MAX_REG; r++)
		w->rows[r].known = false;
}

static void set_zero(struct row *row, int from)
{
	for (int i = from; i < BYTES; i++)
		row->off[i] = ZERO;
}

static unsigned access_size(const struct bpf_insn *insn)
{
	static const uint8_t sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1,
					 [BPF_DW >> 3] = 8 };

	return sizes[BPF_SIZE(insn->code) >> 3];
}

static bool load(struct walk *w, const struct bpf_insn *insn, struct row *row)
{
	int size = (int)access_size(insn);

	if (BPF_MODE(insn->code) != BPF_MEM || insn->dst_reg == insn->src_reg ||
	    insn->off > INT16_MAX - BYTES || insn->off == ZERO)
		return false;
	*row = (struct row){ .known = true, .base = insn->src_reg,
			     .version = w->version[insn->src_reg], .epoch = w->epoch };
	for (int i = 0; i < size; i++)
		row->off[i] = (int16_t)(insn->off + i);
	set_zero(row, size);
	return true;
}

static bool shift(struct row *row, const struct bpf_insn *insn)
{
	int by = insn->imm / 8;

	if (!is_byte_shift(insn))
		return false;
	if (BPF_CLASS(insn->code) == BPF_ALU)
		set_zero(row, 4);
	if (BPF_OP(insn->code) == BPF_LSH) {
		memmove(&row->off[by], &row->off[0], (size_t)(BYTES - by) * sizeof(row->off[0]));
		for (int i = 0; i < by; i++)
			row->off[i] = ZERO;
	} else {
		memmove(&row->off[0], &row->off[by], (size_t)(BYTES - by) * sizeof(row->off[0]));
		set_zero(row, BYTES - by);
	}
	if (BPF_CLASS(insn->code) == BPF_ALU)
		set_zero(row, 4); /* and what went over the middle */
	return true;
}

/* No byte in both: then or, xor and + are the same. */
static bool combine(struct row *row, const struct row *other)
{
	if (row->base != other->base || row->version != other->version || row->epoch != other->epoch)
		return false;
	for (int i = 0; i < BYTES; i++) {
		if (other->off[i] == ZERO)
			continue;
		if (row->off[i] != ZERO)
			return false;
		row->off[i] = other->off[i];
	}
	return true;
}

/* What @insn leaves in its destination, in *@row. False: not known as bytes. */
static bool evaluate(struct walk *w, const struct bpf_insn *insn, struct row *row)
{
	const struct row *dst = &w->rows[insn->dst_reg], *src = &w->rows[insn->src_reg];
	bool narrow = BPF_CLASS(insn->code) == BPF_ALU;
	bool x = BPF_SRC(insn->code) == BPF_X;

	if (BPF_CLASS(insn->code) == BPF_LDX)
		return load(w, insn, row);
	if (!narrow && BPF_CLASS(insn->code) != BPF_ALU64)
		return false;
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		if (!x || insn->off || !src->known)
			return false;
		*row = *src;
		break;
	case BPF_LSH:
	case BPF_RSH:
		if (!dst->known)
			return false;
		*row = *dst;
		return shift(row, insn);
	case BPF_OR:
	case BPF_XOR:
	case BPF_ADD:
		if (!x || dst == src || !dst->known || !src->known)
			return false;
		*row = *dst;
		if (!combine(row, src))
			return false;
		break;
	default:
		return false;
	}
	if (narrow)
		set_zero(row, 4);
	return true;
}

/* The size of the load that gives @row; 0 if none does. */
static unsigned run_of(const struct walk *w, const struct row *row)
{
	int n = 0;

	if (row->version != w->version[row->base] || row->epoch != w->epoch)
		return 0;
	while (n < BYTES && row->off[n] != ZERO && row->off[n] == row->off[0] + n)
		n++;
	for (int i = n; i < BYTES; i++)
		if (row->off[i] != ZERO)
			return 0;
	return n == 2 || n == 4 || n == 8 ? (unsigned)n : 0;
}

static bool combines(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_ALU || class == BPF_ALU64) && BPF_SRC(insn->code) == BPF_X &&
	       (op == BPF_OR || op == BPF_XOR || op == BPF_ADD);
}

static void visit(struct walk *w, struct bpf_insn *insn)
{
	static const uint8_t codes[] = { [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };
	unsigned class = BPF_CLASS(insn->code), size = 0;
	struct row row;
	bool known = evaluate(w, insn, &row);
	uint16_t def = bpfu_insn_def(insn);

	if (known && combines(insn))
		size = run_of(w, &row);
	if (size)
		*insn = BPFU_INSN(BPF_LDX | BPF_MEM | codes[size], insn->dst_reg, row.base, row.off[0],
				  0);
	for (int r = 0; def; r++, def >>= 1) {
		if (!(def & 1))
			continue;
		w->version[r]++;
		w->rows[r].known = false;
	}
	if (known)
		w->rows[insn->dst_reg] = row;
	if (class == BPF_ST || class == BPF_STX || insn->code == (BPF_JMP | BPF_CALL))
		w->epoch++;
}

void bpfu_join_loads(struct bpf_insn *insns, uint32_t insn_cnt, const struct bpfu_facts *facts)
{
	uint32_t i = next_shift(insns, insn_cnt, 0);
	struct walk w = { 0 };

	/* From the last target before a shift to the next one after it. */
	while (i < insn_cnt) {
		while (!(facts->flags[i] & BPFU_FACT_TARGET)) /* a function's start is one */
			i--;
		forget_all(&w);
		do {
			if (!(facts->flags[i] & BPFU_FACT_SECOND))
				visit(&w, &insns[i]);
		} while (++i < insn_cnt && !(facts->flags[i] & BPFU_FACT_TARGET));
		i = next_shift(insns, insn_cnt, i);
	}
}
