/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <linux/bpf.h> and <linux/btf.h> of the build host, plus the names of newer kernels that the host's
 * copy may lack. Values are ABI (RFC 9669 and the uapi headers of Linux 6.18).
 */
#ifndef BPFU_UTIL_UAPI_H
#define BPFU_UTIL_UAPI_H

#include <linux/bpf.h>
#include <linux/btf.h>

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* load with sign extension */
#endif
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0 /* may_goto */
#define BPF_MAY_GOTO 0
#endif
#ifndef BPF_ADDR_SPACE_CAST
#define BPF_ADDR_SPACE_CAST 1 /* off of a 64-bit MOV between registers */
#endif
#ifndef BPF_LOAD_ACQ
#define BPF_LOAD_ACQ 0x100
#define BPF_STORE_REL 0x110
#endif
#ifndef BPF_F_TEST_REG_INVARIANTS
#define BPF_F_TEST_REG_INVARIANTS (1U << 7)
#endif
#ifndef BPF_F_XDP_DEV_BOUND_ONLY
#define BPF_F_XDP_DEV_BOUND_ONLY (1U << 6)
#endif
/* Enumerators of newer headers: defining the number does not clash with them. */
#define BPFU_TRACE_UPROBE_MULTI 48       /* BPF_TRACE_UPROBE_MULTI */
#define BPFU_TRACE_KPROBE_SESSION 56     /* BPF_TRACE_KPROBE_SESSION */
#define BPFU_TRACE_UPROBE_SESSION 57     /* BPF_TRACE_UPROBE_SESSION */
#define BPFU_F_UPROBE_MULTI_RETURN 1u    /* BPF_F_UPROBE_MULTI_RETURN */
#define BPFU_LINK_TYPE_UPROBE_MULTI 12   /* BPF_LINK_TYPE_UPROBE_MULTI */
#define BPFU_F_PATH_FD (1U << 14)        /* BPF_F_PATH_FD: OBJ_PIN, OBJ_GET */
#define BPFU_F_TOKEN_FD (1U << 16)       /* BPF_F_TOKEN_FD: a token is given */

#endif
