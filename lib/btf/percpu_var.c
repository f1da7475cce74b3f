// SPDX-License-Identifier: BSD-2-Clause
/* The table of per-CPU variables; see percpu_var.h. */
#include "btf/percpu_var.h"

#include <errno.h>
#include <stddef.h>

#include "btf/vmlinux.h"
#include "percpu/percpu_alloc.h"
#include "util/bits.h"

/* Where the kernel keeps them, and where libbpf looks. */
#define SECTION ".data..percpu"

static struct bpfu_percpu_var vars[] = {
	{ .name = "cpu_number", .type = "int", .size = sizeof(int) },
};

int bpfu_percpu_vars_add(void)
{
	struct btf_var_secinfo rows[BPFU_ARRAY_SIZE(vars)];
	int type = bpfu_vmlinux_add_int("int", sizeof(int), BTF_INT_SIGNED), id = type;

	vars[0].ptr = bpfu_percpu_cpu_number();
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(vars) && id >= 0; i++) {
		id = bpfu_vmlinux_add_var(vars[i].name, (uint32_t)type);
		rows[i] = (struct btf_var_secinfo){ .type = (uint32_t)id, .size = vars[i].size,
						    .offset = (uint32_t)i * sizeof(uint64_t) };
		vars[i].btf_id = id;
	}
	if (id >= 0)
		id = bpfu_vmlinux_add_datasec(SECTION, rows, BPFU_ARRAY_SIZE(vars));
	return id < 0 ? id : 0;
}

const struct bpfu_percpu_var *bpfu_percpu_var_by_id(uint32_t btf_id)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(vars); i++)
		if (vars[i].btf_id > 0 && (uint32_t)vars[i].btf_id == btf_id)
			return &vars[i];
	return NULL;
}

const struct bpfu_percpu_var *bpfu_percpu_var_at(uint32_t idx)
{
	return &vars[idx];
}

uint32_t bpfu_percpu_var_idx(const struct bpfu_percpu_var *var)
{
	return (uint32_t)(var - vars);
}
