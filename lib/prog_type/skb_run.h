/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF_PROG_TEST_RUN of the types whose context is struct __sk_buff. */
#ifndef BPFU_PROG_TYPE_SKB_RUN_H
#define BPFU_PROG_TYPE_SKB_RUN_H

#include "util/uapi.h"

struct bpfu_prog;

int bpfu_skb_test_run(struct bpfu_prog *prog, union bpf_attr *attr);

#endif
