/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where libbpfu's own code lies, wherever a linker has put it: each of its files is compiled with this
 * one in front, which writes down the ends of the file's text. A breakpoint in there could be met
 * while the handler of a breakpoint runs.
 */
#ifndef BPFU_UTIL_INNER_H
#define BPFU_UTIL_INNER_H
#ifndef __ASSEMBLER__

/* The last of the numbered parts that the assembler puts together in their order. */
#define BPFU_TEXT_ENDS(section, flags, first, last)                                                \
	__asm__(".pushsection " section "," flags "\n" first ":\n.subsection 8191\n" last         \
		":\n.popsection\n"                                                                 \
		".pushsection bpfu_text,\"a\",%progbits\n.long " first " - ., " last               \
		" - .\n.popsection")

BPFU_TEXT_ENDS(".text", "\"ax\",%progbits", ".Lbpfu_text_first", ".Lbpfu_text_last");
BPFU_TEXT_ENDS(".text.unlikely", "\"ax\",%progbits", ".Lbpfu_cold_first", ".Lbpfu_cold_last");

/* True if @addr is in code of libbpfu. */
_Bool bpfu_is_inner(__UINTPTR_TYPE__ addr);

#endif
#endif
