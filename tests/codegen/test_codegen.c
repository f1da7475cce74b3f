// SPDX-License-Identifier: BSD-2-Clause
/*
 * Expected machine code of short programs, as a disassembler prints it. Usage:
 *
 *   test_codegen FILE.t            compare
 *   test_codegen --print FILE.t    the file with what we produce now as expectation
 *
 * A file has cases of this form; lines that begin with # are comments:
 *
 *   -- case NAME
 *   -- target x86_64 [plain] [harden] [idioms]   plain: without the optional instructions (BMI2, LSE …);
 *                                  harden: constants blinded with 0x11111111, 0x22222222, …;
 *                                  idioms: the option loop_idioms
 *   -- stack BYTES [private]       of each function, default 0
 *   -- asm                         see tests/insn/asm.h
 *   ...
 *   -- expect
 *   ...
 *
 * The code is placed at address 0x10000; helper N lies at 0x20000 + 16 * N, the thread pointer's
 * fields at 0x100.
 */
#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../insn/asm.h"
#include "helper/helper.h"
#include "jit/backend.h"
#include "obj/prog.h"
#include "util/random.h"

#define BASE 0x10000
#define TEXT_MAX 16384

struct test_case {
	char name[200];
	char target[32];
	bool plain;
	bool harden;
	bool idioms;
	unsigned stack;
	bool private_stack;
	char source[TEXT_MAX];
	char expect[TEXT_MAX];
};

static bool print;
static int cases, failures;

static uint32_t random_next;

/* In place of the library's: 0x11111111, 0x22222222, … of which blinding takes the last first. */
void bpfu_random_fill(void *buf, size_t n)
{
	uint32_t *words = buf;

	random_next = 0;
	for (size_t i = n / sizeof(*words); i-- > 0;)
		words[i] = ++random_next % 7 * 0x11111111;
}

uint32_t bpfu_random_below(uint32_t n)
{
	return ++random_next % n;
}

const struct bpfu_helper *bpfu_helper_by_id(int32_t id)
{
	static struct bpfu_helper helper;

	helper.fn = (bpfu_helper_fn)(uintptr_t)(0x20000 + 16 * id);
	return &helper;
}

bpfu_helper_fn bpfu_call_target(int32_t id)
{
	return bpfu_helper_by_id(id)->fn;
}

/* Helper 1 has one argument, helper 2 two, and so on. */
unsigned bpfu_call_args(int32_t id)
{
	return id < 5 ? (unsigned)id : 5;
}

/* Functions start where a call or a callback points. */
static uint32_t find_subprogs(const struct test_case *c, const struct bpf_insn *insns, uint32_t cnt,
			      struct bpfu_subprog *subs)
{
	bool start[1024] = { true };
	uint32_t n = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		if (bpfu_insn_is_pseudo_call(&insns[i]) || bpfu_insn_is_pseudo_func(&insns[i]))
			start[i + 1 + (uint32_t)insns[i].imm] = true;
		if (bpfu_insn_is_ld_imm64(&insns[i]))
			i++;
	}
	for (uint32_t i = 0; i < cnt; i++)
		if (start[i]) {
			subs[n].start = i;
			subs[n].private_stack = c->private_stack;
			subs[n++].stack_depth = c->stack;
		}
	return n;
}

static void disassemble(const char *target, const struct bpfu_jit_code *code, char *out)
{
	bool x86 = !strcmp(target, "x86_64");
	cs_insn *insns;
	size_t n, len = 0;
	csh handle;

	if (cs_open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN,
		    &handle) != CS_ERR_OK) {
		fprintf(stderr, "capstone does not start\n");
		exit(1);
	}
	n = cs_disasm(handle, code->bytes, code->size, BASE, 0, &insns);
	out[0] = '\0';
	for (size_t i = 0; i < n && len < TEXT_MAX - 200; i++)
		len += (size_t)snprintf(out + len, TEXT_MAX - len, "%llx: %s%s%s\n",
				       (unsigned long long)insns[i].address - BASE, insns[i].mnemonic,
				       *insns[i].op_str ? " " : "", insns[i].op_str);
	if (n)
		cs_free(insns, n);
	cs_close(&handle);
}

static void run_case(const struct test_case *c)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(c->target);
	static struct bpfu_subprog subs[1024];
	static struct bpf_insn insns[1024];
	static char got[TEXT_MAX];
	struct bpfu_jit_target target = { .self_tpoff = 0x100 };
	struct bpfu_prog prog = { .insns = insns,
				  .subprogs = subs,
				  .options = { .harden = c->harden, .loop_idioms = c->idioms } };
	struct bpfu_jit_code code;
	char err[200];
	int cnt, rc;

	cases++;
	cnt = asm_parse(c->source, insns, 1024, err, sizeof(err));
	if (cnt < 0 || !backend) {
		printf("%s: %s\n", c->name, cnt < 0 ? err : "no such target");
		failures++;
		return;
	}
	memset(subs, 0, sizeof(subs));
	prog.insn_cnt = (uint32_t)cnt;
	prog.subprog_cnt = find_subprogs(c, insns, (uint32_t)cnt, subs);
	target.cpu = c->plain ? 0 : backend->cpu_all;
	rc = bpfu_jit_generate(&prog, backend, &target, BASE, &code);
	if (rc) {
		printf("%s: error %d\n", c->name, rc);
		failures++;
		return;
	}
	disassemble(c->target, &code, got);
	bpfu_jit_code_release(&code);
	if (print) {
		printf("-- case %s\n-- target %s%s%s%s\n", c->name, c->target, c->plain ? " plain" : "",
		       c->harden ? " harden" : "", c->idioms ? " idioms" : "");
		if (c->stack)
			printf("-- stack %u%s\n", c->stack, c->private_stack ? " private" : "");
		printf("-- asm\n%s-- expect\n%s\n", c->source, got);
	} else if (strcmp(got, c->expect)) {
		printf("%s: expected\n%sgot\n%s\n", c->name, c->expect, got);
		failures++;
	}
}

static bool keyword(const char *line, const char *word, const char **rest)
{
	size_t n = strlen(word);

	if (strncmp(line, "-- ", 3) || strncmp(line + 3, word, n))
		return false;
	*rest = line + 3 + n + strspn(line + 3 + n, " ");
	return true;
}

static int run_file(FILE *f)
{
	static struct test_case c;
	char line[300], *section = NULL;
	const char *rest;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (keyword(line, "case", &rest)) {
			if (c.name[0])
				run_case(&c);
			memset(&c, 0, sizeof(c));
			snprintf(c.name, sizeof(c.name), "%s", rest);
			section = NULL;
		} else if (keyword(line, "target", &rest)) {
			c.plain = strstr(rest, " plain");
			c.harden = strstr(rest, " harden");
			c.idioms = strstr(rest, " idioms");
			snprintf(c.target, sizeof(c.target), "%.*s", (int)strcspn(rest, " "), rest);
		} else if (keyword(line, "stack", &rest)) {
			c.stack = (unsigned)strtoul(rest, NULL, 0);
			c.private_stack = strstr(rest, " private");
		} else if (keyword(line, "asm", &rest)) {
			section = c.source;
		} else if (keyword(line, "expect", &rest)) {
			section = c.expect;
		} else if (line[0] == '#') {
			if (print)
				puts(line);
		} else if (line[0] && section) {
			size_t used = strlen(section);

			if (used + strlen(line) + 2 > TEXT_MAX)
				return 2;
			snprintf(section + used, TEXT_MAX - used, "%s\n", line);
		}
	}
	if (c.name[0])
		run_case(&c);
	return 0;
}

int main(int argc, char **argv)
{
	FILE *f;

	print = argc == 3 && !strcmp(argv[1], "--print");
	if (argc != 2 && !print)
		return 2;
	f = fopen(argv[argc - 1], "r");
	if (!f || run_file(f)) {
		perror(argv[argc - 1]);
		return 1;
	}
	fclose(f);
	if (!print)
		printf("%d cases, %d failed\n", cases, failures);
	return failures || !cases ? 1 : 0;
}
