// SPDX-License-Identifier: BSD-2-Clause
/*
 * Results of helpers against the running kernel's: formats, numbers, strings, checksums. The kernel
 * runs a small program per row with its data in maps; ours are called as functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "helper/bodies.h"
#include "helper/net.h"
#include "kern_bpf.h"
#include "util/uaccess.h"

#define DATA_SIZE 256 /* of the data map: in, out, arguments */
#define IN 0
#define OUT 64
#define OUT_SIZE 80
#define RET (OUT + 88) /* what the helper returned */
#define ARGS 160
#define STR_SIZE 64

struct data {
	uint8_t bytes[DATA_SIZE];
};

static int data_fd;
static char log_buf[KERN_LOG_SIZE];

/* ---- programs ---- */

struct code {
	struct bpf_insn insns[64];
	uint32_t cnt;
};

static void emit(struct code *c, struct bpf_insn insn)
{
	assert_true(c->cnt < BPFU_ARRAY_SIZE(c->insns));
	c->insns[c->cnt++] = insn;
}

static void emit_imm64(struct code *c, int reg, uint64_t value)
{
	struct bpf_insn insn[2] = { BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, 0),
				    BPFU_INSN(0, 0, 0, 0, 0) };

	bpfu_insn_set_imm64(insn, value);
	emit(c, insn[0]);
	emit(c, insn[1]);
}

static void emit_value(struct code *c, int reg, int fd, uint32_t off)
{
	emit(c, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_VALUE, 0, fd));
	emit(c, BPFU_INSN(0, 0, 0, 0, (int32_t)off));
}

/* Call @id and keep r0 in the data. */
static void emit_call(struct code *c, int id)
{
	emit(c, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id));
	emit_value(c, 1, data_fd, RET);
	emit(c, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 1, 0, 0, 0));
	emit(c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0));
	emit(c, BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

/* Run on @data (in and out). 0, or -errno of the load. *@ret: what the helper returned. */
static int kern_run(const struct code *c, enum bpf_prog_type type, struct data *data, uint64_t *ret)
{
	const struct kern_prog prog = { type, 0, 0, NULL, c->insns, c->cnt };
	uint8_t packet[64] = { 0 };
	uint32_t key = 0;
	union bpf_attr attr;
	int fd = kern_prog_load(&prog, log_buf);

	if (fd < 0)
		return fd;
	assert_int_equal(kern_map_update(data_fd, &key, data), 0);
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	if (type != BPF_PROG_TYPE_RAW_TRACEPOINT) {
		attr.test.data_in = bpfu_u64(packet);
		attr.test.data_size_in = sizeof(packet);
	}
	assert_int_equal(kern_bpf(BPF_PROG_TEST_RUN, &attr), 0);
	assert_int_equal(kern_map_lookup(data_fd, &key, data), 0);
	memcpy(ret, data->bytes + RET, 8);
	memset(data->bytes + RET, 0, 8);
	close(fd);
	return 0;
}

/* ---- snprintf ---- */

static const char *const formats[] = {
	"", "plain", "%d", "%d %d", "%i|%u|%x", "%X", "%ld", "%lld", "%lu %llu", "%lx %llX",
	"%5d|", "%-5d|", "%05d|", "%+d|", "% d|", "%+05d|", "%-+5d|", "%0-5d|", "%20x|", "%020x|",
	"%c", "%c%c", "%5c|", "%-3c|", "%cx", "%c,", "%%", "%d%%", "100%% of %u", "%", "%d%", "%5",
	"%l", "%ll", "%lll", "%llld", "%h", "%hd", "%z", "%f", "%e", "%g", "%n", "%a", "%o", "%lo",
	"%.3d", "%*d", "%#x", "%'d", "%1$d", "% ", "%-", "%0", "%+", "%d\n", "%d\t%u\n", "a\001b",
	"\xc3\xa4 %d", "tail\xff", "%p%", "%px", "%pxx", "%pK", "%pKd", "%pz", "%pi", "%pi5", "%pI",
	"%ps", "%pS", "%pB", "%pk", "%pu", "%pkx", "%q", "%s!", "%sx", "%s,%s", "%10s|", "%-10s|",
	"%pks", "%pus", "%pksx", "%3s|", "%pi4", "%pI4", "%pi6", "%pI6", "%pi4x", "%pI6c", "%20pI4|",
	"%d %d %d %d %d %d %d %d %d %d %d %d", "%d %d %d %d %d %d %d %d %d %d %d %d %d",
	"%099d", "%9999d", "%99999d", "%4294967296d", "%lc", "%ls", "%lp", "%5%", "%x%s", "%d%c%d",
	"%10pks|", "%-30pks|", "%-5pi4|", "%40pi6|", "%pi4abc|", "%pi4abc%d", "%pi4\xe9|", "%pI4\xb5|",
	"%d%pi4 %d", "%s %s", "%zu", "%jd", "%td", "%Lu", "%i", "%li", "%lli", "%hhx",
};

/* The text depends on the address; or on whose memory it is, of which we have but one kind. */
static bool depends_on_address(const char *fmt)
{
	const char *p = strstr(fmt, "%p");

	if (!p)
		return false;
	p += 2;
	return !strchr("iIk", *p) || !*p;
}

static uint32_t count_args(const char *fmt)
{
	uint32_t n = 0;

	for (; *fmt; fmt++)
		if (*fmt == '%' && fmt[1] == '%')
			fmt++;
		else
			n += *fmt == '%';
	return n;
}

/* Arguments that are addresses are of the input bytes: "input text". */
static bool is_address(const char *fmt, uint32_t arg)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%')
			continue;
		if (fmt[1] == '%') {
			fmt++;
			continue;
		}
		if (arg--)
			continue;
		fmt += 1 + strspn(fmt + 1, "0123456789+- l");
		return *fmt == 's' || *fmt == 'p';
	}
	return false;
}

static void check_format(const char *fmt, const uint64_t *values, uint32_t size)
{
	uint32_t cnt = BPFU_MIN(count_args(fmt), 12u);
	struct data mine, his;
	uint64_t args[12], our_ret, their_ret = 0;
	struct code c = { .cnt = 0 };
	int fmt_fd = kern_const_str(fmt), err;

	memset(&his, 0, sizeof(his));
	memcpy(his.bytes + IN, "input text", 11);
	mine = his;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t off = ARGS + i * 8;

		args[i] = is_address(fmt, i) ? bpfu_u64(mine.bytes) : values[i];
		emit_value(&c, 1, data_fd, off);
		if (is_address(fmt, i))
			emit_value(&c, 2, data_fd, IN);
		else
			emit_imm64(&c, 2, values[i]);
		emit(&c, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 1, 2, 0, 0));
		if (i == 3) /* the rest is 0 */
			break;
	}
	for (uint32_t i = 4; i < cnt; i++)
		args[i] = 0;
	emit_value(&c, 1, data_fd, OUT);
	emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, (int32_t)size));
	emit_value(&c, 3, fmt_fd, 0);
	emit_value(&c, 4, data_fd, ARGS);
	emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, (int32_t)cnt * 8));
	emit_call(&c, BPF_FUNC_snprintf);
	err = kern_run(&c, BPF_PROG_TYPE_RAW_TRACEPOINT, &his, &their_ret);
	close(fmt_fd);
	if (err < 0 && !strstr(log_buf, "Invalid format string"))
		fail_msg("'%s': %s", fmt, log_buf);
	if (bpfu_format_check(fmt, strlen(fmt) + 1, cnt) != err)
		fail_msg("format '%s' (…%02x): the kernel says %d", fmt,
			 fmt[strlen(fmt) - 1] & 0xff, err);
	if (err)
		return;
	our_ret = bpfu_helper_snprintf(bpfu_u64(mine.bytes + OUT), size, bpfu_u64(fmt),
				       bpfu_u64(args), cnt * 8);
	/* The kernel loses count of what a %pi4 without room would have printed. */
	if (depends_on_address(fmt) || (strstr(fmt, "%p") && size < OUT_SIZE))
		return;
	if (our_ret != their_ret || memcmp(mine.bytes + OUT, his.bytes + OUT, OUT_SIZE))
		fail_msg("'%s' into %u: ours %d '%.80s', kernel %d '%.80s'", fmt, size, (int)our_ret,
			 mine.bytes + OUT, (int)their_ret, his.bytes + OUT);
}

static void test_snprintf(void **state)
{
	static const uint64_t values[][4] = {
		{ 0, 0, 0, 0 },
		{ 42, 7, 255, 1 },
		{ (uint64_t)-1, (uint64_t)-42, 1ull << 40, 1ull << 63 },
		{ 'A', 'z', 0x1ff, 0x80000000 },
	};
	static const uint32_t sizes[] = { OUT_SIZE, 1, 5, 16 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(formats); i++)
		for (size_t v = 0; v < BPFU_ARRAY_SIZE(values); v++)
			for (size_t s = 0; s < BPFU_ARRAY_SIZE(sizes); s++)
				check_format(formats[i], values[v], sizes[s]);
}

/* Every two characters after a percent sign. */
static void test_format_verdicts(void **state)
{
	static const uint64_t values[4];

	for (int a = 0x20; a < 0x7f; a++) {
		const char fmt[] = { '%', (char)a, 0 };

		check_format(fmt, values, OUT_SIZE);
	}
	for (int b = 1; b < 256; b++) {
		const char after_p[] = { '%', 'p', (char)b, 0 }, after_s[] = { '%', 's', (char)b, 0 };

		check_format(after_p, values, OUT_SIZE);
		check_format(after_s, values, OUT_SIZE);
	}
}

/* ---- probe_read_str ---- */

/* What a helper writes, and what it leaves alone, of OUT_SIZE bytes. */
static void check_read_str(int id, const char *text, uint32_t size)
{
	uint64_t (*const ours)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) =
		id == BPF_FUNC_probe_read_kernel_str ? bpfu_helper_probe_read_kernel_str :
		id == BPF_FUNC_probe_read_user_str   ? bpfu_helper_probe_read_user_str :
						       bpfu_helper_probe_read_str;
	static char user[STR_SIZE];
	struct data mine, his;
	uint64_t our_ret, their_ret;
	struct code c = { .cnt = 0 };

	memset(user, 'Z', sizeof(user));
	memcpy(user, text, strlen(text) + 1);
	memset(&his, 0, sizeof(his));
	memcpy(his.bytes + IN, user, STR_SIZE);
	memset(his.bytes + OUT, 0xee, OUT_SIZE);
	mine = his;
	emit_value(&c, 1, data_fd, OUT);
	emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, (int32_t)size));
	if (id == BPF_FUNC_probe_read_kernel_str)
		emit_value(&c, 3, data_fd, IN);
	else
		emit_imm64(&c, 3, bpfu_u64(user));
	emit_call(&c, id);
	assert_int_equal(kern_run(&c, BPF_PROG_TYPE_RAW_TRACEPOINT, &his, &their_ret), 0);
	our_ret = ours(bpfu_u64(mine.bytes + OUT), size, bpfu_u64(user), 0, 0);
	if (our_ret != their_ret || memcmp(mine.bytes + OUT, his.bytes + OUT, OUT_SIZE))
		fail_msg("%d: '%s' into %u: ours %d, kernel %d, or bytes differ", id, text, size,
			 (int)our_ret, (int)their_ret);
}

static void test_read_str(void **state)
{
	static const int ids[] = { BPF_FUNC_probe_read_str, BPF_FUNC_probe_read_user_str,
				   BPF_FUNC_probe_read_kernel_str };
	static const char *const texts[] = { "", "a", "seven..", "eight...", "nine.....",
					     "a string of thirty characters." };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(ids); i++)
		for (size_t t = 0; t < BPFU_ARRAY_SIZE(texts); t++)
			for (uint32_t size = 0; size <= 40; size++)
				check_read_str(ids[i], texts[t], size);
}

/* ---- strtol, strtoul, strncmp ---- */

static const char *const numbers[] = {
	"", "0", "1", "-1", "+1", "42", " 42", "\t\n42", "42 ", "42x", "x42", "-", "--1", "- 1", " ",
	"0x", "0x1f", "0X1F", "0xg", "0x1g", "-0x10", "010", "08", "0", "00", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "99999999999999999999999999", "ff", "FF",
	"-ff", "0777", "1_0", "\2405", "12345678901234567890123456789012345678901234567890123456",
	"0000000000000000000000000000000000000000000000000000000001",
};

static void check_number(int id, const char *text, uint32_t len, uint64_t flags)
{
	struct data mine, his;
	uint64_t our_ret, their_ret;
	struct code c = { .cnt = 0 };

	memset(&his, 0, sizeof(his));
	strncpy((char *)his.bytes + IN, text, STR_SIZE - 1);
	memset(his.bytes + OUT, 0xee, 8);
	mine = his;
	emit_value(&c, 1, data_fd, IN);
	emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, (int32_t)len));
	emit_imm64(&c, 3, flags);
	emit_value(&c, 4, data_fd, OUT);
	emit_call(&c, id);
	if (kern_run(&c, BPF_PROG_TYPE_RAW_TRACEPOINT, &his, &their_ret))
		fail_msg("%s", log_buf);
	our_ret = (id == BPF_FUNC_strtol ? bpfu_helper_strtol : bpfu_helper_strtoul)(
		bpfu_u64(mine.bytes), len, flags, bpfu_u64(mine.bytes + OUT), 0);
	if (our_ret != their_ret || memcmp(mine.bytes + OUT, his.bytes + OUT, 8))
		fail_msg("'%s' (%u bytes, flags 0x%llx): ours %lld, kernel %lld", text, len,
			 (unsigned long long)flags, (long long)our_ret, (long long)their_ret);
}

static void test_numbers(void **state)
{
	static const uint64_t flags[] = { 0, 8, 10, 16, 2, 32, 1ull << 40 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(numbers); i++) {
		for (size_t f = 0; f < BPFU_ARRAY_SIZE(flags); f++) {
			uint32_t len = (uint32_t)strlen(numbers[i]);

			check_number(BPF_FUNC_strtol, numbers[i], len + 1, flags[f]);
			check_number(BPF_FUNC_strtoul, numbers[i], len + 1, flags[f]);
			if (len < 2)
				continue;
			check_number(BPF_FUNC_strtol, numbers[i], len - 1, flags[f]);
			check_number(BPF_FUNC_strtoul, numbers[i], len - 1, flags[f]);
		}
	}
}

static void test_strncmp(void **state)
{
	static const char *const texts[] = { "", "a", "b", "abc", "abd", "abcd", "\xff", "A" };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(texts); i++) {
		for (size_t k = 0; k < BPFU_ARRAY_SIZE(texts); k++) {
			for (uint32_t len = 1; len < 6; len++) {
				struct data his;
				uint64_t our_ret, their_ret;
				struct code c = { .cnt = 0 };
				int str_fd = kern_const_str(texts[k]);

				memset(&his, 0, sizeof(his));
				memcpy(his.bytes, texts[i], strlen(texts[i]));
				emit_value(&c, 1, data_fd, IN);
				emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, (int)len));
				emit_value(&c, 3, str_fd, 0);
				emit_call(&c, BPF_FUNC_strncmp);
				our_ret = bpfu_helper_strncmp(bpfu_u64(his.bytes), len,
							      bpfu_u64(texts[k]), 0, 0);
				assert_int_equal(kern_run(&c, BPF_PROG_TYPE_RAW_TRACEPOINT, &his,
							  &their_ret), 0);
				assert_int_equal(our_ret, their_ret);
				close(str_fd);
			}
		}
	}
}

/* ---- csum_diff ---- */

static void test_csum_diff(void **state)
{
	static const uint64_t seeds[] = { 0, 1, 0xffff, 0x10000, 0xffffffff, 0x12345678 };

	for (uint32_t from = 0; from <= 24; from += 3) {
		for (uint32_t to = 0; to <= 24; to += 3) {
			for (size_t s = 0; s < BPFU_ARRAY_SIZE(seeds); s++) {
				struct data his;
				uint64_t our_ret, their_ret;
				struct code c = { .cnt = 0 };

				for (int i = 0; i < DATA_SIZE; i++)
					his.bytes[i] = (uint8_t)(i * 37 + s);
				our_ret = bpfu_helper_csum_diff(bpfu_u64(his.bytes), from,
								bpfu_u64(his.bytes + 32), to, seeds[s]);
				emit_value(&c, 1, data_fd, 0);
				emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, (int)from));
				emit_value(&c, 3, data_fd, 32);
				emit(&c, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, (int)to));
				emit_imm64(&c, 5, seeds[s]);
				emit_call(&c, BPF_FUNC_csum_diff);
				assert_int_equal(kern_run(&c, BPF_PROG_TYPE_XDP, &his, &their_ret), 0);
				if (our_ret != their_ret)
					fail_msg("csum_diff of %u and %u bytes, seed 0x%llx: ours 0x%llx, "
						 "kernel 0x%llx", from, to, (unsigned long long)seeds[s],
						 (unsigned long long)our_ret,
						 (unsigned long long)their_ret);
			}
		}
	}
}

static int setup(void **state)
{
	bpfu_uaccess_init();
	data_fd = kern_array_new(DATA_SIZE, 0);
	return data_fd < 0;
}

static int teardown(void **state)
{
	close(data_fd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snprintf),  cmocka_unit_test(test_format_verdicts),
		cmocka_unit_test(test_numbers),	  cmocka_unit_test(test_strncmp),
		cmocka_unit_test(test_csum_diff), cmocka_unit_test(test_read_str),
	};

	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, setup, teardown);
}
