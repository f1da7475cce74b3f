// SPDX-License-Identifier: BSD-2-Clause
/* The kinds of BTF: one row each, with the handlers of both phases of the check. */
#include "btf/btf_check.h"
#include "util/bits.h"

#define KIND(kind, meta_, details_, resolve_, member_, kflag_)                                     \
	[BTF_KIND_##kind] = { #kind,                                                               \
			      bpfu_btf_meta_##meta_,                                               \
			      bpfu_btf_details_##details_,                                         \
			      bpfu_btf_resolve_##resolve_,                                         \
			      bpfu_btf_member_##member_,                                           \
			      bpfu_btf_member_kflag_##kflag_ }

/* clang-format off */
static const struct bpfu_btf_kind_ops kinds[] = {
	/*   kind        by itself   details     resolve   member    with bit-field encoding */
	KIND(INT,        int,        int,        none,     int,      int),
	KIND(PTR,        ref,        ref,        ptr,      ptr,      generic),
	KIND(ARRAY,      array,      array,      array,    array,    generic),
	KIND(STRUCT,     struct,     sized_list, struct,   sized,    generic),
	KIND(UNION,      struct,     sized_list, struct,   sized,    generic),
	KIND(ENUM,       enum,       sized_list, none,     sized,    enum),
	KIND(FWD,        fwd,        fwd,        none,     none,     none),
	KIND(TYPEDEF,    ref,        ref,        modifier, modifier, modifier),
	KIND(VOLATILE,   ref,        ref,        modifier, modifier, modifier),
	KIND(CONST,      ref,        ref,        modifier, modifier, modifier),
	KIND(RESTRICT,   ref,        ref,        modifier, modifier, modifier),
	KIND(FUNC,       func,       ref,        func,     none,     none),
	KIND(FUNC_PROTO, func_proto, func_proto, none,     none,     none),
	KIND(VAR,        var,        var,        var,      none,     none),
	KIND(DATASEC,    datasec,    sized_list, datasec,  none,     none),
	KIND(FLOAT,      float,      float,      none,     float,    generic),
	KIND(DECL_TAG,   decl_tag,   decl_tag,   decl_tag, none,     none),
	KIND(TYPE_TAG,   ref,        ref,        modifier, modifier, modifier),
	KIND(ENUM64,     enum64,     sized_list, none,     sized,    enum),
};
/* clang-format on */

const struct bpfu_btf_kind_ops *bpfu_btf_kind_ops(uint32_t kind)
{
	return kind < BPFU_ARRAY_SIZE(kinds) && kinds[kind].name ? &kinds[kind] : NULL;
}
