// SPDX-License-Identifier: BSD-2-Clause
/*
 * Out of line on x86-64 (outline.h). Nothing touches the flags or the red zone beyond what the
 * instruction itself does:
 *
 *      jcc target        jcc 1f; jmp next; 1: jmp target
 *      call target       push next, in two steps; jmp target
 *      call [rsp + 8]    push next; jmp [rsp + 16]
 *      mov [rip + d]     the same with another d
 */
#include <errno.h>
#include <string.h>

#include "probe/outline.h"
#include "probe/x86_64/decode.h"

enum {
	OP_JMP32 = 0xe9,
	OP_JCC8 = 0x70,
	OP_PUSH32 = 0x68,
	OP_FF = 0xff,
	SIB_RSP = 0x24, /* base rsp, no index */
	RSP = 4,
	JMP32_LEN = 5,
};

struct out {
	uint8_t *bytes;
	uint64_t base;
	int len;
	int err;
};

static void put(struct out *o, const void *bytes, int n)
{
	if (o->len + n > BPFU_OUTLINE_MAX)
		o->err = -ERANGE;
	else
		memcpy(o->bytes + o->len, bytes, (size_t)n);
	o->len += n;
}

static void put_byte(struct out *o, uint8_t byte)
{
	put(o, &byte, 1);
}

static void put_i32(struct out *o, int64_t value)
{
	int32_t v = (int32_t)value;

	if (v != value)
		o->err = -ERANGE;
	put(o, &v, sizeof(v));
}

static void put_jmp(struct out *o, uint64_t target)
{
	put_byte(o, OP_JMP32);
	put_i32(o, (int64_t)(target - (o->base + (uint64_t)o->len + sizeof(int32_t))));
}

/* The return address of a call at the original place: push imm32; mov dword [rsp + 4], imm32. */
static void put_push(struct out *o, uint64_t value)
{
	static const uint8_t mov_high[] = { 0xc7, 0x44, SIB_RSP, 4 };

	put_byte(o, OP_PUSH32);
	put_i32(o, (int32_t)value);
	put(o, mov_high, sizeof(mov_high));
	put_i32(o, (int32_t)(value >> 32));
}

/* A copy, with the relative operand made relative to the copy. */
static void put_copy(struct out *o, const uint8_t *code, const struct bpfu_x86_insn *insn, uint64_t at)
{
	uint64_t moved_by = o->base + (uint64_t)o->len - at;
	int32_t disp;

	if (!insn->rip_disp_at) {
		put(o, code, insn->len);
		return;
	}
	memcpy(&disp, code + insn->rip_disp_at, sizeof(disp));
	put(o, code, insn->rip_disp_at);
	put_i32(o, (int64_t)disp - (int64_t)moved_by);
	put(o, code + insn->rip_disp_at + sizeof(disp),
	    insn->len - insn->rip_disp_at - (int)sizeof(disp));
}

/* jcc, loop, jrcxz: their short form over the jump to what follows. */
static void put_conditional(struct out *o, const uint8_t *code, const struct bpfu_x86_insn *insn,
			    uint64_t next)
{
	if (insn->kind == BPFU_X86_JCC)
		put_byte(o, OP_JCC8 | (insn->opcode & 0xf));
	else
		put(o, code, insn->opcode_at + 1); /* a prefix 67 counts ecx instead of rcx */
	put_byte(o, JMP32_LEN);
	put_jmp(o, next);
	put_jmp(o, next + (uint64_t)insn->target_off);
}

/* True if the operand's address is computed from rsp. */
static bool uses_rsp(const uint8_t *code, const struct bpfu_x86_insn *insn)
{
	uint8_t modrm = code[insn->modrm_at];

	return modrm >> 6 != 3 && (modrm & 7) == RSP && (code[insn->modrm_at + 1] & 7) == RSP &&
	       !(insn->opcode_at && (code[insn->opcode_at - 1] & 0xf1) == 0x41); /* r12 */
}

/* jmp r/m with the operand of call r/m, whose return address has been pushed already. */
static void put_call_rm(struct out *o, const uint8_t *code, const struct bpfu_x86_insn *insn,
			uint64_t at, uint64_t next)
{
	uint8_t jmp[BPFU_X86_INSN_MAX], mod = code[insn->modrm_at] >> 6;
	int32_t disp = 0;

	put_push(o, next);
	memcpy(jmp, code, insn->len);
	jmp[insn->modrm_at] = (uint8_t)((code[insn->modrm_at] & 0xc7) | 4 << 3);
	if (!uses_rsp(code, insn)) {
		put_copy(o, jmp, insn, at);
		return;
	}
	if (mod == 1)
		disp = (int8_t)code[insn->modrm_at + 2];
	else if (mod == 2)
		memcpy(&disp, code + insn->modrm_at + 2, sizeof(disp));
	jmp[insn->modrm_at] = (uint8_t)((jmp[insn->modrm_at] & 0x3f) | 2 << 6);
	put(o, jmp, insn->modrm_at + 2);
	put_i32(o, (int64_t)disp + 8);
}

static bool calls_rsp(const uint8_t *code, const struct bpfu_x86_insn *insn)
{
	return insn->kind == BPFU_X86_CALL_RM && (code[insn->modrm_at] & 0xc7) == (0xc0 | RSP);
}

int bpfu_x86_outline_len(const uint8_t *code, size_t size)
{
	struct bpfu_x86_insn insn;
	int err = bpfu_x86_decode(code, size, &insn);

	if (err)
		return err;
	return insn.kind == BPFU_X86_REFUSED || calls_rsp(code, &insn) ? -EOPNOTSUPP : insn.len;
}

int bpfu_x86_insn_len(const uint8_t *code, size_t size)
{
	struct bpfu_x86_insn insn;
	int err = bpfu_x86_decode(code, size, &insn);

	return err ? err : insn.len;
}

bool bpfu_x86_is_nop(const uint8_t *code, size_t size)
{
	struct bpfu_x86_insn insn;

	return !bpfu_x86_decode(code, size, &insn) && insn.kind == BPFU_X86_NOP;
}

int bpfu_x86_outline(uint8_t out[BPFU_OUTLINE_MAX], uint64_t slot, const uint8_t *code, uint64_t at)
{
	struct out o = { .bytes = out, .base = slot };
	struct bpfu_x86_insn insn;
	uint64_t next;
	int err = bpfu_x86_decode(code, BPFU_X86_INSN_MAX, &insn);

	if (err)
		return err;
	next = at + insn.len;
	switch (insn.kind) {
	case BPFU_X86_RET:
	case BPFU_X86_JMP_RM:
		put_copy(&o, code, &insn, at);
		break;
	case BPFU_X86_JMP:
		put_jmp(&o, next + (uint64_t)insn.target_off);
		break;
	case BPFU_X86_JCC:
	case BPFU_X86_LOOP:
		put_conditional(&o, code, &insn, next);
		break;
	case BPFU_X86_CALL:
		put_push(&o, next);
		put_jmp(&o, next + (uint64_t)insn.target_off);
		break;
	case BPFU_X86_CALL_RM:
		put_call_rm(&o, code, &insn, at, next);
		break;
	case BPFU_X86_NOP:
		put_jmp(&o, next);
		break;
	case BPFU_X86_PLAIN:
		put_copy(&o, code, &insn, at);
		put_jmp(&o, next);
		break;
	case BPFU_X86_REFUSED:
		return -EOPNOTSUPP;
	}
	return o.err ? o.err : o.len;
}
