// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every encoder of lib/jit/x86_64/encode.h over its operands, held against x86_64.golden, which
 * llvm-mc made (scripts/gen-encode). Each case is an instruction in Intel syntax and its bytes.
 *
 *   test_encode_x86_64 GOLDEN     compare; says the first lines that differ
 *   test_encode_x86_64 --list     print the instructions, for scripts/gen-encode
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/x86_64/encode.h"
#include "jit/x86_64/encode_vec.h"

static const char *const names64[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
static const char *const names32[] = { "eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
				       "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d" };
static const char *const names16[] = { "ax",  "cx",  "dx",   "bx",   "sp",   "bp",   "si",   "di",
				       "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w" };
static const char *const names8[] = { "al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
				      "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b" };

static struct bpfu_codebuf cb;
static FILE *golden;    /* NULL: list */
static int cases, failures;

static const char *reg(unsigned size, unsigned r)
{
	return size == 8 ? names64[r] : size == 4 ? names32[r] : size == 2 ? names16[r] : names8[r];
}

static const char *rw(bool w, unsigned r)
{
	return reg(w ? 8 : 4, r);
}

static const char *ptr(unsigned size)
{
	return size == 8 ? "qword ptr" : size == 4 ? "dword ptr" : size == 2 ? "word ptr" : "byte ptr";
}

static const char *mem_text(struct x86_mem m)
{
	static char bufs[2][80];
	static int turn;
	char *buf = bufs[turn ^= 1];
	size_t n = 0;

	n += (size_t)snprintf(buf + n, sizeof(bufs[0]) - n, "%s[", m.fs ? "fs:" : "");
	if (m.base == X86_RIP)
		n += (size_t)snprintf(buf + n, sizeof(bufs[0]) - n, "rip + ");
	else if (m.base != X86_NONE)
		n += (size_t)snprintf(buf + n, sizeof(bufs[0]) - n, "%s + ", names64[m.base]);
	if (m.index != X86_NONE)
		n += (size_t)snprintf(buf + n, sizeof(bufs[0]) - n, "%d*%s + ", 1 << m.scale, names64[m.index]);
	snprintf(buf + n, sizeof(bufs[0]) - n, "%d]", m.disp);
	return buf;
}

/* The code buffer holds one instruction whose text is given: one case. */
static void check(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void check(const char *fmt, ...)
{
	char text[160], line[256], hex[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (uint32_t i = 0; i < cb.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", cb.data[i]);
	cb.len = 0;
	cases++;
	if (!golden) {
		puts(text);
		return;
	}
	if (!fgets(line, sizeof(line), golden)) {
		printf("golden ends before case %d (%s)\n", cases, text);
		exit(1);
	}
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, hex, strlen(hex)) || strcmp(line + strlen(hex), "\t") < 0 ||
	    line[strlen(hex)] != '\t' || strcmp(line + strlen(hex) + 1, text)) {
		if (failures++ < 10)
			printf("case %d: ours '%s\t%s', golden '%s'\n", cases, hex, text, line);
	}
}

static const uint8_t some_regs[] = { X86_RAX, X86_RCX, X86_RBX, X86_RSP, X86_RBP, X86_RDI,
				     X86_R8,  X86_R12, X86_R13, X86_R15 };
static const uint8_t few_regs[] = { X86_RAX, X86_RSP, X86_RSI, X86_R13 };
static const int32_t imms[] = { 1, -1, 127, -128, 128, -129, 0x12345678, INT32_MIN };
#define EACH(var, array) for (size_t var##_i = 0; var##_i < BPFU_ARRAY_SIZE(array); var##_i++)
#define EACH_REG(r) for (uint8_t r = 0; r < 16; r++)
#define EACH_W(w) for (int w = 0; w < 2; w++)
#define EACH_SIZE(s) for (unsigned s = 1; s <= 8; s *= 2)

/* All shapes of memory operands. */
static size_t all_mems(struct x86_mem *out)
{
	static const int32_t disps[] = { 0, 1, 127, -128, 128, -129, 0x12345678 };
	static const uint8_t bases[] = { X86_RAX, X86_RSP, X86_RBP, X86_RSI, X86_R12, X86_R13 };
	static const uint8_t indexes[] = { X86_RAX, X86_RBP, X86_R9, X86_R12, X86_R13 };
	size_t n = 0;

	EACH_REG(base)
		EACH(d, disps)
			out[n++] = x86_mem_bd(base, disps[d_i]);
	EACH(b, bases)
		EACH(x, indexes)
			for (uint8_t scale = 0; scale < 4; scale++)
				out[n++] = x86_mem_bisd(bases[b_i], indexes[x_i], scale,
							scale == 3 ? 0x1000 : scale * 60 - 60);
	EACH(x, indexes)
		for (uint8_t scale = 1; scale < 4; scale++)
			out[n++] = x86_mem_bisd(X86_NONE, indexes[x_i], scale, scale * 100);
	out[n++] = x86_mem_fs(-64);
	out[n++] = x86_mem_fs(0x1234);
	out[n++] = x86_mem_bd(X86_RIP, 0x1234);
	out[n++] = x86_mem_bd(X86_RIP, -5);
	return n;
}

/* A few, for the encoders that share the machinery. */
static size_t few_mems(struct x86_mem *out)
{
	size_t n = 0;

	out[n++] = x86_mem_bd(X86_RAX, 0);
	out[n++] = x86_mem_bd(X86_RBP, -8);
	out[n++] = x86_mem_bd(X86_R12, 0x200);
	out[n++] = x86_mem_bd(X86_R13, 0);
	out[n++] = x86_mem_bisd(X86_RDI, X86_R12, 3, 16);
	out[n++] = x86_mem_bisd(X86_R13, X86_RCX, 0, 0);
	return n;
}

static void moves(void)
{
	static const uint64_t big[] = { 1ull << 32, UINT64_MAX - (1ull << 40), 0x1122334455667788 };

	EACH_W(w)
		EACH_REG(d)
			EACH(s, some_regs) {
				x86_mov_rr(&cb, w, d, some_regs[s_i]);
				check("mov %s, %s", rw(w, d), rw(w, some_regs[s_i]));
			}
	EACH_REG(d) {
		x86_mov_ri32(&cb, d, 0x89abcdef);
		check("mov %s, %u", reg(4, d), 0x89abcdef);
		x86_mov_ris32(&cb, d, -2);
		check("mov %s, -2", reg(8, d));
		EACH(v, big) {
			x86_movabs(&cb, d, big[v_i]);
			check("movabs %s, %llu", reg(8, d), (unsigned long long)big[v_i]);
		}
	}
	EACH_REG(d)
		EACH(s, few_regs) {
			uint8_t src = few_regs[s_i];

			for (unsigned size = 1; size <= 2; size++) {
				x86_movzx_rr(&cb, size, d, src);
				check("movzx %s, %s", reg(4, d), reg(size, src));
				EACH_W(w) {
					x86_movsx_rr(&cb, w, size, d, src);
					check("movsx %s, %s", rw(w, d), reg(size, src));
				}
			}
			x86_movsx_rr(&cb, true, 4, d, src);
			check("movsxd %s, %s", reg(8, d), reg(4, src));
			EACH_W(w) {
				x86_cmov_rr(&cb, X86_CC_AE, w, d, src);
				check("cmovae %s, %s", rw(w, d), rw(w, src));
			}
		}
	EACH_REG(r) {
		x86_setcc(&cb, X86_CC_BE, r);
		check("setbe %s", reg(1, r));
		x86_push(&cb, r);
		check("push %s", reg(8, r));
		x86_pop(&cb, r);
		check("pop %s", reg(8, r));
	}
	x86_push_i8(&cb, 0);
	check("push 0");
	x86_push_i8(&cb, -128);
	check("push -128");
}

static void loads_stores(void)
{
	struct x86_mem mems[400];
	size_t n = all_mems(mems);

	for (size_t i = 0; i < n; i++) {
		EACH_SIZE(size) {
			uint8_t r = i % 16;

			if (size != 1u << i % 4 && i % 8)
				continue;
			x86_load(&cb, size, r, mems[i]);
			check("%s %s, %s %s", size < 4 ? "movzx" : "mov", reg(size < 4 ? 4 : size, r),
			      ptr(size), mem_text(mems[i]));
			if (mems[i].base == X86_RIP) /* an immediate would move the end */
				continue;
			x86_store(&cb, size, mems[i], 15 - r);
			check("mov %s %s, %s", ptr(size), mem_text(mems[i]), reg(size, 15 - r));
		}
		EACH_W(w) {
			x86_lea(&cb, w, i % 16, mems[i]);
			if (mems[i].fs)
				cb.len = 0; /* lea ignores segments; assemblers complain */
			else
				check("lea %s, %s", rw(w, i % 16), mem_text(mems[i]));
		}
	}
	n = few_mems(mems);
	for (size_t i = 0; i < n; i++) {
		const char *text = mem_text(mems[i]);

		for (uint8_t r = 2; r < 16; r += 5) {
			EACH_W(w) {
				x86_load_sx(&cb, w, 1, r, mems[i]);
				check("movsx %s, byte ptr %s", rw(w, r), text);
				x86_load_sx(&cb, w, 2, r, mems[i]);
				check("movsx %s, word ptr %s", rw(w, r), text);
			}
			x86_load_sx(&cb, true, 4, r, mems[i]);
			check("movsxd %s, dword ptr %s", reg(8, r), text);
			for (unsigned size = 2; size <= 8; size *= 2) {
				x86_movbe_rm(&cb, size, r, mems[i]);
				check("movbe %s, %s %s", reg(size, r), ptr(size), text);
				x86_movbe_mr(&cb, size, mems[i], r);
				check("movbe %s %s, %s", ptr(size), text, reg(size, r));
			}
		}
		EACH_SIZE(size) {
			static const int32_t values[] = { 0, 1, -1, 0x7f, -128 };

			EACH(v, values) {
				x86_store_i(&cb, size, mems[i], values[v_i]);
				check("mov %s %s, %d", ptr(size), text, values[v_i]);
			}
			if (size >= 4) {
				x86_store_i(&cb, size, mems[i], 0x12345678);
				check("mov %s %s, %d", ptr(size), text, 0x12345678);
			}
		}
	}
}

static void alu(void)
{
	static const char *const ops[] = { "add", "or", "adc", "sbb", "and", "sub", "xor", "cmp" };
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	for (unsigned op = 0; op < 8; op++) {
		EACH_W(w) {
			EACH_REG(d)
				EACH(s, few_regs) {
					x86_alu_rr(&cb, op, w, d, few_regs[s_i]);
					check("%s %s, %s", ops[op], rw(w, d), rw(w, few_regs[s_i]));
				}
			EACH(d, few_regs)
				EACH(v, imms) {
					uint8_t dst = few_regs[d_i];

					x86_alu_ri(&cb, op, w, dst, imms[v_i]);
					check("%s %s, %d", ops[op], rw(w, dst), imms[v_i]);
				}
		}
		for (size_t i = 0; i < n; i++) {
			const char *text = mem_text(mems[i]);

			EACH_SIZE(size) {
				uint8_t r = (i * 3 + 6) % 16;

				x86_alu_rm(&cb, op, size, r, mems[i]);
				check("%s %s, %s %s", ops[op], reg(size, r), ptr(size), text);
				x86_alu_mr(&cb, op, size, mems[i], r);
				check("%s %s %s, %s", ops[op], ptr(size), text, reg(size, r));
				x86_alu_mi(&cb, op, size, mems[i], -128);
				check("%s %s %s, -128", ops[op], ptr(size), text);
				if (size >= 4) {
					x86_alu_mi(&cb, op, size, mems[i], 1000);
					check("%s %s %s, 1000", ops[op], ptr(size), text);
				}
				if (op == X86_CMP)
					continue;
				x86_lock_alu_mr(&cb, op, size, mems[i], r);
				check("lock %s %s %s, %s", ops[op], ptr(size), text, reg(size, r));
			}
		}
	}
}

static void tests(void)
{
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	EACH_W(w)
		EACH_REG(a) {
			EACH(b, few_regs) {
				x86_test_rr(&cb, w, a, few_regs[b_i]);
				check("test %s, %s", rw(w, a), rw(w, few_regs[b_i]));
			}
			x86_test_ri(&cb, w, a, 0x1234);
			check("test %s, %d", rw(w, a), 0x1234);
			x86_test_ri(&cb, w, a, -2);
			check("test %s, -2", rw(w, a));
		}
	EACH_REG(a) {
		x86_test8_ri(&cb, a, 0x81);
		check("test %s, %d", reg(1, a), 0x81);
	}
	for (size_t i = 0; i < n; i++)
		EACH_SIZE(size) {
			x86_test_mi(&cb, size, mems[i], 0x55);
			check("test %s %s, %d", ptr(size), mem_text(mems[i]), 0x55);
		}
}

static void muldiv(void)
{
	static const char *const ops[] = { [X86_NOT] = "not", [X86_NEG] = "neg", [X86_MUL] = "mul",
					   [X86_IMUL] = "imul", [X86_DIV] = "div",
					   [X86_IDIV] = "idiv" };
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	EACH_W(w)
		EACH_REG(r) {
			for (unsigned op = X86_NOT; op <= X86_IDIV; op++) {
				x86_unary_r(&cb, op, w, r);
				check("%s %s", ops[op], rw(w, r));
			}
			x86_inc_r(&cb, w, r);
			check("inc %s", rw(w, r));
			x86_dec_r(&cb, w, r);
			check("dec %s", rw(w, r));
			x86_bswap(&cb, w, r);
			check("bswap %s", rw(w, r));
			EACH(s, few_regs) {
				x86_imul_rr(&cb, w, r, few_regs[s_i]);
				check("imul %s, %s", rw(w, r), rw(w, few_regs[s_i]));
				x86_imul_rri(&cb, w, r, few_regs[s_i], -100);
				check("imul %s, %s, -100", rw(w, r), rw(w, few_regs[s_i]));
				x86_imul_rri(&cb, w, r, few_regs[s_i], 100000);
				check("imul %s, %s, 100000", rw(w, r), rw(w, few_regs[s_i]));
			}
		}
	for (size_t i = 0; i < n; i++) {
		const char *text = mem_text(mems[i]);

		EACH_SIZE(size) {
			x86_unary_m(&cb, X86_NEG, size, mems[i]);
			check("neg %s %s", ptr(size), text);
		}
		EACH_W(w) {
			x86_imul_rm(&cb, w, 15 - i, mems[i]);
			check("imul %s, %s %s", rw(w, 15 - i), ptr(w ? 8 : 4), text);
			x86_imul_rmi(&cb, w, 15 - i, mems[i], 7);
			check("imul %s, %s %s, 7", rw(w, 15 - i), ptr(w ? 8 : 4), text);
			x86_imul_rmi(&cb, w, 15 - i, mems[i], 7000);
			check("imul %s, %s %s, 7000", rw(w, 15 - i), ptr(w ? 8 : 4), text);
		}
	}
	x86_cdq(&cb, false);
	check("cdq");
	x86_cdq(&cb, true);
	check("cqo");
}

static void shifts(void)
{
	static const char *const ops[] = { [X86_ROL] = "rol", [X86_ROR] = "ror", [X86_SHL] = "shl",
					   [X86_SHR] = "shr", [X86_SAR] = "sar" };
	static const uint8_t counts[] = { 1, 2, 31 };
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	for (unsigned op = X86_ROL; op <= X86_SAR; op++) {
		if (!ops[op])
			continue;
		EACH_W(w)
			EACH_REG(r) {
				EACH(c, counts) {
					x86_shift_ri(&cb, op, w, r, counts[c_i]);
					check("%s %s, %d", ops[op], rw(w, r), counts[c_i]);
				}
				x86_shift_r_cl(&cb, op, w, r);
				check("%s %s, cl", ops[op], rw(w, r));
			}
		EACH_REG(r) {
			x86_rot16_ri(&cb, op, r, 8);
			check("%s %s, 8", ops[op], reg(2, r));
		}
		if (op < X86_SHL)
			continue;
		EACH_W(w) {
			EACH_REG(d)
				EACH(s, few_regs) {
					uint8_t src = few_regs[s_i], count = (d + s_i) % 16;

					x86_shiftx_rrr(&cb, op, w, d, src, count);
					check("%sx %s, %s, %s", ops[op], rw(w, d), rw(w, src),
					      rw(w, count));
				}
			for (size_t i = 0; i < n; i++) {
				x86_shiftx_rmr(&cb, op, w, i * 2, mems[i], 15 - i);
				check("%sx %s, %s %s, %s", ops[op], rw(w, i * 2), ptr(w ? 8 : 4),
				      mem_text(mems[i]), rw(w, 15 - i));
			}
		}
	}
	EACH_W(w)
		EACH_REG(d)
			EACH(s, few_regs) {
				uint8_t src = few_regs[s_i], third = (d * 3 + s_i) % 16;

				x86_rorx_rri(&cb, w, d, src, 13);
				check("rorx %s, %s, 13", rw(w, d), rw(w, src));
				x86_mulx_rrr(&cb, w, d, third, src);
				check("mulx %s, %s, %s", rw(w, d), rw(w, third), rw(w, src));
				x86_andn_rrr(&cb, w, d, third, src);
				check("andn %s, %s, %s", rw(w, d), rw(w, third), rw(w, src));
			}
}

static void atomics(void)
{
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	for (size_t i = 0; i < n; i++)
		EACH_SIZE(size)
			for (uint8_t r = 1; r < 16; r += 6) {
				const char *text = mem_text(mems[i]);

				x86_lock_xadd(&cb, size, mems[i], r);
				check("lock xadd %s %s, %s", ptr(size), text, reg(size, r));
				x86_lock_cmpxchg(&cb, size, mems[i], r);
				check("lock cmpxchg %s %s, %s", ptr(size), text, reg(size, r));
				x86_xchg_mr(&cb, size, mems[i], r);
				check("xchg %s %s, %s", ptr(size), text, reg(size, r));
			}
}

static void branch(const char *name, unsigned cc, int32_t rel)
{
	bool is_long = rel < -128 || rel > 127;
	unsigned len = is_long ? x86_branch_long_len(cc) : X86_BRANCH_SHORT;
	uint8_t *p = bpfu_codebuf_room(&cb);

	if (x86_put_branch(p, cc, is_long, rel) != len) {
		printf("%s: wrong length\n", name);
		failures++;
	}
	bpfu_codebuf_commit(&cb, p + len);
	check("%s .%+d", name, (int)len + rel);
}

static void control(void)
{
	static const struct {
		const char *name;
		unsigned cc;
	} ccs[] = {
		{ "jb", X86_CC_B },   { "jae", X86_CC_AE }, { "je", X86_CC_E },   { "jne", X86_CC_NE },
		{ "jbe", X86_CC_BE }, { "ja", X86_CC_A },   { "js", X86_CC_S },   { "jns", X86_CC_NS },
		{ "jl", X86_CC_L },   { "jge", X86_CC_GE }, { "jle", X86_CC_LE }, { "jg", X86_CC_G },
		{ "jmp", X86_JMP },
	};
	static const int32_t rels[] = { 0, 127, -128, 128, -133, 0x1234567 };
	struct x86_mem mems[8];
	size_t n = few_mems(mems);

	EACH(c, ccs)
		EACH(r, rels)
			branch(ccs[c_i].name, ccs[c_i].cc, rels[r_i]);
	x86_call_rel32(&cb, 0x1000);
	check("call .+%d", 0x1000 + 5);
	x86_call_rel32(&cb, -0x1000);
	check("call .%d", -0x1000 + 5);
	EACH_REG(r) {
		x86_jmp_r(&cb, r);
		check("jmp %s", reg(8, r));
		x86_call_r(&cb, r);
		check("call %s", reg(8, r));
	}
	for (size_t i = 0; i < n; i++) {
		x86_jmp_m(&cb, mems[i]);
		check("jmp qword ptr %s", mem_text(mems[i]));
		x86_call_m(&cb, mems[i]);
		check("call qword ptr %s", mem_text(mems[i]));
		x86_push_m(&cb, mems[i]);
		check("push qword ptr %s", mem_text(mems[i]));
		x86_movups_load(&cb, i % 8, mems[i]);
		check("movups xmm%u, xmmword ptr %s", (unsigned)i % 8, mem_text(mems[i]));
		x86_movups_store(&cb, mems[i], i % 8);
		check("movups xmmword ptr %s, xmm%u", mem_text(mems[i]), (unsigned)i % 8);
	}
	x86_ret(&cb);
	check("ret");
	x86_leave(&cb);
	check("leave");
	x86_int3(&cb);
	check("int3");
	x86_lfence(&cb);
	check("lfence");
}

static void vectors(void)
{
	static const struct {
		enum x86_vec op;
		const char *name;
	} ops[] = {
		{ X86_PUNPCKLBW, "punpcklbw" }, { X86_PUNPCKLWD, "punpcklwd" },
		{ X86_PUNPCKLQDQ, "punpcklqdq" }, { X86_MOVDQA, "movdqa" },
		{ X86_PCMPEQD, "pcmpeqd" },	  { X86_PADDQ, "paddq" },
		{ X86_PXOR, "pxor" },		  { X86_PSADBW, "psadbw" },
		{ X86_PSUBQ, "psubq" },
	};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		x86_vec_rr(&cb, ops[i].op, i % 8, 7 - i % 7);
		check("%s xmm%u, xmm%u", ops[i].name, i % 8, 7 - i % 7);
	}
	EACH_REG(r) {
		x86_vec_from(&cb, true, r % 8, r);
		check("movq xmm%u, %s", (unsigned)r % 8, reg(8, r));
		x86_vec_from(&cb, false, r % 8, r);
		check("movd xmm%u, %s", (unsigned)r % 8, reg(4, r));
		x86_vec_to(&cb, true, r, r % 8);
		check("movq %s, xmm%u", reg(8, r), (unsigned)r % 8);
		x86_vec_to(&cb, false, r, r % 8);
		check("movd %s, xmm%u", reg(4, r), (unsigned)r % 8);
	}
	x86_pshufd(&cb, 3, 5, X86_LOW_DWORD);
	check("pshufd xmm3, xmm5, 0");
	x86_pshufd(&cb, 6, 1, X86_HIGH_HALF);
	check("pshufd xmm6, xmm1, 0xee");
	x86_psrlw(&cb, 2, 8);
	check("psrlw xmm2, 8");
	x86_psrlq(&cb, 4, 32);
	check("psrlq xmm4, 32");
	x86_psllq(&cb, 7, 63);
	check("psllq xmm7, 63");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "--list")) {
		golden = fopen(argv[1], "r");
		if (!golden) {
			perror(argv[1]);
			return 1;
		}
	}
	bpfu_codebuf_init(&cb, 64);
	moves();
	loads_stores();
	alu();
	tests();
	muldiv();
	shifts();
	atomics();
	control();
	vectors();
	bpfu_codebuf_release(&cb);
	if (!golden)
		return 0;
	if (fgetc(golden) != EOF) {
		printf("golden has more than %d cases\n", cases);
		failures++;
	}
	fclose(golden);
	printf("%d cases, %d wrong\n", cases, failures);
	return failures ? 1 : 0;
}
