/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libbpfu's own "vmlinux" BTF: the types of the functions that can be traced. libbpf reads it where
 * it looks for the kernel's (the router gives it in place of /sys/kernel/btf/vmlinux), and attach
 * ids are ids of this object.
 *
 * The object only ever grows, in place: ids stay what they are, and readers take no lock. Adding is
 * the caller's (func.c) to serialise.
 */
#ifndef BPFU_BTF_VMLINUX_H
#define BPFU_BTF_VMLINUX_H

#include "btf/btf.h"

/* A member of a function prototype, or a parameter being built. */
struct bpfu_param {
	char name[64];
	uint32_t type;
};

/* The object with a reference that is never given back, NULL without memory. */
struct bpfu_btf *bpfu_vmlinux(void);

/*
 * Add a type and return its id, or -ENOSPC when the object is full (it has room for 2^18 types and
 * 8 MiB). A type of the same kind and name, or a pointer to or a const of the same type, is found
 * again instead.
 */
int bpfu_vmlinux_add_int(const char *name, uint32_t size, uint32_t encoding);
int bpfu_vmlinux_add_typedef(const char *name, uint32_t type);
int bpfu_vmlinux_add_tag(uint32_t kind, const char *name); /* FWD (struct), or an ENUM of 4 bytes */
int bpfu_vmlinux_add_ref(uint32_t kind, uint32_t type);    /* PTR, CONST, VOLATILE */

/* Always new. */
int bpfu_vmlinux_add_proto(uint32_t ret, const struct bpfu_param *params, uint32_t cnt);
int bpfu_vmlinux_add_func(const char *name, uint32_t proto);

/* A variable, and the section that holds @cnt of them. */
int bpfu_vmlinux_add_var(const char *name, uint32_t type);
int bpfu_vmlinux_add_datasec(const char *name, const struct btf_var_secinfo *vars, uint32_t cnt);

/*
 * The whole object as one blob of BTF, as it is now: malloc()ed. 0 or -ENOMEM.
 */
int bpfu_vmlinux_blob(void **data, uint32_t *size);

#endif
