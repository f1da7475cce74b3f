/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to syscall/: BPF_OBJ_GET_INFO_BY_FD. Each kind has its struct; what the kernels agree on is
 * how much of it goes in and out (struct bpfu_info_io).
 */
#ifndef BPFU_SYSCALL_INFO_H
#define BPFU_SYSCALL_INFO_H

#include "syscall/syscall.h"

struct bpfu_prog;

/* The caller's info struct. */
struct bpfu_info_io {
	uint64_t uinfo;
	uint32_t len;     /* what the caller has, then what is exchanged */
};

/*
 * Copy the caller's struct into @info (@known bytes, zeroed first) and cut io->len to @known.
 * 0, -E2BIG (longer, and the rest is not zero) or -EFAULT.
 */
int bpfu_info_in(struct bpfu_info_io *io, void *info, uint32_t known);

/* Copy io->len bytes of @info back. */
int bpfu_info_out(const struct bpfu_info_io *io, const void *info);

/* info_prog.c */
int bpfu_info_prog(struct bpfu_prog *prog, struct bpfu_info_io *io);

#endif
