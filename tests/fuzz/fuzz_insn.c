// SPDX-License-Identifier: BSD-2-Clause
/*
 * The instruction table: checking and printing are total, the printer obeys its buffer, and what
 * the check accepts has a known opcode.
 */
#include "fuzz.h"

#include <errno.h>

#include "helper/helper.h"
#include "insn/insn.h"

static void check_print(const struct bpf_insn *insn, size_t small)
{
	char full[512], cut[512];
	int len = bpfu_insn_print(full, sizeof(full), insn, bpfu_helper_name);
	int again;

	FUZZ_CHECK(len >= 0 && (size_t)len == strlen(full), "length %d, text '%s'", len, full);
	memset(cut, 'x', sizeof(cut));
	again = bpfu_insn_print(cut, small, insn, bpfu_helper_name);
	FUZZ_CHECK(again == len, "length %d with a small buffer, %d without", again, len);
	if (small) {
		size_t want = (size_t)len < small ? (size_t)len : small - 1;

		FUZZ_CHECK(strlen(cut) == want && !memcmp(cut, full, want),
			   "'%s' is no prefix of '%s'", cut, full);
	}
	FUZZ_CHECK(cut[small] == 'x', "wrote past %zu bytes", small);
	bpfu_insn_print(full, sizeof(full), insn, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cnt = size / sizeof(struct bpf_insn);
	struct bpf_insn *insns;
	char msg[128], none[1];

	if (!cnt || cnt > 4096)
		return 0;
	insns = malloc(cnt * sizeof(*insns)); /* exact, for the sanitizer */
	if (!insns)
		return 0;
	memcpy(insns, data, cnt * sizeof(*insns));
	for (uint32_t i = 0; i < cnt; i++) {
		int err;

		msg[0] = '\0';
		err = bpfu_insn_check(insns, (uint32_t)cnt, i, msg, sizeof(msg));
		FUZZ_CHECK(!err || err == -EINVAL, "check returned %d", err);
		FUZZ_CHECK(!err || msg[0], "refused without a reason");
		FUZZ_CHECK(err || bpfu_insn_opcode_valid(insns[i].code), "code 0x%02x",
			   insns[i].code);
		FUZZ_CHECK(bpfu_insn_check(insns, (uint32_t)cnt, i, none, sizeof(none)) == err,
			   "the buffer changes the verdict");
		/* The printer reads the second half of a wide instruction. */
		if (!bpfu_insn_is_ld_imm64(&insns[i]) || i + 1 < cnt)
			check_print(&insns[i], data[i % size] % 64);
	}
	free(insns);
	return 0;
}
