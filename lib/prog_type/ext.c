// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_EXT: programs that replace a global function of another program. What they may do is what
 * programs of that one's type may: the verifier (verifier/attach.c) puts its operations in place of these
 * before anything is asked of them.
 */
#include <errno.h>

#include "prog_type/families.h"

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	return false;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return false;
}

static int load_check(const union bpf_attr *attr)
{
	return attr->expected_attach_type ? -EINVAL : 0;
}

const struct bpfu_prog_type bpfu_type_ext = {
	.type = BPF_PROG_TYPE_EXT,
	.name = "ext",
	.is_valid_access = is_valid_access,
	.helper_allowed = helper_allowed,
	.load_check = load_check,
};
