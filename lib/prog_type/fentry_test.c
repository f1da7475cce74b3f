// SPDX-License-Identifier: BSD-2-Clause
/* Functions to attach to in tests (fentry_test.h). */
#include "prog_type/fentry_test.h"

#include <errno.h>
#include <stddef.h>

#include "btf/traceable.h"
#include "prog_type/tracepoint.h"
#include "util/bits.h"

/* A structure that points to another of its kind, as the kernel's of that name. */
struct fentry_test_arg {
	struct fentry_test_arg *a;
};

int bpfu_fentry_test1(int a);
int bpfu_fentry_test2(int a, uint64_t b);
int bpfu_fentry_test3(char a, int b, uint64_t c);
int bpfu_fentry_test4(void *a, char b, int c, uint64_t d);
int bpfu_fentry_test5(uint64_t a, void *b, short c, int d, uint64_t e);
int bpfu_fentry_test6(uint64_t a, void *b, short c, int d, void *e, uint64_t f);
int bpfu_fentry_test7(struct fentry_test_arg *arg);
int bpfu_fentry_test8(struct fentry_test_arg *arg);
uint32_t bpfu_fentry_test9(uint32_t *a);
int bpfu_fentry_test10(const void *a);
int bpfu_modify_return_test(int a, int *b);
int bpfu_modify_return_test2(int a, int *b, short c, int d, void *e, char f, int g);
int bpfu_modify_return_test_tp(int nonce);

/* A program may have changed what the compiler thinks it knows. */
#define HIDE(x) __asm__ volatile("" : "+r"(x) : : "memory")

BPFU_PATCHABLE int bpfu_fentry_test1(int a)
{
	HIDE(a);
	return a + 1;
}
BPFU_TRACEABLE(bpfu_fentry_test1, "int bpf_fentry_test1(int a)", 0);

BPFU_PATCHABLE int bpfu_fentry_test2(int a, uint64_t b)
{
	HIDE(a);
	return (int)(a + b);
}
BPFU_TRACEABLE(bpfu_fentry_test2, "int bpf_fentry_test2(int a, u64 b)", 0);

BPFU_PATCHABLE int bpfu_fentry_test3(char a, int b, uint64_t c)
{
	HIDE(b);
	return (int)(a + b + c);
}
BPFU_TRACEABLE(bpfu_fentry_test3, "int bpf_fentry_test3(char a, int b, u64 c)", 0);

BPFU_PATCHABLE int bpfu_fentry_test4(void *a, char b, int c, uint64_t d)
{
	HIDE(c);
	return (int)(bpfu_u64(a) + b + c + d);
}
BPFU_TRACEABLE(bpfu_fentry_test4, "int bpf_fentry_test4(void *a, char b, int c, u64 d)", 0);

BPFU_PATCHABLE int bpfu_fentry_test5(uint64_t a, void *b, short c, int d, uint64_t e)
{
	HIDE(d);
	return (int)(a + bpfu_u64(b) + c + d + e);
}
BPFU_TRACEABLE(bpfu_fentry_test5,
	       "int bpf_fentry_test5(u64 a, void *b, short c, int d, u64 e)", 0);

BPFU_PATCHABLE int bpfu_fentry_test6(uint64_t a, void *b, short c, int d, void *e, uint64_t f)
{
	HIDE(d);
	return (int)(a + bpfu_u64(b) + c + d + bpfu_u64(e) + f);
}
BPFU_TRACEABLE(bpfu_fentry_test6,
	       "int bpf_fentry_test6(u64 a, void *b, short c, int d, void *e, u64 f)", 0);

BPFU_PATCHABLE int bpfu_fentry_test7(struct fentry_test_arg *arg)
{
	HIDE(arg);
	return (int)bpfu_u64(arg);
}
BPFU_TRACEABLE(bpfu_fentry_test7, "int bpf_fentry_test7(struct bpf_fentry_test_t *arg)", 0);

BPFU_PATCHABLE int bpfu_fentry_test8(struct fentry_test_arg *arg)
{
	HIDE(arg);
	return (int)bpfu_u64(arg->a);
}
BPFU_TRACEABLE(bpfu_fentry_test8, "int bpf_fentry_test8(struct bpf_fentry_test_t *arg)", 0);

BPFU_PATCHABLE uint32_t bpfu_fentry_test9(uint32_t *a)
{
	HIDE(a);
	return *a;
}
BPFU_TRACEABLE(bpfu_fentry_test9, "u32 bpf_fentry_test9(u32 *a)", 0);

BPFU_PATCHABLE int bpfu_fentry_test10(const void *a)
{
	HIDE(a);
	return (int)bpfu_u64(a);
}
BPFU_TRACEABLE(bpfu_fentry_test10, "int bpf_fentry_test10(const void *a)", 0);

BPFU_PATCHABLE int bpfu_modify_return_test(int a, int *b)
{
	*b += 1;
	return a + *b;
}
BPFU_TRACEABLE(bpfu_modify_return_test, "int bpf_modify_return_test(int a, int *b)",
	       BPFU_FUNC_MODIFY_RETURN);

BPFU_PATCHABLE int bpfu_modify_return_test2(int a, int *b, short c, int d, void *e, char f, int g)
{
	*b += 1;
	return (int)(a + *b + c + d + (long)e + f + g);
}
BPFU_TRACEABLE(bpfu_modify_return_test2,
	       "int bpf_modify_return_test2(int a, int *b, short c, int d, void *e, char f, int g)",
	       BPFU_FUNC_MODIFY_RETURN);

/* What trigger benches call: it fires a tracepoint, and fmod_ret programs may run in its place. */
BPFU_PATCHABLE int bpfu_modify_return_test_tp(int nonce)
{
	BPFU_TRACE(&bpfu_tp_trigger.head, (uint64_t)(int64_t)nonce);
	return nonce;
}
BPFU_TRACEABLE(bpfu_modify_return_test_tp, "int bpf_modify_return_test_tp(int nonce)",
	       BPFU_FUNC_MODIFY_RETURN | BPFU_FUNC_KFUNC);

int bpfu_fentry_test_run(void)
{
	struct fentry_test_arg arg = { 0 };
	uint32_t zero = 0;

	if (bpfu_fentry_test1(1) != 2 || bpfu_fentry_test2(2, 3) != 5 ||
	    bpfu_fentry_test3(4, 5, 6) != 15 || bpfu_fentry_test4((void *)7, 8, 9, 10) != 34 ||
	    bpfu_fentry_test5(11, (void *)12, 13, 14, 15) != 65 ||
	    bpfu_fentry_test6(16, (void *)17, 18, 19, (void *)20, 21) != 111 ||
	    bpfu_fentry_test7(NULL) != 0 || bpfu_fentry_test8(&arg) != 0 ||
	    bpfu_fentry_test9(&zero) != 0 || bpfu_fentry_test10(NULL) != 0)
		return -EFAULT;
	return 0;
}

uint32_t bpfu_modify_return_test_run(void)
{
	int b = 2, ret, ran = 0;

	ret = bpfu_modify_return_test(1, &b);
	ran += b != 2;
	b = 2;
	ret += bpfu_modify_return_test2(1, &b, 3, 4, (void *)5, 6, 7);
	ran += b != 2;
	return (uint32_t)ran << 16 | (uint16_t)ret;
}
