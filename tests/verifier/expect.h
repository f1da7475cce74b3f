/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a test program expects of the verifier, as BTF declaration tags that run_objects reads back.
 * Every program is loaded by libbpfu and by the running kernel; both must agree with what is said here.
 *
 *   __success             accepted                  __failure(errno)     refused with it
 *   __msg("text")         in the log (up to 4)      __log_level(n)       default: 1 (2 for __success with __msg)
 *   __retval(n)           result of a test run      __flags(n)           prog_flags of the load
 *   __kernel(errno)       the kernel's verdict differs (0: accepts); docs/differences.md says why
 *   __our_msg("text")     as __msg, where the kernel words it differently
 *   __no_run_kernel       the kernel is not asked to run it
 */
#ifndef TEST_VERIFIER_EXPECT_H
#define TEST_VERIFIER_EXPECT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define EXPECT_STR_(x) #x
#define EXPECT_STR(x) EXPECT_STR_(x)
#define EXPECT(t) __attribute__((btf_decl_tag("expect:" t)))

#define __success EXPECT("success")
#define __failure(e) EXPECT("failure=" EXPECT_STR(e))
#define __msg(t) EXPECT("msg=" t)
#define __our_msg(t) EXPECT("our_msg=" t)
#define __log_level(n) EXPECT("log_level=" EXPECT_STR(n))
#define __retval(n) EXPECT("retval=" EXPECT_STR(n))
#define __flags(n) EXPECT("flags=" EXPECT_STR(n))
#define __kernel(e) EXPECT("kernel=" EXPECT_STR(e))
#define __no_run_kernel EXPECT("no_run_kernel")

#define EPERM 1
#define E2BIG 7
#define EBADF 9
#define EACCES 13
#define EFAULT 14
#define EINVAL 22

/* A program in assembly: the function's whole body is one asm statement. */
#define __naked __attribute__((naked))
#define ASM(text, ...) asm volatile(text ::__VA_ARGS__)
#define ADDR(name) [name] "i"(&name)

char _license[] SEC("license") = "GPL";

#endif
