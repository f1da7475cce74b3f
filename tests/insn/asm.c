// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two passes over the text with one parser: the first only learns where labels are. Operators and
 * types are looked up in insn.def, so the assembler knows every opcode that the table knows.
 */
#include "asm.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insn/insn.h"
#include "insn/opcode.h"

#define MAX_LABELS 256
#define LABEL_LEN 32

struct label {
	char name[LABEL_LEN];
	uint32_t at;
};

struct assembler {
	const char *p; /* rest of the current line */
	struct bpf_insn *insns;
	uint32_t max;
	uint32_t cnt;
	struct label labels[MAX_LABELS];
	uint32_t label_cnt;
	bool resolve; /* second pass */
	bool failed;
	int line;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 2, 3))) static void fail(struct assembler *a, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	if (a->failed)
		return;
	a->failed = true;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(a->err, a->err_size, "line %d: %s", a->line, what);
}

/* ---- words ---- */

static void blanks(struct assembler *a)
{
	while (*a->p == ' ' || *a->p == '\t')
		a->p++;
}

/* Take @word if it comes next. A word that ends in a letter must not run on into another. */
static bool take(struct assembler *a, const char *word)
{
	size_t len = strlen(word);

	blanks(a);
	if (strncmp(a->p, word, len))
		return false;
	if (isalnum((unsigned char)word[len - 1]) &&
	    (isalnum((unsigned char)a->p[len]) || a->p[len] == '_'))
		return false;
	a->p += len;
	return true;
}

static void need(struct assembler *a, const char *word)
{
	if (!take(a, word))
		fail(a, "expected '%s' at '%s'", word, a->p);
}

static bool take_name(struct assembler *a, char name[LABEL_LEN])
{
	size_t len = 0;

	blanks(a);
	if (!isalpha((unsigned char)*a->p) && *a->p != '_')
		return false;
	while (isalnum((unsigned char)a->p[len]) || a->p[len] == '_')
		len++;
	if (len >= LABEL_LEN) {
		fail(a, "name '%.*s' is too long", (int)len, a->p);
		return false;
	}
	memcpy(name, a->p, len);
	name[len] = '\0';
	a->p += len;
	return true;
}

static bool take_number(struct assembler *a, int64_t *v)
{
	const char *digits;
	bool minus;
	char *end;

	blanks(a);
	minus = *a->p == '-';
	digits = a->p + (minus || *a->p == '+');
	if (!isdigit((unsigned char)*digits))
		return false;
	*v = (int64_t)strtoull(digits, &end, 0);
	if (minus)
		*v = (int64_t)(0 - (uint64_t)*v);
	a->p = end;
	return true;
}

static int64_t number(struct assembler *a, int64_t min, int64_t max)
{
	int64_t v = 0;

	if (!take_number(a, &v))
		fail(a, "expected a number at '%s'", a->p);
	else if (v < min || v > max)
		fail(a, "%lld is out of range", (long long)v);
	return v;
}

/* 32-bit immediates may be written signed or unsigned. */
static int32_t imm32(struct assembler *a)
{
	return (int32_t)number(a, INT32_MIN, UINT32_MAX);
}

static int16_t off16(struct assembler *a)
{
	return (int16_t)number(a, INT16_MIN, INT16_MAX);
}

/* A register; *@letter says 'r' or 'w'. Numbers up to 15 can be encoded. */
static bool take_reg(struct assembler *a, int *reg, char *letter)
{
	char *end;

	blanks(a);
	if ((*a->p != 'r' && *a->p != 'w') || !isdigit((unsigned char)a->p[1]))
		return false;
	*reg = strtol(a->p + 1, &end, 10);
	if (isalnum((unsigned char)*end) || *end == '_')
		return false;
	if (*reg > 15)
		fail(a, "register %d cannot be encoded", *reg);
	*letter = *a->p;
	a->p = end;
	return true;
}

static int reg(struct assembler *a, char letter)
{
	char have = letter;
	int r = 0;

	if (!take_reg(a, &r, &have) || have != letter)
		fail(a, "expected a register %cN before '%s'", letter, a->p);
	return r;
}

/* ---- output ---- */

static void emit(struct assembler *a, uint8_t code, int dst, int src, int16_t off, int32_t imm)
{
	if (a->cnt >= a->max) {
		fail(a, "more than %u instructions", a->max);
		return;
	}
	a->insns[a->cnt++] = BPFU_INSN(code, dst, src, off, imm);
}

static const struct label *find_label(struct assembler *a, const char *name)
{
	for (uint32_t i = 0; i < a->label_cnt; i++)
		if (!strcmp(a->labels[i].name, name))
			return &a->labels[i];
	return NULL;
}

static void define_label(struct assembler *a, const char *name)
{
	if (a->resolve)
		return;
	if (find_label(a, name))
		fail(a, "label '%s' is defined twice", name);
	else if (a->label_cnt == MAX_LABELS)
		fail(a, "more than %d labels", MAX_LABELS);
	else {
		snprintf(a->labels[a->label_cnt].name, LABEL_LEN, "%s", name);
		a->labels[a->label_cnt++].at = a->cnt;
	}
}

/* pc+N, +N, -N or a label, relative to the instruction after the next one emitted. */
static int32_t target(struct assembler *a)
{
	const struct label *label;
	char name[LABEL_LEN];
	int64_t v;

	blanks(a);
	if (a->p[0] == 'p' && a->p[1] == 'c' && (a->p[2] == '+' || a->p[2] == '-'))
		a->p += 2;
	if (take_number(a, &v))
		return (int32_t)v;
	if (!take_name(a, name)) {
		fail(a, "expected a target at '%s'", a->p);
		return 0;
	}
	if (!a->resolve)
		return 0;
	label = find_label(a, name);
	if (!label) {
		fail(a, "no label '%s'", name);
		return 0;
	}
	return (int32_t)label->at - (int32_t)a->cnt - 1;
}

static int16_t target16(struct assembler *a)
{
	int32_t t = target(a);

	if (t < INT16_MIN || t > INT16_MAX)
		fail(a, "target %d is out of range", t);
	return (int16_t)t;
}

/* ---- table look-ups ---- */

/* The longest operator of opcodes of @cls (with source @src) that comes next; -1 if there is none. */
static int take_operator(struct assembler *a, uint8_t cls, bool (*wanted)(enum bpfu_form))
{
	size_t best = 0;
	int found = -1;

	blanks(a);
	for (int code = 0; code < 256; code++) {
		const struct bpfu_opcode *op = bpfu_opcode_of(code);
		size_t len = op ? strlen(op->sym) : 0;

		if (!op || BPF_CLASS(code) != cls || BPF_SRC(code) != BPF_K || !wanted(op->form) ||
		    len <= best || strncmp(a->p, op->sym, len))
			continue;
		best = len;
		found = code;
	}
	a->p += best;
	return found;
}

static bool is_binary(enum bpfu_form form)
{
	return form == BPFU_FORM_ALU_K || form == BPFU_FORM_SHIFT_K || form == BPFU_FORM_DIV_K;
}

static bool is_condition(enum bpfu_form form)
{
	return form == BPFU_FORM_JMP_K;
}

/* "u8" … "s64" to BPF_SIZE; *@sign for the signed ones. */
static uint8_t mem_type(struct assembler *a, bool *sign)
{
	static const struct {
		const char *name;
		uint8_t size;
		bool sign;
	} types[] = { { "u8", BPF_B, false },  { "u16", BPF_H, false }, { "u32", BPF_W, false },
		      { "u64", BPF_DW, false }, { "s8", BPF_B, true },   { "s16", BPF_H, true },
		      { "s32", BPF_W, true } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (take(a, types[i].name)) {
			*sign = types[i].sign;
			return types[i].size;
		}
	fail(a, "expected a type at '%s'", a->p);
	return 0;
}

/* "(r1 +4)" or "(r1)" */
static void address(struct assembler *a, int *base, int16_t *off)
{
	*off = 0;
	need(a, "(");
	*base = reg(a, 'r');
	if (take(a, ")"))
		return;
	*off = off16(a);
	need(a, ")");
}

/* "(u32 *)(r1 +4)" with the first parenthesis already taken. */
static uint8_t mem_operand(struct assembler *a, bool *sign, int *base, int16_t *off)
{
	uint8_t size = mem_type(a, sign);

	need(a, "*)");
	address(a, base, off);
	return size;
}

/* The atomic operation of one of the shapes in @shapes whose symbol comes next, or NULL. */
static const struct bpfu_atomic *take_atomic(struct assembler *a, uint32_t shapes)
{
	static const int32_t imms[] = {
#define _(name, imm, shape, sym) (imm),
		BPFU_ATOMIC_DEF(_)
#undef _
	};

	for (size_t i = 0; i < sizeof(imms) / sizeof(imms[0]); i++) {
		const struct bpfu_atomic *op = bpfu_atomic_of(imms[i]);

		if ((shapes & 1u << op->shape) && take(a, op->sym))
			return op;
	}
	fail(a, "expected an atomic operation at '%s'", a->p);
	return NULL;
}

/* ---- statements ---- */

static void ld_imm64(struct assembler *a, int dst, int pseudo, uint64_t v)
{
	emit(a, BPFU_OP_LD_IMM64, dst, pseudo, 0, (int32_t)(uint32_t)v);
	emit(a, 0, 0, 0, 0, (int32_t)(uint32_t)(v >> 32));
}

static void load(struct assembler *a, int dst)
{
	bool sign;
	int base;
	int16_t off;
	uint8_t size;

	size = mem_type(a, &sign);
	need(a, "*)");
	if (take(a, "skb[")) {
		char letter;

		if (take_reg(a, &base, &letter)) {
			need(a, "+");
			emit(a, BPF_LD | BPF_IND | size, 0, base, 0, imm32(a));
		} else {
			emit(a, BPF_LD | BPF_ABS | size, 0, 0, 0, imm32(a));
		}
		need(a, "]");
		return;
	}
	address(a, &base, &off);
	emit(a, BPF_LDX | (sign ? BPF_MEMSX : BPF_MEM) | size, dst, base, off, 0);
}

static void store(struct assembler *a)
{
	char letter;
	bool sign;
	int base, src;
	int16_t off;
	uint8_t size = mem_operand(a, &sign, &base, &off);

	need(a, "=");
	if (take_reg(a, &src, &letter))
		emit(a, BPF_STX | BPF_MEM | size, base, src, off, 0);
	else
		emit(a, BPF_ST | BPF_MEM | size, base, 0, off, imm32(a));
}

static void lock(struct assembler *a)
{
	const struct bpfu_atomic *op;
	bool sign;
	int base;
	int16_t off;
	uint8_t size;

	need(a, "*(");
	size = mem_operand(a, &sign, &base, &off);
	op = take_atomic(a, 1u << BPFU_ATOMIC_SHAPE_LOCK);
	if (op)
		emit(a, BPF_STX | BPF_ATOMIC | size, base, reg(a, 'r'), off, op->imm);
}

/* "atomic64_fetch_add(…)" and the like behind "rN = "; false if it is something else. */
static bool fetch(struct assembler *a)
{
	const struct bpfu_atomic *op;
	bool sign;
	int base;
	int16_t off;
	uint8_t size;

	if (!take(a, "atomic64_") && !take(a, "atomic_"))
		return false;
	op = take_atomic(a, 1u << BPFU_ATOMIC_SHAPE_FETCH | 1u << BPFU_ATOMIC_SHAPE_CMPXCHG);
	if (!op)
		return true;
	need(a, "(");
	need(a, "(");
	size = mem_operand(a, &sign, &base, &off);
	need(a, ",");
	if (op->shape == BPFU_ATOMIC_SHAPE_CMPXCHG) {
		need(a, "r0");
		need(a, ",");
	}
	emit(a, BPF_STX | BPF_ATOMIC | size, base, reg(a, 'r'), off, op->imm);
	need(a, ")");
	return true;
}

static void load_acquire(struct assembler *a, int dst)
{
	bool sign;
	int base;
	int16_t off;
	uint8_t size;

	need(a, "(");
	size = mem_operand(a, &sign, &base, &off);
	need(a, ")");
	emit(a, BPF_STX | BPF_ATOMIC | size, dst, base, off, BPF_LOAD_ACQ);
}

static void store_release(struct assembler *a)
{
	bool sign;
	int base;
	int16_t off;
	uint8_t size;

	need(a, "(");
	size = mem_operand(a, &sign, &base, &off);
	need(a, ",");
	emit(a, BPF_STX | BPF_ATOMIC | size, base, reg(a, 'r'), off, BPF_STORE_REL);
	need(a, ")");
}

/* "be16 r0" …; false if it is something else. */
static bool byte_order(struct assembler *a, int dst)
{
	static const struct {
		const char *name;
		uint8_t code;
	} ops[] = { { "be", BPFU_OP_BE }, { "le", BPFU_OP_LE }, { "bswap", BPFU_OP_BSWAP } };
	int32_t bits;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t len = strlen(ops[i].name);

		if (strncmp(a->p, ops[i].name, len) || !isdigit((unsigned char)a->p[len]))
			continue;
		a->p += len;
		bits = imm32(a);
		if (reg(a, 'r') != dst)
			fail(a, "a byte swap has one register");
		emit(a, ops[i].code, dst, 0, 0, bits);
		return true;
	}
	return false;
}

static void address_space_cast(struct assembler *a, int dst)
{
	int src = reg(a, 'r');
	uint32_t to, from;

	need(a, ",");
	to = number(a, 0, UINT16_MAX);
	need(a, ",");
	from = number(a, 0, UINT16_MAX);
	need(a, ")");
	emit(a, BPFU_OP_MOV64_X, dst, src, BPF_ADDR_SPACE_CAST, (int32_t)(to << 16 | from));
}

static void move(struct assembler *a, int dst, char letter, bool wide)
{
	uint8_t cls = letter == 'w' ? BPF_ALU : BPF_ALU64;
	char have;
	int64_t v;
	int src;

	if (take(a, "(s8)"))
		emit(a, cls | BPF_MOV | BPF_X, dst, reg(a, letter), 8, 0);
	else if (take(a, "(s16)"))
		emit(a, cls | BPF_MOV | BPF_X, dst, reg(a, letter), 16, 0);
	else if (take(a, "(s32)"))
		emit(a, cls | BPF_MOV | BPF_X, dst, reg(a, letter), 32, 0);
	else if (take_reg(a, &src, &have) && have == letter)
		emit(a, cls | BPF_MOV | BPF_X, dst, src, 0, 0);
	else if (a->p[0] == '-' && a->p[1] == letter) {
		a->p++;
		if (reg(a, letter) != dst)
			fail(a, "a negation has one register");
		emit(a, cls | BPF_NEG, dst, 0, 0, 0);
	} else if (!take_number(a, &v))
		fail(a, "cannot read '%s'", a->p);
	else if (take(a, "ll") || wide)
		ld_imm64(a, dst, 0, v);
	else if (v < INT32_MIN || v > UINT32_MAX)
		fail(a, "%lld needs 'll'", (long long)v);
	else
		emit(a, cls | BPF_MOV | BPF_K, dst, 0, 0, (int32_t)v);
}

static void assign(struct assembler *a, int dst, char letter, bool wide)
{
	blanks(a);
	if (letter == 'r') {
		if (take(a, "*(")) {
			load(a, dst);
			return;
		}
		if (take(a, "load_acquire(")) {
			load_acquire(a, dst);
			return;
		}
		if (take(a, "&(void __percpu *)(")) {
			emit(a, BPFU_OP_MOV64_X, dst, reg(a, 'r'), BPFU_OFF_PERCPU, 0);
			need(a, ")");
			return;
		}
		if (take(a, "addr_space_cast(")) {
			address_space_cast(a, dst);
			return;
		}
		if (take(a, "&")) {
			ld_imm64(a, dst, BPF_PSEUDO_FUNC, (uint32_t)target(a));
			return;
		}
		if (fetch(a) || byte_order(a, dst))
			return;
	}
	move(a, dst, letter, wide);
}

/* "r1 = …" or "r1 op …" */
static void register_statement(struct assembler *a, int dst, char letter, bool wide)
{
	uint8_t cls = letter == 'w' ? BPF_ALU : BPF_ALU64;
	const char *before = (blanks(a), a->p);
	char have;
	bool sign;
	int code, src;

	sign = take(a, "s/=") || take(a, "s%=");
	if (sign)
		a->p -= 2;
	code = take_operator(a, cls, is_binary);
	if (code < 0) {
		a->p = before;
		need(a, "=");
		assign(a, dst, letter, wide);
	} else if (take_reg(a, &src, &have)) {
		if (have != letter)
			fail(a, "operands of different widths");
		emit(a, code | BPF_X, dst, src, sign, 0);
	} else {
		emit(a, code, dst, 0, sign, imm32(a));
	}
}

static void conditional(struct assembler *a)
{
	char letter = 'r', have;
	int dst = 0, src, code;
	int32_t imm;

	if (!take_reg(a, &dst, &letter))
		fail(a, "expected a register at '%s'", a->p);
	code = take_operator(a, letter == 'w' ? BPF_JMP32 : BPF_JMP, is_condition);
	if (code < 0) {
		fail(a, "expected a condition at '%s'", a->p);
	} else if (take_reg(a, &src, &have)) {
		if (have != letter)
			fail(a, "operands of different widths");
		need(a, "goto");
		emit(a, code | BPF_X, dst, src, target16(a), 0);
	} else {
		imm = imm32(a);
		need(a, "goto");
		emit(a, code, dst, 0, target16(a), imm);
	}
}

static void call(struct assembler *a)
{
	const char *before = (blanks(a), a->p);
	char name[LABEL_LEN];

	if (take(a, "kfunc#")) {
		emit(a, BPFU_OP_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, imm32(a));
		return;
	}
	if (take_name(a, name) && *a->p == '#') {
		a->p++;
		emit(a, BPFU_OP_CALL, 0, 0, 0, imm32(a));
		return;
	}
	a->p = before;
	emit(a, BPFU_OP_CALL, 0, BPF_PSEUDO_CALL, 0, target(a));
}

static void raw(struct assembler *a)
{
	uint8_t code = number(a, 0, 255);
	int dst = number(a, 0, 15), src = number(a, 0, 15);
	int16_t off = off16(a);

	emit(a, code, dst, src, off, imm32(a));
}

static void statement(struct assembler *a, bool wide)
{
	char letter;
	int dst;

	if (take(a, "exit"))
		emit(a, BPFU_OP_EXIT, 0, 0, 0, 0);
	else if (take(a, "gotol"))
		emit(a, BPFU_OP_JA32, 0, 0, 0, target(a));
	else if (take(a, "goto"))
		emit(a, BPFU_OP_JA, 0, 0, target16(a), 0);
	else if (take(a, "may_goto"))
		emit(a, BPFU_OP_MAY_GOTO, 0, 0, target16(a), 0);
	else if (take(a, "if"))
		conditional(a);
	else if (take(a, "call"))
		call(a);
	else if (take(a, "lock"))
		lock(a);
	else if (take(a, "store_release("))
		store_release(a);
	else if (take(a, ".insn"))
		raw(a);
	else if (take(a, "*("))
		store(a);
	else if (take_reg(a, &dst, &letter))
		register_statement(a, dst, letter, wide);
	else
		fail(a, "cannot read '%s'", a->p);
	blanks(a);
	if (*a->p)
		fail(a, "'%s' left over", a->p);
}

/* Labels, a pasted index and opcode, and the statement. */
static void one_line(struct assembler *a)
{
	const char *before;
	char name[LABEL_LEN];
	unsigned int code = 0;

	for (;;) {
		before = (blanks(a), a->p);
		while (isdigit((unsigned char)*a->p))
			a->p++;
		if (a->p > before && *a->p == ':') {
			a->p++;
			continue;
		}
		a->p = before;
		if (take_name(a, name) && *a->p == ':') {
			a->p++;
			define_label(a, name);
			continue;
		}
		a->p = before;
		break;
	}
	if (sscanf(a->p, "(%2x) ", &code) == 1 && a->p[3] == ')')
		a->p += 4;
	blanks(a);
	if (*a->p)
		statement(a, code == BPFU_OP_LD_IMM64);
}

static void pass(struct assembler *a, const char *text)
{
	char line[256];

	a->cnt = 0;
	a->line = 0;
	while (*text && !a->failed) {
		size_t len = strcspn(text, "\n"), used = len;
		const char *comment;

		a->line++;
		if (len >= sizeof(line)) {
			fail(a, "line is too long");
			return;
		}
		memcpy(line, text, len);
		line[len] = '\0';
		comment = line[0] == '#' ? line : strstr(line, "//");
		if (comment)
			line[comment - line] = '\0';
		a->p = line;
		one_line(a);
		text += used + (text[used] == '\n');
	}
}

int asm_parse(const char *text, struct bpf_insn *insns, uint32_t max, char *err, size_t err_size)
{
	struct assembler *a = calloc(1, sizeof(*a));
	int cnt;

	if (!a) {
		snprintf(err, err_size, "out of memory");
		return -1;
	}
	a->insns = insns;
	a->max = max;
	a->err = err;
	a->err_size = err_size;
	pass(a, text);
	a->resolve = true;
	if (!a->failed)
		pass(a, text);
	cnt = a->failed ? -1 : (int)a->cnt;
	free(a);
	return cnt;
}
