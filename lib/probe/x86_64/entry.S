/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stubs call (stub.h). On entry the stack has the return address into the stub and the stub's
 * word above it; every register and the flags are somebody's.
 *
 *	+192  the stub's word
 *	+184  return address
 *	 +16  struct pt_regs
 *	      reserved, func_ip          <- rbx: struct bpfu_regs
 *	      vectors, aligned to 64     <- rsp during the call
 */
#if defined(__x86_64__)

#define REGS_SIZE 184
#define HEADER 512 /* of an XSAVE area, behind the legacy part */

.macro COMMON name handler
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 6
\name:
	.cfi_startproc
	pushq	$0x2b			/* ss */
	pushq	$0			/* sp: the handler's to fill */
	pushfq
	pushq	$0x33			/* cs */
	pushq	$0			/* ip: the same */
	pushq	$-1			/* orig_ax */
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	$0
	pushq	$0
	cld
	movq	%rsp, %rbx
	.cfi_def_cfa %rbx, REGS_SIZE + 8
	.cfi_offset %rbx, -136
	movl	bpfu_xsave_size(%rip), %eax
	subq	%rax, %rsp
	andq	$-64, %rsp
	xorl	%edx, %edx
	movl	bpfu_xsave_mask(%rip), %eax
	testl	%eax, %eax
	jz	1f
	/* xrstor looks at all of the header, xsave writes some of it. */
	.irp	off, 0, 8, 16, 24, 32, 40, 48, 56
	movq	%rdx, HEADER + \off(%rsp)
	.endr
	cmpb	$0, bpfu_xsave_compact(%rip)
	je	2f
	xsavec	(%rsp)
	jmp	3f
2:	xsave	(%rsp)
	jmp	3f
1:	fxsave	(%rsp)
3:	movq	%rbx, %rdi
	leaq	REGS_SIZE + 8(%rbx), %rsi
	call	\handler
	xorl	%edx, %edx
	movl	bpfu_xsave_mask(%rip), %eax
	testl	%eax, %eax
	jz	4f
	xrstor	(%rsp)
	jmp	5f
4:	fxrstor	(%rsp)
5:	leaq	16(%rbx), %rsp
	.cfi_def_cfa %rsp, REGS_SIZE - 8
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16(%rsp), %rsp		/* sp, ss */
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	.text
.Lfirst:
	COMMON bpfu_entry_point, bpfu_point_event
	COMMON bpfu_entry_return, bpfu_return_event
.Llast:

	/* util/inner.h */
	.section bpfu_text, "a", @progbits
	.long	.Lfirst - ., .Llast - .

#endif
	.section .note.GNU-stack, "", %progbits
