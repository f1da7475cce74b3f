// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_CGROUP_SOCK: the context is struct bpf_sock, and the attach type says which of its
 * fields may be used. There are no cgroups here to attach to and no test run, but loaders load one
 * to find out whether expected_attach_type is known.
 */
#include <errno.h>

#include "obj/prog.h"
#include "prog_type/families.h"

#define FIELD(off, m) BPFU_IN_FIELD(off, struct bpf_sock, m)

/* Fields of a socket that is bound already, or one that is just being made. */
static bool attach_type_has(enum bpf_attach_type attach, int off, bool write)
{
	bool bound4 = attach == BPF_CGROUP_INET4_POST_BIND;
	bool bound6 = attach == BPF_CGROUP_INET6_POST_BIND;

	if (FIELD(off, bound_dev_if) || FIELD(off, mark) || FIELD(off, priority))
		return attach == BPF_CGROUP_INET_SOCK_CREATE ||
		       attach == BPF_CGROUP_INET_SOCK_RELEASE;
	if (FIELD(off, src_ip4))
		return bound4 && !write;
	if (FIELD(off, src_ip6))
		return bound6 && !write;
	if (FIELD(off, src_port))
		return (bound4 || bound6) && !write;
	return !write;
}

/* Width of the field that a narrower load at @off may be part of, 0: only whole fields. */
static int narrow_width(int off, int size)
{
	if (FIELD(off, src_ip4) || FIELD(off, src_ip6) || FIELD(off, dst_ip4) ||
	    FIELD(off, dst_ip6))
		return sizeof(uint32_t);
	/* 16 bits, which older programs load as 32. */
	if (FIELD(off, dst_port))
		return size == sizeof(uint32_t) ? sizeof(uint32_t) : sizeof(uint16_t);
	switch (off) { /* from the first byte only */
	case offsetof(struct bpf_sock, family):
	case offsetof(struct bpf_sock, type):
	case offsetof(struct bpf_sock, protocol):
	case offsetof(struct bpf_sock, src_port):
	case offsetof(struct bpf_sock, state):
	case offsetof(struct bpf_sock, rx_queue_mapping):
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	int width = narrow_width(off, size);

	info->kind = BPFU_CTX_SCALAR;
	if (off < 0 || off >= (int)sizeof(struct bpf_sock) || off % size)
		return false;
	if (off >= (int)BPFU_FIELD_END(struct bpf_sock, dst_port) &&
	    off < (int)offsetof(struct bpf_sock, dst_ip4))
		return false; /* padding behind the port */
	info->ctx_field_size = width;
	if (width ? size > width : size != sizeof(uint32_t))
		return false;
	return attach_type_has(prog->expected_attach_type, off, write);
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, 0) || id == BPF_FUNC_ktime_get_coarse_ns;
}

static void retval_range(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max)
{
	*has = true;
	*min = 0;
	*max = 1;
}

static int load_check(const union bpf_attr *attr)
{
	switch (attr->expected_attach_type) {
	case 0: /* not given; BPF_PROG_LOAD takes the first */
	case BPF_CGROUP_INET_SOCK_CREATE:
	case BPF_CGROUP_INET_SOCK_RELEASE:
	case BPF_CGROUP_INET4_POST_BIND:
	case BPF_CGROUP_INET6_POST_BIND:
		return 0;
	default:
		return -EINVAL;
	}
}

const struct bpfu_prog_type bpfu_type_cgroup_sock = {
	.type = BPF_PROG_TYPE_CGROUP_SOCK,
	.name = "cgroup_sock",
	.is_valid_access = is_valid_access,
	.helper_allowed = helper_allowed,
	.retval_range = retval_range,
	.load_check = load_check,
};
