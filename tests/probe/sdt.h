/* SPDX-License-Identifier: BSD-2-Clause */
/* Static probes (USDT) for tests: notes of version 3, as sys/sdt.h of systemtap writes them. */
#ifndef TESTS_PROBE_SDT_H
#define TESTS_PROBE_SDT_H

#if defined(__x86_64__)
#define SDT_CONST_ARG "-2@$-3"
#define SDT_LONG_NOP "nopl 0(%%rax,%%rax)"
#else
#define SDT_CONST_ARG "-2@-3"
#define SDT_LONG_NOP "nop"
#endif
#define SDT_NOP "nop"

/* The probe test:@name at @insn. @args: as in the note, with the operands that follow. */
#define USDT(insn, name, semaphore, args, ...)                                                     \
	__asm__ volatile("990: " insn "\n.pushsection .note.stapsdt,\"\",%%note\n.balign 4\n"      \
			 ".4byte 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n"           \
			 "992: .balign 4\n993: .8byte 990b, _.stapsdt.base, " semaphore "\n"       \
			 ".asciz \"test\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n"             \
			 "994: .balign 4\n.popsection" ::__VA_ARGS__)
__asm__(".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection");

#endif
