/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs made by hand, without verifier and rewrite, for tests of the backends. */
#ifndef TESTS_INSN_PROG_H
#define TESTS_INSN_PROG_H

#include <stdbool.h>
#include <stdint.h>

#include "obj/prog.h"

enum backend { BACKEND_INTERP, BACKEND_JIT };

/* First instructions of all functions of @insns, in order; returns how many (at most @max). */
uint32_t find_subprogs(const struct bpf_insn *insns, uint32_t cnt, uint32_t *starts, uint32_t max);

/* A program of @insns (copied) on @backend. Returns 0 or -errno; free with test_prog_free(). */
int test_prog_new(const struct bpf_insn *insns, uint32_t cnt, enum backend backend,
		  struct bpfu_prog **out);
void test_prog_free(struct bpfu_prog *prog);

#endif
