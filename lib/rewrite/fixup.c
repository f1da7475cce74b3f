// SPDX-License-Identifier: BSD-2-Clause
/* Instructions that mean something else to a backend than to the loader: see insn.h. */
#include "helper/stack.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "rewrite/passes.h"
#include "util/log.h"

static bool has_address(const struct bpf_insn *insn)
{
	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
	case BPF_PSEUDO_MAP_IDX:
	case BPF_PSEUDO_MAP_IDX_VALUE:
	case BPF_PSEUDO_BTF_ID:
		return true;
	default:
		return false;
	}
}

static bool is_mode(const struct bpf_insn *insn, uint8_t mode)
{
	return BPF_CLASS(insn->code) == BPF_LDX && BPF_MODE(insn->code) == mode;
}

static void set_mode(struct bpf_insn *insn, uint8_t mode)
{
	insn->code = (uint8_t)(BPF_CLASS(insn->code) | BPF_SIZE(insn->code) | mode);
}

void bpfu_fixup_insn(struct bpf_insn *insn, const struct bpfu_insn_aux *aux)
{
	if (bpfu_insn_is_ld_imm64(insn)) {
		if (has_address(insn))
			bpfu_insn_set_imm64(insn, aux->map_imm);
	} else if (aux->probe_mem && is_mode(insn, BPF_MEM)) {
		set_mode(insn, BPFU_PROBE_MEM);
	} else if (aux->probe_mem && is_mode(insn, BPF_MEMSX)) {
		set_mode(insn, BPFU_PROBE_MEMSX);
	} else if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		   insn->imm == BPF_FUNC_tail_call) {
		*insn = BPFU_INSN(BPF_JMP | BPFU_TAIL_CALL, 0, 0, 0, 0);
	}
}

int bpfu_convert_call(const struct bpf_insn *insn, const struct bpfu_insn_aux *aux,
		      struct bpf_insn *buf)
{
	if (!aux->makes_object)
		return 0;
	buf[0] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, (int32_t)aux->object_size);
	buf[1] = *insn;
	return 2;
}

/* What rN of a helper's call is besides the program's arguments. */
int bpfu_fixup_call(const struct bpfu_prog *prog, const struct bpf_insn *insn, struct bpf_insn *buf)
{
	uint8_t reg;

	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return 0;
	if (insn->imm == BPF_FUNC_get_stackid)
		reg = BPF_REG_4;
	else if (insn->imm == BPF_FUNC_get_stack)
		reg = BPF_REG_5;
	else
		return 0;
	buf[0] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, (int32_t)bpfu_stack_kind_of(prog));
	buf[1] = *insn;
	return 2;
}

static uint32_t access_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

/* Keep the @size bytes from byte @shift / 8 of the field in @reg. */
static int narrow(struct bpf_insn *buf, uint8_t reg, uint32_t shift, uint32_t size)
{
	int cnt = 0;

	if (shift)
		buf[cnt++] = BPFU_INSN(BPF_ALU64 | BPF_RSH | BPF_K, reg, 0, 0, (int32_t)shift);
	if (size == 4)
		buf[cnt++] = BPFU_INSN(BPF_ALU | BPF_MOV | BPF_X, reg, reg, 0, 0);
	else
		buf[cnt++] = BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, reg, 0, 0,
				       (1 << size * 8) - 1);
	return cnt;
}

int bpfu_convert_ctx(const struct bpfu_prog *prog, const struct bpf_insn *insn,
		     const struct bpfu_insn_aux *aux, struct bpf_insn *buf)
{
	uint32_t size = access_size(insn), field = aux->ctx_field_size, target = 0;
	struct bpf_insn whole = *insn;
	bool narrower;
	int cnt;

	if (!aux->ctx_access || !prog->type_ops->convert_ctx_access)
		return 0;
	narrower = aux->ctx_narrow && size < field && BPF_CLASS(insn->code) == BPF_LDX;
	if (narrower) {
		whole.off = (int16_t)(insn->off & ~((int32_t)field - 1));
		whole.code = (uint8_t)(BPF_LDX | BPF_MEM | (field == 2 ? BPF_H :
							    field == 4 ? BPF_W :
									 BPF_DW));
	}
	cnt = prog->type_ops->convert_ctx_access(&whole, buf, prog, &target);
	if (!cnt)
		return 0;
	BPFU_BUG_ON(cnt > BPFU_CTX_INSNS_MAX, "long context conversion");
	if (narrower && size < target)
		cnt += narrow(buf + cnt, insn->dst_reg, (uint32_t)(insn->off - whole.off) * 8, size);
	if (is_mode(insn, BPF_MEMSX))
		buf[cnt++] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, insn->dst_reg, insn->dst_reg,
				       (int16_t)(size * 8), 0);
	return cnt;
}
