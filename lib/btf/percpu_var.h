/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-CPU variables that programs may name: "extern const int cpu_number __ksym", and what
 * bpf_this_cpu_ptr() and bpf_per_cpu_ptr() make of its address. They have the names and types of the
 * kernel's, so that a program finds them on both.
 */
#ifndef BPFU_BTF_PERCPU_VAR_H
#define BPFU_BTF_PERCPU_VAR_H

#include <stdint.h>

struct bpfu_percpu_var {
	const char *name;
	const char *type; /* its name in C */
	uint32_t size;
	void *ptr;        /* per-CPU pointer (percpu_alloc.h) */
	int btf_id;       /* of the VAR, once libbpfu's BTF has it */
};

/*
 * Add them to libbpfu's BTF. Once, by who serialises adding (func.c). 0 or a negative errno: then
 * programs do not find them.
 */
int bpfu_percpu_vars_add(void);

/* By the id of the VAR; NULL if that is none. */
const struct bpfu_percpu_var *bpfu_percpu_var_by_id(uint32_t btf_id);

/* By place in the table, as the verifier keeps them. */
const struct bpfu_percpu_var *bpfu_percpu_var_at(uint32_t idx);
uint32_t bpfu_percpu_var_idx(const struct bpfu_percpu_var *var);

#endif
