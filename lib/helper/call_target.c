// SPDX-License-Identifier: BSD-2-Clause
/* What a call in a rewritten program calls. */
#include <stddef.h>

#include "btf/func.h"
#include "helper/helper.h"
#include "map/map.h"

static const bpfu_helper_fn internal_calls[] = {
	[BPFU_CALL_HASH_SLOT - BPFU_CALL_HASH_SLOT] = bpfu_hash_slot,
	[BPFU_CALL_HASH_SLOT_4 - BPFU_CALL_HASH_SLOT] = bpfu_hash_slot_4,
	[BPFU_CALL_HASH_SLOT_8 - BPFU_CALL_HASH_SLOT] = bpfu_hash_slot_8,
};

bpfu_helper_fn bpfu_call_target(int32_t id)
{
	const struct bpfu_helper *helper = bpfu_helper_by_id(id);

	if (id >= BPFU_CALL_KFUNC)
		return (bpfu_helper_fn)bpfu_kfunc_addr((uint32_t)(id - BPFU_CALL_KFUNC));
	if (bpfu_call_is_internal(id))
		return internal_calls[id - BPFU_CALL_HASH_SLOT];
	return helper ? helper->fn : NULL;
}

unsigned bpfu_call_args(int32_t id)
{
	const struct bpfu_helper *helper = bpfu_helper_by_id(id);
	unsigned cnt = 0;

	if (bpfu_call_is_internal(id))
		return 2; /* map and key */
	if (!helper || id == BPF_FUNC_trace_printk) /* what is printed is not in its prototype */
		return 5;
	while (cnt < 5 && helper->arg[cnt] != BPFU_ARG_NONE)
		cnt++;
	if (id == BPF_FUNC_get_stackid || id == BPF_FUNC_get_stack)
		cnt++; /* rewrite/'s */
	return cnt;
}
