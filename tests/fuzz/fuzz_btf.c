// SPDX-License-Identifier: BSD-2-Clause
/*
 * The BTF loader: no blob makes it read outside of the blob, hang or leak, and everything that it
 * accepted can be looked up. Ids outside of the range have no type.
 */
#include "fuzz.h"

#include <errno.h>

#include "btf/btf.h"

static void walk(const struct bpfu_btf *btf)
{
	for (uint32_t id = 0; id < btf->type_cnt + 2; id++) {
		const struct btf_type *t = bpfu_btf_type(btf, id), *bare;
		uint32_t res_id = 0;

		FUZZ_CHECK(!t || id < btf->type_cnt, "type %u of %u", id, btf->type_cnt);
		if (!t)
			continue;
		FUZZ_CHECK(bpfu_btf_name(btf, t->name_off), "type %u was accepted with a bad name",
			   id);
		bpfu_btf_size(btf, id);
		bare = bpfu_btf_skip_modifiers(btf, id, &res_id);
		FUZZ_CHECK(!bare || res_id < btf->type_cnt, "type %u leads to %u", id, res_id);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpfu_btf *btf = NULL;
	static char text[1 << 16];
	struct bpfu_log log;
	uint32_t true_size;
	int err;

	if (bpfu_log_init(&log, 1, (uint64_t)(uintptr_t)text, sizeof(text)))
		return 0;
	err = bpfu_btf_new(data, (uint32_t)size, &log, &btf);
	FUZZ_CHECK(err <= 0, "returned %d", err);
	FUZZ_CHECK(!err == (btf != NULL), "returned %d and object %p", err, (void *)btf);
	if (!err) {
		walk(btf);
		bpfu_obj_put(&btf->obj);
	}
	bpfu_log_finalize(&log, &true_size);
	return 0;
}
