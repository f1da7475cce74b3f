/* SPDX-License-Identifier: BSD-2-Clause */
/* The context of a program on a function, as probe/ builds it and the helpers read it. */
#ifndef BPFU_HELPER_FUNC_CTX_H
#define BPFU_HELPER_FUNC_CTX_H

/* Words in front of the arguments. */
#define BPFU_FUNC_CTX_IP (-2)  /* address of the function */
#define BPFU_FUNC_CTX_CNT (-1) /* number of arguments | BPFU_FUNC_CTX_HAS_RET */

#define BPFU_FUNC_CTX_HAS_RET 0x100ull /* the return value follows the arguments */

#endif
