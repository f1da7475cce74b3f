// SPDX-License-Identifier: BSD-2-Clause
#include "rewrite_env.h"

#include "interp/interp.h"

struct fixture f;

void start(const struct bpf_insn *insns, uint32_t cnt)
{
	memset(&f, 0, sizeof(f));
	f.prog.insns = malloc(cnt * sizeof(*insns));
	f.aux = calloc(cnt, sizeof(*f.aux));
	assert_non_null(f.prog.insns);
	assert_non_null(f.aux);
	memcpy(f.prog.insns, insns, cnt * sizeof(*insns));
	f.prog.insn_cnt = f.prog.orig_insn_cnt = cnt;
	f.prog.subprogs = f.subprogs;
	f.prog.subprog_cnt = 1;
	f.prog.func_info = f.func_info;
	f.prog.line_info = f.line_info;
	f.prog.used_maps = f.maps;
	f.prog.type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	f.prog.type_ops = bpfu_prog_type_of(f.prog.type);
	f.prog.options = (struct bpfu_options){ true, true, true, true };
	for (uint32_t i = 0; i < cnt; i++) {
		f.aux[i].seen = true;
		f.aux[i].branch_known = -1;
	}
}

void finish(void)
{
	free(f.prog.insns);
	free(f.aux);
}

void subprog(uint32_t at, uint32_t number)
{
	f.subprogs[number].start = at;
	f.subprogs[number].func_type_id = 100 + number;
	f.prog.subprog_cnt = number + 1;
	f.func_info[number] = (struct bpf_func_info){ .insn_off = at, .type_id = 100 + number };
	f.prog.func_info_cnt = number + 1;
}

void line(uint32_t at, uint32_t number)
{
	f.line_info[f.prog.line_info_cnt++] =
		(struct bpf_line_info){ .insn_off = at, .line_col = number };
}

void rewrite(void)
{
	assert_int_equal(bpfu_rewrite(&f.prog, f.aux), 0);
}

void expect(const struct bpf_insn *insns, uint32_t cnt)
{
	for (uint32_t i = 0; i < BPFU_MIN(cnt, f.prog.insn_cnt); i++) {
		char ours[128], theirs[128];

		bpfu_insn_print(ours, sizeof(ours), &f.prog.insns[i], bpfu_helper_name);
		bpfu_insn_print(theirs, sizeof(theirs), &insns[i], bpfu_helper_name);
		if (memcmp(&f.prog.insns[i], &insns[i], sizeof(*insns)))
			fail_msg("instruction %u is %s, not %s", i, ours, theirs);
		i += bpfu_insn_is_ld_imm64(&insns[i]);
	}
	assert_int_equal(f.prog.insn_cnt, cnt);
}

uint64_t run(void)
{
	uint64_t ret;

	assert_int_equal(bpfu_interp_prepare(&f.prog), 0);
	ret = bpfu_prog_run(&f.prog, NULL);
	bpfu_interp_release(&f.prog);
	return ret;
}
