/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A link: a program attached to something, for as long as the link lives. What can be attached to
 * fills the operations; a NULL operation is answered as the kernel does for links without it.
 */
#ifndef BPFU_OBJ_LINK_H
#define BPFU_OBJ_LINK_H

#include <stdint.h>

#include "obj/obj.h"
#include "percpu/rcu.h"
#include "util/bits.h"
#include "util/uapi.h"

struct bpfu_link;
struct bpfu_prog;

struct bpfu_link_ops {
	/* Undo the attachment: no new run starts after it. Called once, before the link is freed. */
	void (*unlink)(struct bpfu_link *link);
	/* Free what holds the link, after a grace period. The generic part drops link->prog before. */
	void (*free)(struct bpfu_link *link);
	int (*detach)(struct bpfu_link *link);
	/* Replace the program (@old: only if it is the current one, may be NULL). */
	int (*update_prog)(struct bpfu_link *link, struct bpfu_prog *prog, struct bpfu_prog *old);
	/*
	 * The type's part of struct bpf_link_info, prefilled with what the user passed. 0 or -errno.
	 */
	int (*fill_info)(const struct bpfu_link *link, struct bpf_link_info *info);
};

struct bpfu_link {
	struct bpfu_obj obj;
	struct bpfu_rcu_head rcu;
	enum bpf_link_type type;
	const struct bpfu_link_ops *ops;
	struct bpfu_prog *prog; /* reference */
};

static inline struct bpfu_link *bpfu_link_of(struct bpfu_obj *obj)
{
	return bpfu_container_of(obj, struct bpfu_link, obj);
}

/* Takes over the caller's reference of @prog. One reference for the caller; not yet published. */
void bpfu_link_init(struct bpfu_link *link, enum bpf_link_type type,
		    const struct bpfu_link_ops *ops, struct bpfu_prog *prog);

static inline void bpfu_link_put(struct bpfu_link *link)
{
	bpfu_obj_put(link ? &link->obj : NULL);
}

#endif
