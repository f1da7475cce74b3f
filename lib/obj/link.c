// SPDX-License-Identifier: BSD-2-Clause
/* Links: the part that all kinds share, above all the order in which one is taken apart. */
#include "obj/link.h"

#include "obj/prog.h"

static void link_free(struct bpfu_rcu_head *head)
{
	struct bpfu_link *link = bpfu_container_of(head, struct bpfu_link, rcu);

	bpfu_prog_put(link->prog);
	link->ops->free(link);
}

static void link_release(struct bpfu_obj *obj)
{
	struct bpfu_link *link = bpfu_link_of(obj);

	link->ops->unlink(link);
	/* Whoever fires the attach point may still be looking at the link. */
	bpfu_call_rcu(&link->rcu, link_free);
	bpfu_rcu_poll();
}

void bpfu_link_init(struct bpfu_link *link, enum bpf_link_type type,
		    const struct bpfu_link_ops *ops, struct bpfu_prog *prog)
{
	bpfu_obj_init(&link->obj, BPFU_OBJ_LINK, link_release);
	link->type = type;
	link->ops = ops;
	link->prog = prog;
}
