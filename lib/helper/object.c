// SPDX-License-Identifier: BSD-2-Clause
/*
 * Objects that programs make (map/object.h): the kernel functions bpf_obj_new() and bpf_obj_drop() are
 * macros around, and the exchange with a pointer in a map's value. rewrite/ puts the size in place of
 * bpf_obj_new_impl()'s type id.
 */
#include "btf/traceable.h"
#include "helper/bodies.h"
#include "map/object.h"
#include "util/bits.h"

void *bpfu_obj_new_impl(uint64_t size, void *meta);
void bpfu_obj_drop_impl(void *object, void *meta);

BPFU_PATCHABLE void *bpfu_obj_new_impl(uint64_t size, void *meta)
{
	return bpfu_object_new(size);
}
BPFU_TRACEABLE(bpfu_obj_new_impl, "void *bpf_obj_new_impl(u64 local_type_id__k, void *meta__ign)",
	       BPFU_FUNC_KFUNC);

BPFU_PATCHABLE void bpfu_obj_drop_impl(void *object, void *meta)
{
	bpfu_object_drop(object);
}
BPFU_TRACEABLE(bpfu_obj_drop_impl, "void bpf_obj_drop_impl(void *p__alloc, void *meta__ign)",
	       BPFU_FUNC_KFUNC);

uint64_t bpfu_helper_kptr_xchg(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return __atomic_exchange_n((uint64_t *)bpfu_ptr(r1), r2, __ATOMIC_SEQ_CST);
}
