// SPDX-License-Identifier: BSD-2-Clause
/*
 * Points of arm64, without libbpf, so that they can be executed under an emulator: a probe on each
 * instruction of a function with every kind that depends on its place, alone and all at once; returns.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "obj/obj.h"
#include "probe/extent.h"
#include "probe/outline.h"
#include "raw.h"
#include "util/uapi.h"

#define SELF "/proc/self/exe"
#define PLACES_MAX 256

static int map_fd;

/* ---- the function ---- */

long steps(long a, long *memory);
long steps_data __attribute__((used)) = 1000;

/* Each line is one instruction. x0: a, x1: memory of 4 words. */
__asm__(".pushsection .text\n.p2align 3\n7: .quad 0x80000001\n"
	".globl steps\n.type steps, %function\nsteps:\n.cfi_startproc\n"
	"stp x29, x30, [sp, #-32]!\n"
	"str x19, [sp, #16]\n"
	"mov x19, x1\n"
	"adr x2, 7b\n"
	"adrp x3, steps_data\n"
	"add x3, x3, :lo12:steps_data\n"
	"ldr x4, [x3]\n"
	"add x0, x0, x4\n"
	"ldr x5, 7b\n"
	"add x0, x0, x5\n"
	"ldr w6, 7b\n"
	"add x0, x0, x6\n"
	"ldrsw x7, 7b\n"
	"add x0, x0, x7\n"
	"prfm pldl1keep, 7b\n"
	"cmp x0, #0\n"
	"b.eq 9f\n"
	"b.ne 1f\n"
	"brk #1\n"
	"1: cbz x0, 9f\n"
	"cbnz w5, 2f\n"
	"brk #1\n"
	"2: tbnz x5, #32, 9f\n"
	"tbz w5, #3, 3f\n"
	"brk #1\n"
	"3: bl 8f\n"
	"adr x9, 8f\n"
	"blr x9\n"
	"adr x9, 4f\n"
	"br x9\n"
	"brk #1\n"
	"4: b 5f\n"
	"brk #1\n"
	"5: mov x10, #3\n"
	"6: add x0, x0, #1\n"
	"subs x10, x10, #1\n"
	"b.gt 6b\n"
	"stp x0, x2, [x19]\n"
	"fmov d0, x0\n"
	"add d0, d0, d0\n"
	"str d0, [x19, #16]\n"
	"stlr x0, [x19]\n"
	"ldr x19, [sp, #16]\n"
	"ldp x29, x30, [sp], #32\n"
	"ret\n"
	"8: add x0, x0, #2\n"
	"ret\n"
	"9: brk #1\n"
	".cfi_endproc\n.size steps, . - steps\n.popsection");

__attribute__((noipa)) static long recurse(long depth, jmp_buf *leave)
{
	volatile long kept = depth;

	if (depth)
		return recurse(depth - 1, leave) + (kept == depth);
	if (leave)
		longjmp(*leave, 1);
	return 0;
}

BPFU_PROBE_ENTRY static long registered(long a)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + 1;
}

/* ---- a program that counts, and its links ---- */

static int load(void)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
			       .max_entries = 1 };
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr prog = { .prog_type = BPF_PROG_TYPE_KPROBE, .insns = (uintptr_t)insns,
				.insn_cnt = 6, .license = (uintptr_t)"GPL",
				.expected_attach_type = BPFU_TRACE_UPROBE_MULTI };

	map_fd = bpf(BPF_MAP_CREATE, &map);
	insns[0].imm = map_fd;
	return map_fd < 0 ? map_fd : bpf(BPF_PROG_LOAD, &prog);
}

/* How often the program has run since the last call. */
static uint64_t hits(void)
{
	uint64_t value = 0, zero = 0;
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map_fd };

	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	attr.value = (uintptr_t)&zero;
	bpf(BPF_MAP_UPDATE_ELEM, &attr);
	return value;
}

static int attach(int prog, const uint64_t *offsets, uint32_t cnt, uint32_t flags)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, pad;
	} attr = { .prog_fd = (uint32_t)prog, .attach_type = BPFU_TRACE_UPROBE_MULTI,
		   .path = (uintptr_t)SELF, .offsets = (uintptr_t)offsets, .cnt = cnt,
		   .multi_flags = flags };

	return bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
}

/* Where the file has @addr; asked before anything is attached, which may move pages. */
static uint64_t offset_of(const void *addr)
{
	unsigned long start, end, off;
	uint64_t found = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 &&
		    (uintptr_t)addr >= start && (uintptr_t)addr < end)
			found = off + ((uintptr_t)addr - start);
	if (f)
		fclose(f);
	return found;
}

/* ---- the tests ---- */

static void run_steps(long out[4])
{
	memset(out, 0, 4 * sizeof(out[0]));
	out[3] = steps(100, out);
}

static void test_steps(int prog, uint64_t start)
{
	uint64_t offsets[PLACES_MAX], sum = 0;
	struct bpfu_extent extent = { 0 };
	long want[4], got[4];
	uint32_t cnt = 0;
	int link;

	run_steps(want);
	expect_eq(bpfu_extent_find((uintptr_t)steps, &extent, NULL), true);
	for (uintptr_t p = extent.start; p < extent.end; p += 4)
		if (bpfu_outline_len((void *)p, 4) > 0)
			offsets[cnt++] = start + (p - extent.start);
	expect_eq(cnt, (extent.end - extent.start) / 4 - 6); /* but the brk */
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t n;

		link = attach(prog, &offsets[i], 1, 0);
		run_steps(got);
		n = hits();
		expect_eq(n >= 1 && n <= 3, true);
		expect_eq(memcmp(want, got, sizeof(want)), 0);
		sum += n;
		detach(link);
	}
	link = attach(prog, offsets, cnt, 0);
	run_steps(got);
	expect_eq(memcmp(want, got, sizeof(want)), 0);
	expect_eq(hits(), sum);
	detach(link);
	run_steps(got);
	expect_eq(memcmp(want, got, sizeof(want)), 0);
	expect_eq(hits(), 0);
	/* The breakpoint that is there already. */
	offsets[0] = start + (extent.end - 4 - extent.start);
	expect_eq(attach(prog, offsets, 1, 0), -EOPNOTSUPP);
	offsets[0] = start + 2;
	expect_eq(attach(prog, offsets, 1, 0), -EILSEQ);
}

static void test_returns(int prog, uint64_t offset)
{
	int link = attach(prog, &offset, 1, BPFU_F_UPROBE_MULTI_RETURN);
	jmp_buf leave;

	expect_eq(link >= 0, true);
	expect_eq(recurse(20, NULL), 20);
	expect_eq(hits(), 21);
	for (volatile int i = 0; i < 3000; i++)
		if (!setjmp(leave))
			recurse(1, &leave);
	expect_eq(hits(), 0);
	expect_eq(recurse(20, NULL), 20);
	expect_eq(hits(), 21);
	detach(link);
	expect_eq(recurse(20, NULL), 20);
	expect_eq(hits(), 0);
}

/* Its nop is probed as any other instruction. */
static void test_registered(int prog, uint64_t offset)
{
	int link;

	expect_eq(bpfu_func_register(registered, "long registered(long a)", 0), 0);
	link = attach(prog, &offset, 1, 0);
	expect_eq(link >= 0, true);
	expect_eq(registered(1), 2);
	expect_eq(hits(), 1);
	detach(link);
	expect_eq(registered(1), 2);
	expect_eq(hits(), 0);
}

int main(int argc, char **argv)
{
	const uint64_t at[] = { offset_of(steps), offset_of(recurse), offset_of(registered) };
	int prog = load();

	if (prog < 0)
		return 1;
	test_steps(prog, at[0]);
	test_returns(prog, at[1]);
	test_registered(prog, at[2]);
	printf("%s\n", failures ? "not ok" : "ok");
	return failures != 0;
}
