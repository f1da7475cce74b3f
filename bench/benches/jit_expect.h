/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs of the suite jit-*, and what its kernels have to make of them. */
#ifndef BPFLAB_JIT_EXPECT_H
#define BPFLAB_JIT_EXPECT_H

#include <linux/types.h>

#include "progs/jit_data.h"

/* Fill the inputs of @d; the same every time. */
void jit_fill(struct jit_data *d);

/*
 * jit_expect_NAME(): what the kernel NAME returns, and in d->out what it leaves there. Written
 * another way than the kernel, so that a mistake is not made twice.
 */
#define JIT(name, event) __u64 jit_expect_##name(struct jit_data *d);
#include "benches/jit.def"
#undef JIT

#endif
