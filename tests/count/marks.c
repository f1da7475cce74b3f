// SPDX-License-Identifier: BSD-2-Clause
/*
 * Windows whose instructions anyone can count: in assembly, so that a compiler has no say. Prints what the
 * plugin has to find, a number a window. Without arguments the marks make sense; "nested" and "late" break
 * their order, and "unready" leaves out the mark that is to come before all windows.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "measure/mark.h"

/* 2 + 3 * 10 and the last, which leaves the loop */
#ifdef __x86_64__
#define NOPS "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
#define LOOP                                                                                       \
	asm volatile("mov $10, %%ecx\n\tnop\n1:\tnop\n\tsub $1, %%ecx\n\tjnz 1b\n\tnop" ::         \
			     : "ecx", "cc")
#define SKIP asm volatile("jmp 1f\n\tnop\n\tnop\n1:\tnop" ::: "cc")
#else
#define NOPS "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
#define LOOP                                                                                       \
	asm volatile("mov w9, #10\n\tnop\n1:\tnop\n\tsubs w9, w9, #1\n\tb.ne 1b\n\tnop" ::         \
			     : "x9", "cc")
#define SKIP asm volatile("b 1f\n\tnop\n\tnop\n1:\tnop")
#endif

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "unready"))
		mark_ready();
	sched_yield(); /* see mark.h */
	mark_begin();
	mark_end();
	mark_begin();
	asm volatile(NOPS);
	mark_end();
	/* between windows nothing counts */
	asm volatile(NOPS);
	mark_begin();
	LOOP;
	mark_end();
	mark_begin();
	SKIP;
	mark_end();
	if (argc > 1 && !strcmp(argv[1], "nested")) {
		mark_begin();
		mark_begin();
		mark_end();
	}
	if (argc > 1 && !strcmp(argv[1], "late"))
		mark_end();
	printf("0 7 33 2\n");
	return 0;
}
