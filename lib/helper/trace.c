// SPDX-License-Identifier: BSD-2-Clause
/*
 * Helpers about the attachment that a program runs for. The context of a program on a function has
 * two hidden words in front: the function's address, and the number of arguments, with HAS_RET where
 * the word behind the arguments is the return value.
 */
#include <errno.h>

#include "helper/bodies.h"
#include "helper/func_ctx.h"
#include "obj/run.h"

uint64_t bpfu_helper_get_attach_cookie(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	return bpfu_attach_cookie;
}

static uint64_t *func_ctx(uint64_t r1)
{
	return (uint64_t *)(uintptr_t)r1;
}

static uint64_t arg_cnt(uint64_t r1)
{
	return func_ctx(r1)[BPFU_FUNC_CTX_CNT] & ~BPFU_FUNC_CTX_HAS_RET;
}

uint64_t bpfu_helper_get_func_ip(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return func_ctx(r1)[BPFU_FUNC_CTX_IP];
}

uint64_t bpfu_helper_get_func_arg_cnt(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				      uint64_t r5)
{
	return arg_cnt(r1);
}

uint64_t bpfu_helper_get_func_arg(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t n = (uint32_t)r2;

	if (n >= arg_cnt(r1))
		return (uint64_t)-EINVAL;
	*func_ctx(r3) = func_ctx(r1)[n];
	return 0;
}

uint64_t bpfu_helper_get_func_ret(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	if (!(func_ctx(r1)[BPFU_FUNC_CTX_CNT] & BPFU_FUNC_CTX_HAS_RET))
		return (uint64_t)-EOPNOTSUPP;
	*func_ctx(r2) = func_ctx(r1)[arg_cnt(r1)];
	return 0;
}
