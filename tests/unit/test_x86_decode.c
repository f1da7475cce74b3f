// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lengths and kinds of x86-64 instructions, against capstone: all text of this program and of the
 * libraries it has loaded, and random bytes behind every kind of opcode. Where capstone knows no
 * instruction nothing is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */
#include <capstone/capstone.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/x86_64/decode.h"

static csh cs;
static cs_insn *cs_one;

/* What capstone 4 reads otherwise than the manuals, or processors do not agree on. */
static bool is_disputed(const uint8_t *code)
{
	size_t at = 0;
	bool sized = false, other = false;

	for (; at < 13; at++) {
		if (!strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", code[at]) &&
		    code[at] >> 4 != 4)
			break;
		sized |= code[at] == 0x66 || code[at] == 0x67;
		other |= code[at] >= 0xf0;
	}
	/* ud0 and ud1 have a ModRM; branches and pushes with a size prefix are two things. */
	if (code[at] == 0x0f)
		return code[at + 1] == 0xff || code[at + 1] == 0xb9 ||
		       (sized && code[at + 1] >> 4 == 8);
	/* A prefix in front of VEX is an error. */
	if (code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62 || code[at] == 0x8f)
		return sized || other;
	return sized && memchr("\xe8\xe9\xc2\x68", code[at], 4);
}

static const char *text_of(const uint8_t *code)
{
	static char text[256];
	int n = snprintf(text, sizeof(text), "%s %s:", cs_one->mnemonic, cs_one->op_str);

	for (int i = 0; i < 15; i++)
		n += snprintf(text + n, sizeof(text) - n, " %02x", code[i]);
	return text;
}

/* True if capstone knows an instruction; it is in cs_one then. */
static bool ask(const uint8_t *code, size_t size)
{
	uint64_t addr = 0;

	return cs_disasm_iter(cs, &code, &size, &addr, cs_one);
}

static int compare(const uint8_t *code, size_t size)
{
	struct bpfu_x86_insn insn;
	int err = bpfu_x86_decode(code, size, &insn);
	bool relative = insn.kind >= BPFU_X86_JMP && insn.kind <= BPFU_X86_CALL;

	if (!ask(code, size) || is_disputed(code))
		return 0;
	if (err || insn.len != cs_one->size) {
		fprintf(stderr, "%d, length %d, not %d: %s\n", err, insn.len, cs_one->size,
			text_of(code));
		return 1;
	}
	if (insn.kind == BPFU_X86_REFUSED) /* xbegin is a relative branch, too */
		return 0;
	if (relative != cs_insn_group(cs, cs_one, CS_GRP_BRANCH_RELATIVE)) {
		fprintf(stderr, "kind %d: %s\n", insn.kind, text_of(code));
		return 1;
	}
	if (relative && insn.len + insn.target_off != cs_one->detail->x86.operands[0].imm) {
		fprintf(stderr, "distance %ld: %s\n", (long)insn.target_off, text_of(code));
		return 1;
	}
	return 0;
}

/* ---- text ---- */

static int failed;
static uint64_t compared;

/* Straight through; where capstone is lost (data in text) go on a byte further. */
static int compare_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *code = (uint8_t *)info->dlpi_addr + ph->p_vaddr;
		const uint8_t *end = code + ph->p_memsz;

		if (ph->p_type != PT_LOAD || (ph->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
			continue;
		for (; end - code > 15 && failed < 20; compared++) {
			failed += compare(code, 15);
			code += ask(code, 15) ? cs_one->size : 1;
		}
	}
	return 0;
}

static void test_loaded_text(void **state)
{
	dl_iterate_phdr(compare_text, NULL);
	printf("%llu instructions\n", (unsigned long long)compared);
	assert_int_equal(failed, 0);
	assert_true(compared > 100000);
}

/* ---- random bytes ---- */

static void put_prefixes(uint8_t *code, unsigned int how)
{
	static const char *const starts[] = {
		"", "\x66", "\xf2", "\xf3", "\x48", "\x66\x48", "\x0f", "\x66\x0f", "\xf2\x0f",
		"\xf3\x0f", "\x48\x0f", "\x66\x0f\x38", "\x0f\x3a", "\xc4", "\xc5", "\x62", "\x67",
		"\xf0", "\x64\x48", "\x41",
	};
	const char *start = starts[how % (sizeof(starts) / sizeof(starts[0]))];

	memcpy(code, start, strlen(start));
}

static void test_random_bytes(void **state)
{
	unsigned int seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 0) : 20240607;
	uint8_t code[16];

	printf("SEED=%u\n", seed);
	failed = 0;
	for (unsigned int n = 0; n < 400000 && failed < 20; n++) {
		for (int i = 0; i < 16; i++)
			code[i] = (uint8_t)(rand_r(&seed) >> 9);
		put_prefixes(code, n);
		failed += compare(code, 15);
	}
	assert_int_equal(failed, 0);
}

/* ---- what is not there ---- */

static void test_short_and_bad(void **state)
{
	static const uint8_t none[] = { 0x06 }, cut[] = { 0xe9, 1, 2, 3 }, apx[] = { 0xd5, 0, 0x90 };
	uint8_t prefixes[20];
	struct bpfu_x86_insn insn;

	assert_int_equal(bpfu_x86_decode(none, 1, &insn), -EINVAL);
	assert_int_equal(bpfu_x86_decode(none, 0, &insn), -EINVAL);
	assert_int_equal(bpfu_x86_decode(cut, 4, &insn), -EINVAL);
	assert_int_equal(bpfu_x86_decode(apx, 3, &insn), -EINVAL);
	memset(prefixes, 0x66, sizeof(prefixes));
	prefixes[14] = 0x90;
	assert_int_equal(bpfu_x86_decode(prefixes, 20, &insn), 0);
	assert_int_equal(insn.len, 15);
	prefixes[14] = 0x66;
	prefixes[15] = 0x90;
	assert_int_equal(bpfu_x86_decode(prefixes, 20, &insn), -EINVAL);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *code;
		uint8_t size;
		enum bpfu_x86_kind kind;
	} rows[] = {
		{ "\x90", 1, BPFU_X86_NOP },
		{ "\x66\x90", 2, BPFU_X86_NOP },
		{ "\x0f\x1f\x44\x00\x00", 5, BPFU_X86_NOP },
		{ "\xf3\x90", 2, BPFU_X86_PLAIN },      /* pause */
		{ "\x41\x90", 2, BPFU_X86_PLAIN },      /* xchg r8d, eax */
		{ "\xf3\xc3", 2, BPFU_X86_RET },
		{ "\xc2\x08\x00", 3, BPFU_X86_RET },
		{ "\xff\xd0", 2, BPFU_X86_CALL_RM },
		{ "\xff\x25\x01\x02\x03\x04", 6, BPFU_X86_JMP_RM },
		{ "\xcc", 1, BPFU_X86_REFUSED },
		{ "\x0f\x0b", 2, BPFU_X86_REFUSED },    /* ud2 */
		{ "\xc7\xf8\x01\x02\x03\x04", 6, BPFU_X86_REFUSED }, /* xbegin */
		{ "\x8e\xd0", 2, BPFU_X86_REFUSED },    /* mov ss, eax */
		{ "\xe3\x05", 2, BPFU_X86_LOOP },
		{ "\x0f\x05", 2, BPFU_X86_PLAIN },      /* syscall */
	};
	struct bpfu_x86_insn insn;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(bpfu_x86_decode((const uint8_t *)rows[i].code, rows[i].size, &insn), 0);
		assert_int_equal(insn.len, rows[i].size);
		assert_int_equal(insn.kind, rows[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_text),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_short_and_bad),
		cmocka_unit_test(test_kinds),
	};

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) || cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON))
		return 77;
	cs_one = cs_malloc(cs);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
