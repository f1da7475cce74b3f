/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drivers that were compiled to native code: the same source as a BPF program (progs/native.h), by the
 * same clang with -O2, with and without vectorisation.
 */
#ifndef BPFLAB_BENCH_NATIVE_H
#define BPFLAB_BENCH_NATIVE_H

#include <stdint.h>

struct target;

struct native_ctx {
	uint64_t ops, param; /* struct bench_ctx of progs/bench.bpf.h */
};

typedef uint64_t (*native_driver)(struct native_ctx *ctx);

/* The two forms of a driver; declared by NATIVE_DRIVER(name), written NATIVE_FORMS(name). */
struct native_forms {
	native_driver vec, novec;
};

#define NATIVE_DRIVER(name)                                                                        \
	uint64_t name##_vec(struct native_ctx *ctx);                                               \
	uint64_t name##_novec(struct native_ctx *ctx);
#define NATIVE_FORMS(name) { .vec = name##_vec, .novec = name##_novec }

/* The form that @target asks for (target_native.c). */
native_driver native_choose(const struct native_forms *forms, const struct target *target);

/* Run it; as driver_run() does with a BPF program. */
static inline int native_run(native_driver driver, uint64_t ops, uint64_t param, uint64_t *events)
{
	struct native_ctx ctx = { ops, param };

	*events = driver(&ctx);
	return 0;
}

#endif
