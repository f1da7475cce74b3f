// SPDX-License-Identifier: BSD-2-Clause
/*
 * The types whose context is struct __sk_buff: access rules and conversion. Fields lie where the
 * uapi has them (helper/net.h), except the packet pointers and what the kernel keeps in 16 bits.
 * skb_run.c has the test runs.
 */
#include <errno.h>

#include "helper/net.h"
#include "insn/insn.h"
#include "obj/prog.h"
#include "prog_type/families.h"
#include "prog_type/skb_run.h"

#define NO_QUEUE_MAPPING 0xffff

#define FIELD(off, m) BPFU_IN_FIELD(off, struct __sk_buff, m)
#define START(m) ((int)offsetof(struct __sk_buff, m))
#define END(m) ((int)BPFU_FIELD_END(struct __sk_buff, m))

static bool in_socket_fields(int off)
{
	return off >= START(family) && off < END(local_port);
}

/* What all types agree on; @off is a multiple of @size. */
static bool common_access(int off, int size, bool write, struct bpfu_ctx_access *info)
{
	if (off < 0 || off >= (int)sizeof(struct __sk_buff) || off % size)
		return false;
	if (FIELD(off, cb))
		return off + size <= END(cb);
	if (FIELD(off, data) || FIELD(off, data_meta) || FIELD(off, data_end))
		return !info->is_ldsx && size == sizeof(uint32_t);
	if (FIELD(off, remote_ip4) || FIELD(off, local_ip4) || FIELD(off, remote_ip6) ||
	    FIELD(off, local_ip6))
		return size == sizeof(uint32_t);
	/* Pointers to kernel structures: none here. */
	if ((off >= START(flow_keys) && off < START(flow_keys) + 8) ||
	    (off >= START(sk) && off < START(sk) + 8))
		return false;
	if (FIELD(off, tstamp))
		return size == sizeof(uint64_t);
	if (FIELD(off, hwtstamp))
		return !write && size == sizeof(uint64_t);
	if (off >= START(tstamp_type) && off < START(hwtstamp))
		return false;
	if (write)
		return size == sizeof(uint32_t);
	info->ctx_field_size = sizeof(uint32_t);
	return size <= (int)sizeof(uint32_t);
}

static bool filter_access(int off, int size, bool write, const struct bpfu_prog *prog,
			  struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	if (FIELD(off, tc_classid) || FIELD(off, data) || FIELD(off, data_meta) ||
	    FIELD(off, data_end) || FIELD(off, tstamp) || FIELD(off, wire_len) ||
	    FIELD(off, hwtstamp) || in_socket_fields(off))
		return false;
	if (write && !FIELD(off, cb))
		return false;
	return common_access(off, size, write, info);
}

static void set_packet_kind(int off, struct bpfu_ctx_access *info)
{
	info->kind = FIELD(off, data)	   ? BPFU_CTX_PACKET :
		     FIELD(off, data_meta) ? BPFU_CTX_PACKET_META :
		     FIELD(off, data_end)  ? BPFU_CTX_PACKET_END :
					     BPFU_CTX_SCALAR;
}

static bool cgroup_access(int off, int size, bool write, const struct bpfu_prog *prog,
			  struct bpfu_ctx_access *info)
{
	set_packet_kind(off, info);
	if (FIELD(off, tc_classid) || FIELD(off, data_meta) || FIELD(off, wire_len))
		return false;
	if (write && !FIELD(off, mark) && !FIELD(off, priority) && !FIELD(off, cb) &&
	    !FIELD(off, tstamp))
		return false;
	return common_access(off, size, write, info);
}

static bool tc_access(int off, int size, bool write, const struct bpfu_prog *prog,
		      struct bpfu_ctx_access *info)
{
	set_packet_kind(off, info);
	if (write && !FIELD(off, mark) && !FIELD(off, tc_index) && !FIELD(off, priority) &&
	    !FIELD(off, tc_classid) && !FIELD(off, cb) && !FIELD(off, tstamp) &&
	    !FIELD(off, queue_mapping))
		return false;
	if (in_socket_fields(off))
		return false;
	if (off == START(tstamp_type))
		return size == sizeof(uint8_t);
	return common_access(off, size, write, info);
}

/* The same access of @size (BPF_H …) at the same place. */
static struct bpf_insn narrowed(const struct bpf_insn *insn, uint8_t size)
{
	struct bpf_insn out = *insn;

	out.code = (uint8_t)((out.code & ~BPF_SIZE(0xff)) | size);
	return out;
}

/* A store of 16 bits that values from NO_QUEUE_MAPPING on do not make. */
static int convert_queue_store(const struct bpf_insn *insn, struct bpf_insn *buf)
{
	int cnt = 0;

	if (BPF_CLASS(insn->code) == BPF_ST && insn->imm >= NO_QUEUE_MAPPING) {
		buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0);
		return cnt;
	}
	if (BPF_CLASS(insn->code) == BPF_STX)
		buf[cnt++] = BPFU_INSN(BPF_JMP | BPF_JGE | BPF_K, insn->src_reg, 0, 1,
				       NO_QUEUE_MAPPING);
	buf[cnt++] = narrowed(insn, BPF_H);
	return cnt;
}

static int convert_ctx_access(const struct bpf_insn *insn, struct bpf_insn *buf,
			      const struct bpfu_prog *prog, uint32_t *target_size)
{
	size_t off;

	if (BPF_CLASS(insn->code) != BPF_LDX) {
		if (FIELD(insn->off, queue_mapping))
			return convert_queue_store(insn, buf);
		if (!FIELD(insn->off, tc_index) && !FIELD(insn->off, tc_classid))
			return 0;
		buf[0] = narrowed(insn, BPF_H);
		return 1;
	}
	switch (insn->off) {
	case offsetof(struct __sk_buff, data):
		off = offsetof(struct bpfu_skb, data);
		break;
	case offsetof(struct __sk_buff, data_meta):
		off = offsetof(struct bpfu_skb, data_meta);
		break;
	case offsetof(struct __sk_buff, data_end):
		off = offsetof(struct bpfu_skb, data_end);
		break;
	default:
		return 0;
	}
	buf[0] = BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, insn->dst_reg, insn->src_reg, (int16_t)off,
			   0);
	*target_size = sizeof(uint32_t);
	return 1;
}

static bool tc_helper_allowed(const struct bpfu_helper *helper, int32_t id,
			      const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_SKB);
}

static bool filter_helper_allowed(const struct bpfu_helper *helper, int32_t id,
				  const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_FILTER);
}

static int cgroup_load_check(const union bpf_attr *attr)
{
	return attr->expected_attach_type == BPF_CGROUP_INET_INGRESS ||
			       attr->expected_attach_type == BPF_CGROUP_INET_EGRESS ?
		       0 :
		       -EINVAL;
}

static void cgroup_retval_range(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max)
{
	*has = true;
	*min = 0;
	*max = prog->expected_attach_type == BPF_CGROUP_INET_EGRESS ? 3 : 1;
}

const struct bpfu_prog_type bpfu_type_socket_filter = {
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.name = "socket_filter",
	.is_valid_access = filter_access,
	.convert_ctx_access = convert_ctx_access,
	.helper_allowed = filter_helper_allowed,
	.test_run = bpfu_skb_test_run,
};

const struct bpfu_prog_type bpfu_type_sched_cls = {
	.type = BPF_PROG_TYPE_SCHED_CLS,
	.name = "sched_cls",
	.is_valid_access = tc_access,
	.convert_ctx_access = convert_ctx_access,
	.helper_allowed = tc_helper_allowed,
	.may_write_packet = true,
	.test_run = bpfu_skb_test_run,
};

const struct bpfu_prog_type bpfu_type_sched_act = {
	.type = BPF_PROG_TYPE_SCHED_ACT,
	.name = "sched_act",
	.is_valid_access = tc_access,
	.convert_ctx_access = convert_ctx_access,
	.helper_allowed = tc_helper_allowed,
	.may_write_packet = true,
	.test_run = bpfu_skb_test_run,
};

const struct bpfu_prog_type bpfu_type_cgroup_skb = {
	.type = BPF_PROG_TYPE_CGROUP_SKB,
	.name = "cgroup_skb",
	.is_valid_access = cgroup_access,
	.convert_ctx_access = convert_ctx_access,
	.helper_allowed = filter_helper_allowed,
	.retval_range = cgroup_retval_range,
	.load_check = cgroup_load_check,
	.test_run = bpfu_skb_test_run,
};
