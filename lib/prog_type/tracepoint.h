/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracepoints: places in libbpfu, or in a program that embeds it, that programs are attached to by
 * name. One serves three program types:
 *
 *      raw_tp   context: the arguments, 64 bits each
 *      tp_btf   the same, known by their types
 *      tp       context: a record, eight bytes of header and then the arguments in their sizes
 */
#ifndef BPFU_PROG_TYPE_TRACEPOINT_H
#define BPFU_PROG_TYPE_TRACEPOINT_H

#include <stdint.h>

#include "bpfu/bpfu.h"
#include "btf/func.h"
#include "obj/link.h"

#define BPFU_TP_CATEGORY_MAX 32

struct bpfu_tp_user; /* one attached program */

struct bpfu_tp {
	struct bpfu_tracepoint head; /* what those who fire it see */
	char category[BPFU_TP_CATEGORY_MAX];
	const struct bpfu_func *func; /* name and arguments; set when first looked up */
	uint8_t pointee; /* records have so many bytes of what the first argument points to; 0: itself */
	uint8_t offset[BPFU_FUNC_ARGS_MAX]; /* of the arguments in a record */
	uint32_t record_size;
	_Atomic(struct bpfu_tp_user *) first;
};

/* libbpfu's own. */
extern struct bpfu_tp bpfu_tp_test_finish; /* at the end of test runs of skb and XDP programs */
extern struct bpfu_tp bpfu_tp_trigger;     /* in bpf_modify_return_test_tp() */

/* NULL: there is none of this name, or with this id. */
struct bpfu_tp *bpfu_tp_by_name(const char *name);
struct bpfu_tp *bpfu_tp_by_id(uint64_t id);

/* The tracepoint that a tp_btf program was loaded for. */
struct bpfu_tp *bpfu_tp_of_func(const struct bpfu_func *func);

/* What perf_event_attr.config and the file "id" say. */
uint64_t bpfu_tp_id(const struct bpfu_tp *tp);

/* The content of @path if it is the file "id" of a tracepoint, malloc()ed. 0, -ENOENT or -ENOMEM. */
int bpfu_tp_id_file(const char *path, void **data, uint32_t *size);

/*
 * Attach @prog, of which the caller keeps a reference until bpfu_tp_detach() and a grace period. 0,
 * -EINVAL or for records -EACCES (it reads more than there is), -ENOMEM.
 */
int bpfu_tp_attach(struct bpfu_tp *tp, struct bpfu_prog *prog, uint64_t cookie,
		   struct bpfu_tp_user **out);
void bpfu_tp_detach(struct bpfu_tp_user *user);

/* The same as a link (raw_tp, tp_btf), which holds the caller's reference of @prog. */
int bpfu_tp_link(struct bpfu_tp *tp, struct bpfu_prog *prog, uint64_t cookie,
		 struct bpfu_link **out);

/* Name of the tracepoint that @link (BPF_LINK_TYPE_RAW_TRACEPOINT) is attached to. */
const char *bpfu_tp_link_name(const struct bpfu_link *link);

#endif
