/* SPDX-License-Identifier: BSD-2-Clause */
/* vm:VERSION[,arch=…][,smp=…][,mem=…][,cmdline=…]: which kernel to boot, and on what machine. */
#ifndef BPFLAB_VM_SPEC_H
#define BPFLAB_VM_SPEC_H

#include <stdbool.h>

struct machine_kind;

#define VM_MAX_SMP 64
#define VM_DEFAULT_MEM 512

struct vm_spec {
	char version[64];  /* a kernel's name, or the start of its version */
	const struct machine_kind *machine;
	unsigned int smp;
	unsigned int mem;  /* MiB */
	char cmdline[192]; /* for the kernel, behind what bpflab gives it; no commas */
};

#endif
