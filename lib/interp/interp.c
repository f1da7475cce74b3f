// SPDX-License-Identifier: BSD-2-Clause
/*
 * The interpreter. One switch over the opcodes of insn.def without a default, so that a row added to
 * the table without a case here does not compile cleanly. It trusts the verifier: no bounds, no
 * instruction counting.
 *
 * Every BPF function (main program, subprogram or callback) is one C call of run_insns(),
 * whose C frame holds the function's registers and its 512 bytes of BPF stack:
 *
 *     run_insns (main)                   run_insns (subprogram)
 *     regs[16]   r0 … r10                regs[16]   r1 … r5 copied from the caller
 *     stack[512] <- r10 points behind    stack[512]
 *        "call pc+N" ------------------>    …
 *        r0 = <------------------------- "exit"
 *
 * So r6 … r9 of the caller survive a call without being saved. A tail call stays in the C frame: it
 * replaces the program, keeps r1, and the target's exit returns to whoever called the function that
 * made the tail call. The count of tail calls belongs to the run as a whole (struct run) and is
 * shared by all its frames, as in the kernel; only a call that finds a program counts.
 */
#include "interp/interp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/func_ctx.h"
#include "helper/helper.h"
#include "insn/opcode.h"
#include "interp/arith.h"
#include "interp/mem.h"
#include "map/map.h"
#include "obj/patches.h"
#include "obj/prog.h"
#include "util/log.h"
#include "util/uaccess.h"

#define MAY_GOTO_LIMIT (8 * 1024 * 1024) /* BPF_MAX_LOOPS: per call of a function */

/* One entry into a program, from bpfu_prog_run() or a helper, and all calls below it. */
struct run {
	uint32_t tail_calls;
};

/* The program that a tail call to @index of @map goes to; NULL if it falls through. */
static const struct bpfu_prog *tail_call_target(struct run *run, uint64_t map, uint32_t index)
{
	const struct bpfu_prog_array *array = (const struct bpfu_prog_array *)(uintptr_t)map;
	const struct bpfu_prog *target;

	if (index >= array->map.max_entries || run->tail_calls >= BPFU_MAX_TAIL_CALLS)
		return NULL;
	target = atomic_load_explicit(&array->ptrs[index], memory_order_acquire);
	/* A prog array holds programs of one kind only: compiled ones never get here. */
	if (!target || target->jited)
		return NULL;
	run->tail_calls++;
	return target;
}

/* LD_IMM64 with BPF_PSEUDO_FUNC: the callback value of the subprogram it names. */
static uint64_t callback_value(const struct bpfu_prog *prog, const struct bpf_insn *insn)
{
	uint32_t start = (uint32_t)(insn - prog->insns) + 1 + insn->imm;
	uint32_t i = 0;

	while (i + 1 < prog->subprog_cnt && prog->subprogs[i].start != start)
		i++;
	BPFU_BUG_ON(prog->subprogs[i].start != start, "callback is not a subprogram");
	return (uint64_t)(uintptr_t)&prog->callbacks[i] | 1;
}

/* A load that yields 0 on a fault. */
static uint64_t probe(uint64_t addr, size_t size)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t dw;
	} v;

	if (bpfu_copy_from_user(&v, addr, size))
		return 0;
	switch (size) {
	case 1:
		return v.b;
	case 2:
		return v.h;
	case 4:
		return v.w;
	default:
		return v.dw;
	}
}

static void run_atomic(const struct bpf_insn *insn, uint64_t *regs)
{
	uint64_t *dst = &regs[insn->dst_reg], *src = &regs[insn->src_reg];
	uint8_t size = BPF_SIZE(insn->code);

	if (insn->imm == BPF_LOAD_ACQ)
		*dst = mem_acquire(size, *src + insn->off);
	else if (insn->imm == BPF_STORE_REL)
		mem_release(size, *dst + insn->off, *src);
	else if (size == BPF_DW)
		mem_rmw64(insn->imm, *dst + insn->off, src, &regs[BPF_REG_0]);
	else
		mem_rmw32(insn->imm, *dst + insn->off, src, &regs[BPF_REG_0]);
}

static uint64_t mov64_x(const struct bpf_insn *insn, uint64_t src)
{
	if (insn->off == BPFU_OFF_PERCPU)
		return src + bpfu_cpu_self.percpu_off;
	return insn->off ? sign_extend(src, insn->off) : src;
}

static uint64_t call_helper(int32_t id, const uint64_t *regs)
{
	return bpfu_call_target(id)(regs[BPF_REG_1], regs[BPF_REG_2], regs[BPF_REG_3],
				    regs[BPF_REG_4], regs[BPF_REG_5]);
}

/*
 * The cases of one operation in both widths and with both kinds of operand. IMM is sign-extended to
 * 64 bits; 32-bit results are zero-extended by the assignment.
 */
#define DST (*dst)
#define DST32 ((uint32_t)*dst)
#define SRC32 ((uint32_t)src)
#define IMM ((uint64_t)(int64_t)insn->imm)
#define IMM32 ((uint32_t)insn->imm)
/* clang-format off */
#define ALU(NAME, expr64, expr32)                                                                  \
	case BPFU_OP_##NAME##64_K: DST = expr64(DST, IMM); break;                                  \
	case BPFU_OP_##NAME##64_X: DST = expr64(DST, src); break;                                  \
	case BPFU_OP_##NAME##32_K: DST = (uint32_t)expr32(DST32, IMM32); break;                    \
	case BPFU_OP_##NAME##32_X: DST = (uint32_t)expr32(DST32, SRC32); break;
#define SIGNED_ALU(NAME, expr64, signed64, expr32, signed32)                                       \
	case BPFU_OP_##NAME##64_K: DST = insn->off ? signed64(DST, IMM) : expr64(DST, IMM); break; \
	case BPFU_OP_##NAME##64_X: DST = insn->off ? signed64(DST, src) : expr64(DST, src); break; \
	case BPFU_OP_##NAME##32_K:                                                                 \
		DST = insn->off ? signed32(DST32, IMM32) : (uint32_t)expr32(DST32, IMM32);         \
		break;                                                                             \
	case BPFU_OP_##NAME##32_X:                                                                 \
		DST = insn->off ? signed32(DST32, SRC32) : (uint32_t)expr32(DST32, SRC32);         \
		break;
#define JUMP_IF(cond) if (cond) next += insn->off; break;
#define JMP(NAME, type64, type32, op)                                                              \
	case BPFU_OP_##NAME##64_K: JUMP_IF((type64)DST op (type64)IMM)                             \
	case BPFU_OP_##NAME##64_X: JUMP_IF((type64)DST op (type64)src)                             \
	case BPFU_OP_##NAME##32_K: JUMP_IF((type32)DST op (type32)IMM)                             \
	case BPFU_OP_##NAME##32_X: JUMP_IF((type32)DST op (type32)src)
#define MEM(SUFFIX, bits)                                                                          \
	case BPFU_OP_LDX_##SUFFIX: DST = mem_load##bits(src + insn->off); break;                   \
	case BPFU_OP_ST_##SUFFIX: mem_store##bits(DST + insn->off, insn->imm); break;              \
	case BPFU_OP_STX_##SUFFIX: mem_store##bits(DST + insn->off, src); break;                   \
	case BPFU_OP_PROBE_##SUFFIX: DST = probe(src + insn->off, bits / 8); break;
#define MEMSX(SUFFIX, bits)                                                                        \
	case BPFU_OP_LDXSX_##SUFFIX: DST = sign_extend(mem_load##bits(src + insn->off), bits); break; \
	case BPFU_OP_PROBESX_##SUFFIX: DST = sign_extend(probe(src + insn->off, bits / 8), bits); break;

#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))
#define XOR(a, b) ((a) ^ (b))
#define LSH64(a, b) ((a) << ((b) & 63))
#define LSH32(a, b) ((a) << ((b) & 31))
#define RSH64(a, b) ((a) >> ((b) & 63))
#define RSH32(a, b) ((a) >> ((b) & 31))
/* clang-format on */

int bpfu_interp_stack_fill = -1;

static uint64_t run_insns(const struct bpfu_prog *prog, uint32_t start, const uint64_t *args,
			  struct run *run);
static uint64_t run_patched(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
			    uint32_t start, const uint64_t *args, struct run *run);

/*
 * Run the function of @prog that starts at instruction @start with r1 … r5 from @args, or what is
 * attached to it.
 */
static uint64_t run_func(const struct bpfu_prog *prog, uint32_t start, const uint64_t *args,
			 struct run *run)
{
	const struct bpfu_patches *patches =
		atomic_load_explicit(&prog->patches, memory_order_acquire);

	return patches ? run_patched(prog, patches, start, args, run) :
			 run_insns(prog, start, args, run);
}

static uint64_t run_traced(const struct bpfu_func_patch *patch, const struct bpfu_prog *prog,
			   uint32_t start, const uint64_t *args, struct run *run)
{
	uint64_t words[2 + 5 + 1], *ctx = words + 2;

	memcpy(ctx, args, patch->arg_cnt * sizeof(*args));
	ctx[BPFU_FUNC_CTX_IP] = patch->ip;
	ctx[BPFU_FUNC_CTX_CNT] = patch->arg_cnt;
	ctx[patch->arg_cnt] = 0;
	patch->enter(patch->trace, ctx);
	ctx[patch->arg_cnt] = run_insns(prog, start, args, run);
	patch->leave(patch->trace, ctx);
	return ctx[patch->arg_cnt];
}

static uint64_t run_patched(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
			    uint32_t start, const uint64_t *args, struct run *run)
{
	const struct bpfu_func_patch *patch;
	uint32_t i = 0;

	while (i + 1 < patches->cnt && prog->subprogs[i].start != start)
		i++;
	patch = &patches->func[i];
	if (patch->replacement)
		return run_func(patch->replacement, 0, args, run);
	if (patch->trace)
		return run_traced(patch, prog, start, args, run);
	return run_insns(prog, start, args, run);
}

/* The function itself. */
static uint64_t run_insns(const struct bpfu_prog *prog, uint32_t start, const uint64_t *args,
			     struct run *run)
{
	uint64_t stack[BPFU_STACK_SIZE / sizeof(uint64_t)];
	uint64_t regs[16] = { [BPF_REG_10] = (uint64_t)(uintptr_t)(stack + BPFU_ARRAY_SIZE(stack)) };
	uint32_t may_goto_left = MAY_GOTO_LIMIT;
	const struct bpf_insn *next = prog->insns + start;
	const struct bpfu_prog *target;

	if (__builtin_expect(bpfu_interp_stack_fill >= 0, 0))
		memset(stack, bpfu_interp_stack_fill, sizeof(stack));
	memcpy(&regs[BPF_REG_1], args, 5 * sizeof(*args));
	for (;;) {
		const struct bpf_insn *insn = next++;
		uint64_t *dst = &regs[insn->dst_reg];
		uint64_t src = regs[insn->src_reg];

		switch ((enum bpfu_op)insn->code) {
		ALU(ADD, ADD, ADD)
		ALU(SUB, SUB, SUB)
		ALU(MUL, MUL, MUL)
		ALU(OR, OR, OR)
		ALU(AND, AND, AND)
		ALU(XOR, XOR, XOR)
		ALU(LSH, LSH64, LSH32)
		ALU(RSH, RSH64, RSH32)
		ALU(ARSH, arsh64, arsh32)
		SIGNED_ALU(DIV, div64, sdiv64, div64, sdiv32)
		SIGNED_ALU(MOD, mod64, smod64, mod64, smod32)

		case BPFU_OP_MOV64_K:
			DST = IMM;
			break;
		case BPFU_OP_MOV32_K:
			DST = IMM32;
			break;
		case BPFU_OP_MOV64_X:
			DST = mov64_x(insn, src);
			break;
		case BPFU_OP_MOV32_X:
			DST = insn->off ? (uint32_t)sign_extend(src, insn->off) : SRC32;
			break;
		case BPFU_OP_NEG64:
			DST = 0 - DST;
			break;
		case BPFU_OP_NEG32:
			DST = 0 - DST32;
			break;
		case BPFU_OP_LE:
			DST = to_le(DST, insn->imm);
			break;
		case BPFU_OP_BE:
			DST = to_be(DST, insn->imm);
			break;
		case BPFU_OP_BSWAP:
			DST = swap_bytes(DST, insn->imm);
			break;

		JMP(JEQ, uint64_t, uint32_t, ==)
		JMP(JNE, uint64_t, uint32_t, !=)
		JMP(JGT, uint64_t, uint32_t, >)
		JMP(JGE, uint64_t, uint32_t, >=)
		JMP(JLT, uint64_t, uint32_t, <)
		JMP(JLE, uint64_t, uint32_t, <=)
		JMP(JSGT, int64_t, int32_t, >)
		JMP(JSGE, int64_t, int32_t, >=)
		JMP(JSLT, int64_t, int32_t, <)
		JMP(JSLE, int64_t, int32_t, <=)
		JMP(JSET, uint64_t, uint32_t, &)

		case BPFU_OP_JA:
			next += insn->off;
			break;
		case BPFU_OP_JA32:
			next += insn->imm;
			break;
		case BPFU_OP_MAY_GOTO:
			if (may_goto_left)
				may_goto_left--;
			else
				next += insn->off;
			break;
		case BPFU_OP_CALL:
			if (insn->src_reg == BPF_PSEUDO_CALL)
				regs[BPF_REG_0] =
					run_func(prog, next - prog->insns + insn->imm,
						 &regs[BPF_REG_1], run);
			else
				regs[BPF_REG_0] = call_helper(insn->imm, regs);
			break;
		case BPFU_OP_TAIL_CALL:
			target = tail_call_target(run, regs[BPF_REG_2], regs[BPF_REG_3]);
			if (target) {
				prog = target;
				next = prog->insns;
				may_goto_left = MAY_GOTO_LIMIT;
			}
			break;
		case BPFU_OP_NOSPEC:
			break;
		case BPFU_OP_EXIT:
			return regs[BPF_REG_0];

		MEM(B, 8)
		MEM(H, 16)
		MEM(W, 32)
		MEM(DW, 64)
		MEMSX(B, 8)
		MEMSX(H, 16)
		MEMSX(W, 32)

		case BPFU_OP_ATOMIC_B:
		case BPFU_OP_ATOMIC_H:
		case BPFU_OP_ATOMIC_W:
		case BPFU_OP_ATOMIC_DW:
			run_atomic(insn, regs);
			break;
		case BPFU_OP_LD_IMM64:
			DST = bpfu_insn_is_pseudo_func(insn) ? callback_value(prog, insn) :
							       bpfu_insn_imm64(insn);
			next++;
			break;
		case BPFU_OP_LD_ABS_B:
		case BPFU_OP_LD_ABS_H:
		case BPFU_OP_LD_ABS_W:
		case BPFU_OP_LD_IND_B:
		case BPFU_OP_LD_IND_H:
		case BPFU_OP_LD_IND_W:
			BPFU_BUG_ON(true, "rewrite/ left a packet load");
			return 0;
		}
	}
}

static uint64_t run_program(void *ctx, const struct bpfu_prog *prog)
{
	const uint64_t args[5] = { (uint64_t)(uintptr_t)ctx };
	struct run run = { 0 };

	return run_func(prog, 0, args, &run);
}

static uint64_t run_callback(const struct bpfu_callback *cb, uint64_t r1, uint64_t r2, uint64_t r3,
			     uint64_t r4, uint64_t r5)
{
	const uint64_t args[5] = { r1, r2, r3, r4, r5 };
	struct run run = { 0 };

	return run_func(cb->prog, cb->prog->subprogs[cb->subprog].start, args, &run);
}

int bpfu_interp_prepare(struct bpfu_prog *prog)
{
	struct bpfu_callback *callbacks = calloc(prog->subprog_cnt, sizeof(*callbacks));

	if (!callbacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < prog->subprog_cnt; i++)
		callbacks[i] = (struct bpfu_callback){ .invoke = run_callback,
						       .prog = prog,
						       .subprog = i };
	prog->callbacks = callbacks;
	prog->func = prog->own_func = run_program;
	return 0;
}

void bpfu_interp_release(struct bpfu_prog *prog)
{
	free(prog->callbacks);
	prog->callbacks = NULL;
}
