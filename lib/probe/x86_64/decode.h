/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long an x86-64 instruction is, and what of it depends on where it lies: enough to execute it
 * somewhere else. Works on every host. Intel SDM volume 2, chapter 2 and appendix A; AMD APM volume
 * 3 for XOP and 3DNow!.
 */
#ifndef BPFU_PROBE_X86_64_DECODE_H
#define BPFU_PROBE_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPFU_X86_INSN_MAX 15

enum bpfu_x86_kind {
	BPFU_X86_PLAIN,     /* does not care where it lies, but for ->rip_disp */
	BPFU_X86_RET,       /* goes where the stack says; what follows is not reached */
	BPFU_X86_JMP,       /* to ->target_off */
	BPFU_X86_JCC,       /* the same on a condition; the opcode's low four bits */
	BPFU_X86_LOOP,      /* the same: loop, loopne, loope, jrcxz, which have a short form only */
	BPFU_X86_CALL,      /* to ->target_off */
	BPFU_X86_JMP_RM,    /* jmp r/m */
	BPFU_X86_CALL_RM,   /* call r/m */
	BPFU_X86_NOP,       /* also the long forms */
	BPFU_X86_REFUSED,   /* a breakpoint, privileged, or its fault is its purpose */
};

struct bpfu_x86_insn {
	enum bpfu_x86_kind kind;
	uint8_t len;
	uint8_t opcode_at;  /* of the last byte of the opcode */
	uint8_t opcode;
	uint8_t modrm_at;   /* 0: none */
	uint8_t rip_disp_at; /* of the disp32 that is relative to the end; 0: none */
	int64_t target_off; /* from the end of the instruction */
};

/*
 * Decode the instruction that @code begins with, of @size bytes at most. 0; -EINVAL if there is none
 * that 64-bit mode knows, or it would be longer than @size.
 */
int bpfu_x86_decode(const uint8_t *code, size_t size, struct bpfu_x86_insn *insn);

#endif
