/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the programs of prog-pack and the bench agree on. */
#ifndef BPFLAB_PROG_PACK_H
#define BPFLAB_PROG_PACK_H

#define PACK_MAX_PROGRAMS 4096
#define PACK_ORDER_LEN 8192   /* programs that run before the order repeats */
#define PACK_CHAIN 32         /* programs a trigger runs; kernels allow 33 tail calls */
#define PACK_FACTOR 0x5deece66dULL
#define PACK_NUMBER 0x5a9e0001 /* replaced by the program's number */

struct pack_state {
	__u64 pos;   /* programs that ran since loading */
	__u64 hash;
	__u32 ran;   /* in this trigger */
	__u32 asked;
};

#endif
