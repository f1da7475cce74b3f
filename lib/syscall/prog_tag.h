/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to syscall/: tags of a program's functions (info_prog.c). */
#ifndef BPFU_SYSCALL_PROG_TAG_H
#define BPFU_SYSCALL_PROG_TAG_H

#include <stdint.h>

#include "util/uapi.h"

struct bpfu_prog;

/* The tag of function @idx; a program of one function has just its own. */
void bpfu_prog_func_tag(const struct bpfu_prog *prog, uint32_t idx, uint8_t tag[BPF_TAG_SIZE]);

#endif
