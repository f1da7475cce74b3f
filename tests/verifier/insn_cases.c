// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that no compiler makes: malformed instructions, references to maps that are none, control
 * flow that leaves the program, BTF records that do not fit the code. One row per program; verdict,
 * errno and text must be the same on both sides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "insns.h"
#include "raw_btf.h"
#include "side.h"

#ifndef BPF_F_RDONLY_PROG
#define BPF_F_RDONLY_PROG (1U << 7)
#endif

#define MAX_INSNS 24
#define MAX_RECORDS 4

/* What stands for a descriptor in the imm of LD_IMM64; each side fills in its own. */
enum { FD_ARRAY = 1000, FD_HASH, FD_BTF, FD_CLOSED, FD_END };

struct row {
	const char *name;
	int err;                 /* positive errno, 0: accepted */
	const char *msg;
	uint32_t prog_type;      /* 0: raw_tracepoint */
	bool fd_array;           /* pass { array, hash } */
	bool btf;
	bool kernel_differs;     /* docs/differences.md says how */
	int kernel_err;
	uint32_t flags;
	struct bpf_insn insn[MAX_INSNS];
	struct bpf_func_info func[MAX_RECORDS];
	struct bpf_line_info line[MAX_RECORDS];
	uint32_t funcs, lines;
};

#define RET0 MOV_K(0, 0), EXIT()
#define CALL_NEXT_BUT_ONE CALL_SUB(1), EXIT(), RET0 /* main at 0, sub at 2 */
#define ATOMIC(size, imm) INSN(BPF_STX | BPF_ATOMIC | (size), 10, 0, -8, imm)

static const struct row rows[] = {
	/* ---- control flow ---- */
	{ "flow_return", 0, NULL, .insn = { RET0 } },
	{ "flow_no_exit", EINVAL, "last insn is not an exit or jmp", .insn = { MOV_K(0, 0) } },
	{ "flow_jump_past_end", EINVAL, "jump out of range from insn 0 to 5", .insn = { JA(4), RET0 } },
	{ "flow_jump_before_start", EINVAL, "jump out of range from insn 0 to -4", .insn = { JA(-5), RET0 } },
	{ "flow_branch_past_end", EINVAL, "jump out of range from insn 1 to 32769",
	  .insn = { MOV_K(0, 0), JMP_K(BPF_JEQ, 0, 0, 32767), EXIT() } },
	{ "flow_gotol_past_end", EINVAL, "jump out of range from insn 0 to",
	  .insn = { INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 0x7fffffff), RET0 } },
	{ "flow_gotol", 0, NULL, .insn = { INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 0), RET0 } },
	{ "flow_unreachable", EINVAL, "unreachable insn 2", .insn = { RET0, MOV_K(0, 1), EXIT() } },
	{ "flow_into_ld_imm64", EINVAL, "jump into the middle of ldimm64 insn 2",
	  .insn = { MOV_K(0, 0), JMP_K(BPF_JEQ, 0, 0, 1), LD64(1, 0, 1, 0), EXIT() } },
	{ "flow_last_insn_conditional", EINVAL, "last insn is not an exit or jmp",
	  .insn = { MOV_K(0, 0), JMP_K(BPF_JEQ, 0, 0, -2) } },
	{ "flow_self_jump", EINVAL, "unreachable insn 1", .insn = { JA(-1), EXIT() } },
	{ "flow_loop_to_start", EINVAL, "infinite loop detected",
	  .insn = { MOV_K(0, 0), JMP_K(BPF_JEQ, 0, 0, -2), EXIT() } },
	{ "flow_counted_to_start", 0, NULL,
	  .insn = { JMP_K(BPF_JNE, 1, 0, 0), MOV_K(0, 2), ALU64_K(BPF_SUB, 0, 1), JMP_K(BPF_JNE, 0, 0, -2), EXIT() } },
	{ "flow_r0_unset", EACCES, "R0 !read_ok", .insn = { EXIT() } },
	{ "flow_dead_code_unchecked", 0, NULL,
	  .insn = { MOV_K(0, 0), JMP_K(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 7, 0), EXIT() } },
	/* ---- functions ---- */
	{ "call_static", 0, NULL, .insn = { CALL_NEXT_BUT_ONE } },
	{ "call_past_end", EINVAL, "call to invalid destination", .insn = { CALL_SUB(9), RET0 } },
	{ "call_before_start", EINVAL, "call to invalid destination", .insn = { CALL_SUB(-9), RET0 } },
	{ "call_int_max", EINVAL, "call to invalid destination", .insn = { CALL_SUB(INT32_MAX), RET0 } },
	{ "call_int_min", EINVAL, "call to invalid destination", .insn = { CALL_SUB(INT32_MIN), RET0 } },
	{ "call_self", E2BIG, "the call stack of 9 frames is too deep", .insn = { CALL_SUB(-1), EXIT() } },
	{ "call_falls_into_next", EINVAL, "last insn is not an exit or jmp",
	  .insn = { CALL_SUB(1), MOV_K(0, 0), RET0 } },
	{ "call_jump_between_functions", EINVAL, "jump out of range from insn 0 to 3",
	  .insn = { JA(2), CALL_SUB(0), EXIT(), RET0 } },
	{ "call_kfunc", EINVAL, NULL, .insn = { INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1), RET0 },
	  .kernel_differs = true, .kernel_err = EINVAL },
	{ "call_reserved", EINVAL, NULL, .insn = { INSN(BPF_JMP | BPF_CALL, 0, 5, 0, 1), RET0 } },
	{ "callback_without_btf", EINVAL, "missing btf func_info",
	  .insn = { LD64(2, BPF_PSEUDO_FUNC, 3, 0), RET0, RET0 } },
	{ "tail_call_in_function_without_btf", EINVAL, "tail_call is not allowed in subprogs without BTF",
	  .insn = { CALL_SUB(1), EXIT(), LD64(2, 0, 0, 0), CALL(12), RET0 } },
	/* ---- maps ---- */
	{ "map_fd", 0, NULL, .insn = { LD64(1, BPF_PSEUDO_MAP_FD, FD_ARRAY, 0), RET0 } },
	{ "map_fd_closed", EBADF, "is not pointing to valid bpf_map",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_FD, FD_CLOSED, 0), RET0 } },
	{ "map_fd_negative", EBADF, "fd -1 is not pointing to valid bpf_map",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_FD, -1, 0), RET0 } },
	{ "map_fd_is_btf", EINVAL, "is not pointing to valid bpf_map",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_FD, FD_BTF, 0), RET0 } },
	{ "map_fd_high_half", EINVAL, "unrecognized bpf_ld_imm64 insn",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_FD, FD_ARRAY, 1), RET0 } },
	{ "map_value", 0, NULL, .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 8), LDX(BPF_DW, 0, 1, 0), EXIT() } },
	{ "map_value_last_byte", 0, NULL,
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 15), LDX(BPF_B, 0, 1, 0), EXIT() } },
	{ "map_value_end", EINVAL, "invalid access to map value pointer, value_size=16 off=16",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 16), RET0 } },
	{ "map_value_negative", EINVAL, "direct value offset of 4294967288 is not allowed",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, -8), RET0 } },
	{ "map_value_huge", EINVAL, "direct value offset of 536870912 is not allowed",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 1 << 29), RET0 } },
	{ "map_value_past_through_offset", EACCES, "invalid access to map value, value_size=16 off=16 size=8",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 8), LDX(BPF_DW, 0, 1, 8), EXIT() } },
	{ "map_value_before", EACCES, "R1 min value is outside of the allowed memory range",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 8), LDX(BPF_DW, 0, 1, -16), EXIT() } },
	{ "map_value_of_hash", EINVAL, "no direct value access support for this map type",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_HASH, 0), RET0 } },
	{ "map_idx", 0, NULL, .fd_array = true, .insn = { LD64(1, BPF_PSEUDO_MAP_IDX, 1, 0), RET0 } },
	{ "map_idx_value", 0, NULL, .fd_array = true,
	  .insn = { LD64(1, BPF_PSEUDO_MAP_IDX_VALUE, 0, 4), LDX(BPF_W, 0, 1, 0), EXIT() } },
	{ "map_idx_without_array", EPROTO, "fd_idx without fd_array is invalid",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_IDX, 0, 0), RET0 } },
	{ "ld_imm64_unknown_source", EINVAL, "unrecognized bpf_ld_imm64 insn",
	  .insn = { LD64(1, 9, 0, 0), RET0 } },
	{ "ld_imm64_cut_off", EINVAL, NULL, .insn = { RET0, INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1) } },
	{ "ld_imm64_second_half_dirty", EINVAL, "invalid bpf_ld_imm64 insn",
	  .insn = { INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1), INSN(0, 1, 0, 0, 0), RET0 } },
	{ "ld_imm64_second_half_is_code", EINVAL, "invalid bpf_ld_imm64 insn",
	  .insn = { INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1), RET0 } },
	/* ---- instructions ---- */
	{ "insn_unknown_opcode", EINVAL, "unknown opcode", .insn = { INSN(0xff, 0, 0, 0, 0), RET0 } },
	{ "insn_register_11", EINVAL, "R11 is invalid", .insn = { MOV_K(11, 0), RET0 } },
	{ "insn_register_15", EINVAL, "R15 is invalid", .insn = { MOV_X(0, 15), RET0 } },
	{ "insn_div_by_zero", EINVAL, "div by zero", .insn = { MOV_K(0, 1), ALU64_K(BPF_DIV, 0, 0), EXIT() } },
	{ "insn_shift_64", EINVAL, "invalid shift 64", .insn = { MOV_K(0, 1), ALU64_K(BPF_LSH, 0, 64), EXIT() } },
	{ "insn_shift_32", EINVAL, "invalid shift 32", .insn = { MOV_K(0, 1), ALU32_K(BPF_LSH, 0, 32), EXIT() } },
	{ "insn_mov_reserved", EINVAL, "BPF_MOV uses reserved fields",
	  .insn = { INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 3, 0), EXIT() } },
	{ "insn_exit_reserved", EINVAL, "BPF_EXIT uses reserved fields",
	  .insn = { MOV_K(0, 0), INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 1) } },
	{ "insn_atomic_unknown", EINVAL, "BPF_ATOMIC uses invalid atomic opcode",
	  .insn = { ST(BPF_DW, 10, -8, 0), MOV_K(0, 0), ATOMIC(BPF_DW, 0x02), EXIT() } },
	{ "insn_xchg_without_fetch", EINVAL, "BPF_ATOMIC uses invalid atomic opcode",
	  .insn = { ST(BPF_DW, 10, -8, 0), MOV_K(0, 0), ATOMIC(BPF_DW, 0xe0), EXIT() } },
	{ "insn_atomic_16", EINVAL, NULL,
	  .insn = { ST(BPF_DW, 10, -8, 0), MOV_K(0, 0), ATOMIC(BPF_H, BPF_ADD), EXIT() } },
	{ "insn_ld_abs_wrong_type", EINVAL, NULL, .insn = { MOV_X(6, 1), INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT() } },
	{ "insn_ld_abs", EINVAL, "BPF_LD_[ABS|IND] instructions are not supported", BPF_PROG_TYPE_SOCKET_FILTER,
	  .kernel_differs = true, .kernel_err = 0,
	  .insn = { MOV_X(6, 1), INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT() } },
	{ "insn_may_goto", EINVAL, "may_goto is not supported", .kernel_differs = true, .kernel_err = 0,
	  .insn = { MOV_K(0, 0), INSN(BPF_JMP | 0xe0, 0, 0, 1, 0), JA(-2), EXIT() } },
	{ "syscall_not_sleepable", EINVAL, "Syscall programs can only be sleepable", BPF_PROG_TYPE_SYSCALL,
	  .insn = { RET0 } },
	{ "raw_tp_sleepable", EINVAL, NULL, .flags = BPF_F_SLEEPABLE, .insn = { RET0 } },
	{ "strict_alignment", EACCES, "misaligned value access off", .flags = BPF_F_STRICT_ALIGNMENT,
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 2), LDX(BPF_W, 0, 1, 0), EXIT() } },
	{ "lax_alignment", 0, NULL,
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 2), LDX(BPF_W, 0, 1, 0), EXIT() } },
	{ "atomic_misaligned", EACCES, "misaligned value access off",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 2), MOV_K(0, 0),
		    INSN(BPF_STX | BPF_ATOMIC | BPF_W, 1, 0, 0, BPF_ADD), EXIT() } },
	{ "load_acquire_misaligned", EACCES, "misaligned value access off",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 2), MOV_K(0, 0),
		    INSN(BPF_STX | BPF_ATOMIC | BPF_W, 0, 1, 0, LOAD_ACQUIRE), EXIT() } },
	{ "store_release_misaligned", EACCES, "misaligned value access off",
	  .insn = { LD64(1, BPF_PSEUDO_MAP_VALUE, FD_ARRAY, 2), MOV_K(0, 0),
		    INSN(BPF_STX | BPF_ATOMIC | BPF_W, 1, 0, 0, STORE_RELEASE), EXIT() } },
	/* ---- BTF records ---- */
	{ "btf_good", 0, NULL, .btf = true, .funcs = 2, .lines = 2, .func = { { 0, T_MAIN }, { 2, T_STATIC } },
	  .line = { { 0, STR_FILE, STR_LINE, 1 << 10 }, { 2, STR_FILE, STR_LINE, 2 << 10 } },
	  .insn = { CALL_NEXT_BUT_ONE } },
	{ "btf_too_few_funcs", EINVAL, "number of funcs in func_info doesn't match number of subprogs", .btf = true,
	  .funcs = 1, .func = { { 0, T_MAIN } }, .insn = { CALL_NEXT_BUT_ONE } },
	{ "btf_first_not_zero", EINVAL, "nonzero insn_off 1 for the first func info record", .btf = true, .funcs = 1,
	  .func = { { 1, T_MAIN } }, .insn = { RET0 } },
	{ "btf_wrong_start", EINVAL, "func_info BTF section doesn't match subprog layout in BPF program", .btf = true,
	  .funcs = 2, .func = { { 0, T_MAIN }, { 3, T_STATIC } }, .insn = { CALL_NEXT_BUT_ONE } },
	{ "btf_not_sorted", EINVAL, "same or smaller insn offset (0) than previous func info record (0)", .btf = true,
	  .funcs = 2, .func = { { 0, T_MAIN }, { 0, T_STATIC } }, .insn = { CALL_NEXT_BUT_ONE } },
	{ "btf_not_a_function", EINVAL, "invalid type id 1 in func info", .btf = true, .funcs = 1,
	  .func = { { 0, T_INT } }, .insn = { RET0 } },
	{ "btf_no_such_type", EINVAL, "invalid type id 99 in func info", .btf = true, .funcs = 1,
	  .func = { { 0, 99 } }, .insn = { RET0 } },
	{ "btf_callback_global", EINVAL, "callback function not static", .btf = true, .funcs = 2,
	  .func = { { 0, T_MAIN }, { 4, T_GLOBAL } }, .insn = { LD64(2, BPF_PSEUDO_FUNC, 3, 0), RET0, RET0 } },
	{ "btf_callback_static", 0, NULL, .btf = true, .funcs = 2, .func = { { 0, T_MAIN }, { 4, T_STATIC } },
	  .insn = { LD64(2, BPF_PSEUDO_FUNC, 3, 0), RET0, RET0 } },
	{ "line_past_end", EINVAL, "Invalid line_info[0].insn_off:7", .btf = true, .funcs = 1, .lines = 1,
	  .func = { { 0, T_MAIN } }, .line = { { 7, STR_FILE, STR_LINE, 1 << 10 } }, .insn = { RET0 } },
	{ "line_not_sorted", EINVAL, "Invalid line_info[1].insn_off:0", .btf = true, .funcs = 1, .lines = 2,
	  .func = { { 0, T_MAIN } },
	  .line = { { 0, STR_FILE, STR_LINE, 1 << 10 }, { 0, STR_FILE, STR_LINE, 2 << 10 } }, .insn = { RET0 } },
	{ "line_in_second_slot", EINVAL, "Invalid insn code at line_info[1].insn_off", .btf = true, .funcs = 1, .lines = 2,
	  .func = { { 0, T_MAIN } },
	  .line = { { 0, STR_FILE, STR_LINE, 1 << 10 }, { 1, STR_FILE, STR_LINE, 2 << 10 } },
	  .insn = { LD64(1, 0, 0, 0), RET0 } },
	{ "line_bad_string", EINVAL, "Invalid line_info[0].line_off or .file_name_off", .btf = true, .funcs = 1,
	  .lines = 1, .func = { { 0, T_MAIN } }, .line = { { 0, 4000, STR_LINE, 1 << 10 } }, .insn = { RET0 } },
	{ "line_missing_for_function", EINVAL, "missing bpf_line_info for func#1", .btf = true, .funcs = 2, .lines = 2,
	  .func = { { 0, T_MAIN }, { 2, T_STATIC } },
	  .line = { { 0, STR_FILE, STR_LINE, 1 << 10 }, { 3, STR_FILE, STR_LINE, 2 << 10 } },
	  .insn = { CALL_NEXT_BUT_ONE } },
};

struct fds {
	int fd[FD_END - FD_ARRAY];
};

static char log_text[1 << 18];

static int must(const char *what, int fd)
{
	if (fd >= 0)
		return fd;
	fprintf(stderr, "%s: %s\n", what, strerror(-fd));
	exit(1);
}

static int new_map(enum side side, uint32_t type)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = 4;
	attr.value_size = 16;
	attr.max_entries = type == BPF_MAP_TYPE_ARRAY ? 1 : 4;
	return must("map", side_bpf(side, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static void make_fds(enum side side, struct fds *fds)
{
	struct raw_btf btf;
	union bpf_attr attr;

	raw_btf_fill(&btf);
	memset(&attr, 0, sizeof(attr));
	attr.btf = (uint64_t)(uintptr_t)&btf;
	attr.btf_size = sizeof(btf.hdr) + sizeof(btf.types) + sizeof(RAW_BTF_STRINGS);
	fds->fd[FD_ARRAY - FD_ARRAY] = new_map(side, BPF_MAP_TYPE_ARRAY);
	fds->fd[FD_HASH - FD_ARRAY] = new_map(side, BPF_MAP_TYPE_HASH);
	fds->fd[FD_BTF - FD_ARRAY] = must("btf", side_bpf(side, BPF_BTF_LOAD, &attr, sizeof(attr)));
	fds->fd[FD_CLOSED - FD_ARRAY] = 987;
}

static uint32_t length(const struct row *row)
{
	uint32_t n = MAX_INSNS;
	static const struct bpf_insn none;

	while (n && !memcmp(&row->insn[n - 1], &none, sizeof(none)))
		n--;
	return n;
}

static int load(enum side side, const struct row *row, const struct fds *fds)
{
	struct bpf_insn insn[MAX_INSNS];
	uint32_t cnt = length(row);
	union bpf_attr attr;

	memcpy(insn, row->insn, sizeof(insn));
	for (uint32_t i = 0; i < cnt; i++)
		if (insn[i].code == (BPF_LD | BPF_IMM | BPF_DW) && insn[i].imm >= FD_ARRAY &&
		    insn[i].imm < FD_END)
			insn[i].imm = fds->fd[insn[i].imm - FD_ARRAY];
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = row->prog_type ? row->prog_type : BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uint64_t)(uintptr_t)insn;
	attr.insn_cnt = cnt;
	attr.license = (uint64_t)(uintptr_t)"GPL";
	attr.prog_flags = row->flags;
	attr.fd_array = row->fd_array ? (uint64_t)(uintptr_t)fds->fd : 0;
	if (row->btf) {
		attr.prog_btf_fd = fds->fd[FD_BTF - FD_ARRAY];
		attr.func_info = (uint64_t)(uintptr_t)row->func;
		attr.func_info_cnt = row->funcs;
		attr.func_info_rec_size = sizeof(row->func[0]);
		attr.line_info = (uint64_t)(uintptr_t)row->line;
		attr.line_info_cnt = row->lines;
		attr.line_info_rec_size = sizeof(row->line[0]);
	}
	attr.log_level = 2;
	attr.log_buf = (uint64_t)(uintptr_t)log_text;
	attr.log_size = sizeof(log_text);
	log_text[0] = '\0';
	return side_bpf(side, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static bool check(enum side side, const struct row *row, const struct fds *fds)
{
	bool other = side == SIDE_KERNEL && row->kernel_differs;
	int want = other ? row->kernel_err : row->err, fd = load(side, row, fds);
	int err = fd < 0 ? -fd : 0;

	if (fd >= 0)
		close(fd);
	if (err != want) {
		printf("not ok - %s@%s: errno %d, not %d\n%s\n", row->name, side_name[side], err,
		       want, log_text);
		return false;
	}
	if (row->msg && !other && !strstr(log_text, row->msg)) {
		printf("not ok - %s@%s: log lacks '%s'\n%s\n", row->name, side_name[side], row->msg,
		       log_text);
		return false;
	}
	return true;
}

int main(void)
{
	struct fds fds[SIDES];
	int passed = 0, failed = 0;

	side_self_check();
	for (enum side side = SIDE_USER; side < SIDES; side++)
		if (side == SIDE_USER || side_kernel_usable())
			make_fds(side, &fds[side]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = check(SIDE_USER, &rows[i], &fds[SIDE_USER]);

		if (side_kernel_usable())
			ok &= check(SIDE_KERNEL, &rows[i], &fds[SIDE_KERNEL]);
		if (rows[i].kernel_differs && !difference_is_documented(rows[i].name)) {
			printf("not ok - %s: docs/differences.md does not name it\n", rows[i].name);
			ok = false;
		}
		passed += ok;
		failed += !ok;
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
