// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A program of more than a million instructions. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* more instructions than any program may have */
SEC("raw_tp")
int huge(void *ctx)
{
	asm volatile(".rept 1000001; r0 = 0; .endr" : : : "r0");
	return 0;
}
