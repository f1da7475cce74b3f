// SPDX-License-Identifier: BSD-2-Clause
/* Packets and contexts: every form of the bounds check, what invalidates it, who may write. */
#include "../expect.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, char[14]);
	__type(value, char[8]);
	__uint(max_entries, 8);
} h SEC(".maps");

#define CASE_IN(section, name_, verdict, body, ...)                                                \
	SEC(section) verdict __VA_ARGS__ __naked void name_(void)                                  \
	{                                                                                          \
		ASM(body, ADDR(m), ADDR(h));                                                       \
	}
#define XDP(...) CASE_IN("xdp", __VA_ARGS__)
#define TC(...) CASE_IN("tc", __VA_ARGS__)

/* r2 = data, r3 = data_end, r4 = data + 14, r6 = ctx */
#define POINTERS                                                                                   \
	"r6 = r1; r2 = *(u32 *)(r1 + 0); r3 = *(u32 *)(r1 + 4); r4 = r2; r4 += 14;"
#define OUT "1: r0 = 2; exit;"

XDP(packet_no_check, __failure(EACCES), POINTERS "r0 = *(u8 *)(r2 + 0);" OUT,
    __msg("invalid access to packet, off=0 size=1, R2(id=0,off=0,r=0)"))
XDP(packet_gt, __success, POINTERS "if r4 > r3 goto 1f; r0 = *(u8 *)(r2 + 13);" OUT, __retval(2))
XDP(packet_gt_off_by_one, __failure(EACCES), POINTERS "if r4 > r3 goto 1f; r0 = *(u8 *)(r2 + 14);" OUT,
    __msg("invalid access to packet, off=14 size=1, R2(id=0,off=14,r=14)"))
XDP(packet_gt_other_way, __failure(EACCES), POINTERS "if r4 > r3 goto +1; goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_ge, __success, POINTERS "if r4 >= r3 goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_ge_off_by_one, __failure(EACCES), POINTERS "if r4 >= r3 goto 1f; r0 = *(u8 *)(r2 + 15);" OUT)
XDP(packet_lt, __success, POINTERS "if r4 < r3 goto +1; goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_lt_other_way, __failure(EACCES), POINTERS "if r4 < r3 goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_le, __success, POINTERS "if r4 <= r3 goto +1; goto 1f; r0 = *(u8 *)(r2 + 13);" OUT)
XDP(packet_le_off_by_one, __failure(EACCES), POINTERS "if r4 <= r3 goto +1; goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_end_gt, __success, POINTERS "if r3 > r4 goto +1; goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_end_ge, __success, POINTERS "if r3 >= r4 goto +1; goto 1f; r0 = *(u8 *)(r2 + 13);" OUT)
XDP(packet_end_lt, __success, POINTERS "if r3 < r4 goto 1f; r0 = *(u8 *)(r2 + 13);" OUT)
XDP(packet_end_lt_off_by_one, __failure(EACCES), POINTERS "if r3 < r4 goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_end_le, __success, POINTERS "if r3 <= r4 goto 1f; r0 = *(u8 *)(r2 + 14);" OUT)
XDP(packet_eq_teaches_nothing, __failure(EACCES), POINTERS "if r4 == r3 goto +1; goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_signed_teaches_nothing, __failure(EACCES), POINTERS "if r4 s> r3 goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_32bit_teaches_nothing, __failure(EACCES), POINTERS "if w4 > w3 goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_swapped_pointers, __failure(EACCES), POINTERS "if r2 > r3 goto 1f; r0 = *(u8 *)(r4 + 0);" OUT)
XDP(packet_negative_offset, __failure(EACCES), POINTERS "if r4 > r3 goto 1f; r0 = *(u8 *)(r2 - 1);" OUT)
XDP(packet_before_checked, __success, POINTERS "if r4 > r3 goto 1f; r0 = *(u8 *)(r4 - 14);" OUT)
XDP(packet_wide_at_end, __failure(EACCES), POINTERS "if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 11);" OUT)
XDP(packet_end_deref, __failure(EACCES), POINTERS "r0 = *(u8 *)(r3 + 0);" OUT,
    __msg("R3 invalid mem access 'pkt_end'"))
XDP(packet_end_arith, __failure(EACCES), POINTERS "r3 += 8; r0 = 0;" OUT,
    __msg("R3 pointer arithmetic on pkt_end prohibited"))
XDP(packet_write, __success, POINTERS "if r4 > r3 goto 1f; *(u8 *)(r2 + 13) = 7;" OUT, __retval(2))
XDP(packet_copy_keeps_range, __success, POINTERS "r5 = r2; if r4 > r3 goto 1f; r0 = *(u8 *)(r5 + 13);" OUT)
XDP(packet_reload_has_no_range, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r2 = *(u32 *)(r6 + 0); r3 = *(u32 *)(r6 + 4); r2 += 1; r0 = *(u8 *)(r2 + 13);" OUT)
XDP(packet_range_in_spill, __success,
    POINTERS "*(u64 *)(r10 - 8) = r2; if r4 > r3 goto 1f; r5 = *(u64 *)(r10 - 8); r0 = *(u8 *)(r5 + 13);" OUT)
XDP(packet_var_offset, __success,
    POINTERS "if r4 > r3 goto 1f; r5 = *(u8 *)(r2 + 0); r2 += r5; r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_var_offset_unchecked, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r5 = *(u8 *)(r2 + 0); r2 += r5; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_var_offset_checks_other, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r5 = *(u8 *)(r2 + 0); r7 = r2; r2 += r5; r7 += r5; r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r7 + 0);" OUT)
XDP(packet_var_offset_big, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r5 = *(u32 *)(r2 + 0); r5 &= 0xffff; r2 += r5; r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_var_offset_signed, __failure(EINVAL),
    POINTERS "if r4 > r3 goto 1f; r5 = *(u64 *)(r2 + 0); r2 += r5; r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_var_offset_negative, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r5 = *(u8 *)(r2 + 0); r5 -= 8; r2 += r5; r4 = r2; r4 += 16; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 8);" OUT)
XDP(packet_after_adjust_head, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r7 = r2; r1 = r6; r2 = 0; call 44; r0 = *(u8 *)(r7 + 0);" OUT,
    __msg("R7 invalid mem access 'scalar'"))
XDP(packet_after_adjust_head_reload, __success,
    POINTERS "if r4 > r3 goto 1f; r1 = r6; r2 = 0; call 44; r2 = *(u32 *)(r6 + 0); r3 = *(u32 *)(r6 + 4); r4 = r2; r4 += 14; if r4 > r3 goto 1f; r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_spill_after_adjust_head, __failure(EACCES),
    POINTERS "*(u64 *)(r10 - 8) = r2; if r4 > r3 goto 1f; r1 = r6; r2 = 0; call 44; r7 = *(u64 *)(r10 - 8); r0 = *(u8 *)(r7 + 0);" OUT)
XDP(packet_after_other_helper, __success,
    POINTERS "if r4 > r3 goto 1f; r7 = r2; call 7; r0 = *(u8 *)(r7 + 0);" OUT)
XDP(packet_as_key, __success,
    POINTERS "if r4 > r3 goto 1f; r1 = %[h] ll; call 1;" OUT)
XDP(packet_as_key_unchecked, __failure(EACCES), POINTERS "r1 = %[h] ll; call 1;" OUT)
XDP(packet_to_helper_without_access, __failure(EACCES),
    POINTERS "if r4 > r3 goto 1f; r1 = r2; r2 = 8; call 16;" OUT,
    __msg("helper access to the packet is not allowed"))
XDP(packet_atomic, __failure(EACCES), POINTERS "if r4 > r3 goto 1f; r1 = 1; lock *(u32 *)(r2 + 0) += r1;" OUT,
    __msg("BPF_ATOMIC stores into R2 pkt is not allowed"))
XDP(packet_leak_to_map, __success,
    POINTERS "r7 = r2; *(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; if r0 == 0 goto 1f; *(u64 *)(r0 + 0) = r7;" OUT)
XDP(packet_meta, __success,
    "r2 = *(u32 *)(r1 + 8); r3 = *(u32 *)(r1 + 0); r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_meta_against_end, __failure(EACCES),
    "r2 = *(u32 *)(r1 + 8); r3 = *(u32 *)(r1 + 4); r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_meta_against_moved_data, __failure(EACCES),
    "r2 = *(u32 *)(r1 + 8); r3 = *(u32 *)(r1 + 0); r3 += 8; r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u32 *)(r2 + 0);" OUT)
XDP(packet_range_not_for_meta, __failure(EACCES),
    "r2 = *(u32 *)(r1 + 0); r3 = *(u32 *)(r1 + 4); r5 = *(u32 *)(r1 + 8); r4 = r2; r4 += 4; if r4 > r3 goto 1f; r0 = *(u8 *)(r5 + 0);" OUT)
XDP(packet_merge_of_checked_and_not, __failure(EACCES),
    POINTERS "r5 = *(u32 *)(r6 + 12); if r5 == 0 goto 3f; if r4 > r3 goto 1f; 3: r0 = *(u8 *)(r2 + 0);" OUT)
XDP(packet_merge_of_small_and_big, __failure(EACCES),
    POINTERS "r5 = *(u32 *)(r6 + 12); r7 = r2; r7 += 4; if r5 == 0 goto 3f; if r4 > r3 goto 1f; goto 4f; 3: if r7 > r3 goto 1f; 4: r0 = *(u8 *)(r2 + 13);" OUT)

TC(tc_write, __success,
   "r2 = *(u32 *)(r1 + 76); r3 = *(u32 *)(r1 + 80); r4 = r2; r4 += 14; if r4 > r3 goto 1f; *(u8 *)(r2 + 0) = 1; 1: r0 = 0; exit;",
   __retval(0))
TC(tc_store_bytes_invalidates, __failure(EACCES),
   "r6 = r1; r7 = *(u32 *)(r1 + 76); r3 = *(u32 *)(r1 + 80); r4 = r7; r4 += 14; if r4 > r3 goto 1f;"
   "*(u64 *)(r10 - 8) = 0; r2 = 0; r3 = r10; r3 += -8; r4 = 1; r5 = 0; call 9; r0 = *(u8 *)(r7 + 0); 1: r0 = 0; exit;")
TC(tc_mark, __success, "r2 = 5; *(u32 *)(r1 + 8) = r2; r0 = *(u32 *)(r1 + 8); r0 -= 5; exit;", __retval(0))
CASE_IN("socket", filter_no_packet, __failure(EACCES), "r2 = *(u32 *)(r1 + 76); r0 = 0; exit;",
	__msg("invalid bpf_context access off=76 size=4"))
CASE_IN("socket", filter_len, __success, "r0 = *(u32 *)(r1 + 0); exit;")
CASE_IN("socket", filter_load_bytes, __success,
	"r2 = 0; r3 = r10; r3 += -8; r4 = 8; call 26; r0 = *(u8 *)(r10 - 8); exit;")
CASE_IN("cgroup_skb/egress", cgroup_read, __success,
	"r2 = *(u32 *)(r1 + 76); r3 = *(u32 *)(r1 + 80); r4 = r2; r4 += 1; if r4 > r3 goto 1f; r0 = *(u8 *)(r2 + 0); 1: r0 = 1; exit;")
CASE_IN("cgroup_skb/egress", cgroup_write, __failure(EACCES),
	"r2 = *(u32 *)(r1 + 76); r3 = *(u32 *)(r1 + 80); r4 = r2; r4 += 1; if r4 > r3 goto 1f; *(u8 *)(r2 + 0) = 1; 1: r0 = 1; exit;",
	__msg("cannot write into packet"))
CASE_IN("cgroup_skb/ingress", cgroup_return_range, __failure(EINVAL), "r0 = 2; exit;",
	__msg("At program exit the register R0 has smin=2 smax=2 should have been in [0, 1]"))
CASE_IN("cgroup_skb/ingress", cgroup_return_unknown, __failure(EINVAL), "r0 = *(u32 *)(r1 + 0); exit;",
	__msg("At program exit the register R0 has"))

XDP(ctx_unknown_field, __failure(EACCES), "r0 = *(u32 *)(r1 + 200); exit;",
    __msg("invalid bpf_context access off=200 size=4"))
XDP(ctx_negative, __failure(EACCES), "r0 = *(u32 *)(r1 - 4); exit;",
    __msg("invalid bpf_context access off=-4 size=4"))
XDP(ctx_wrong_size, __failure(EACCES), "r0 = *(u64 *)(r1 + 0); exit;")
XDP(ctx_half_of_pointer, __failure(EACCES), "r0 = *(u16 *)(r1 + 0); exit;")
XDP(ctx_write, __failure(EACCES), "*(u32 *)(r1 + 0) = 0; r0 = 0; exit;")
XDP(ctx_moved, __failure(EACCES), "r1 += 4; r0 = *(u32 *)(r1 + 0); exit;",
    __msg("dereference of modified ctx ptr R1 off=4 disallowed"))
XDP(ctx_variable, __failure(EACCES), "r2 = *(u32 *)(r1 + 12); r2 &= 4; r1 += r2; r0 = *(u32 *)(r1 + 0); exit;",
    __msg("variable ctx access var_off=(0x0; 0x4) disallowed"))
XDP(ctx_after_moving_back, __success, "r1 += 4; r1 += -4; r0 = *(u32 *)(r1 + 12); r0 = 2; exit;")
XDP(ctx_as_stack, __failure(EINVAL),
    "r2 = *(u32 *)(r1 + 12); r3 = r10; r3 += -64; if r2 == 0 goto 1f; r3 = r1; 1: r0 = *(u32 *)(r3 + 16); r0 = 2; exit;",
    __msg("same insn cannot be used with different pointers"))
CASE_IN("raw_tp", ctx_raw_tp, __success, "r0 = *(u64 *)(r1 + 88); exit;", __no_run_kernel)
CASE_IN("raw_tp", ctx_raw_tp_beyond, __failure(EACCES), "r0 = *(u64 *)(r1 + 96); exit;",
	__msg("invalid bpf_context access off=96 size=8"))
CASE_IN("raw_tp", ctx_raw_tp_write, __failure(EACCES), "*(u64 *)(r1 + 0) = 1; r0 = 0; exit;")
CASE_IN("raw_tp", ctx_arg_is_a_number, __failure(EACCES), "r1 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r1 + 0); exit;",
	__msg("R1 invalid mem access 'scalar'"))
CASE_IN("syscall", ctx_syscall, __success, "r0 = *(u32 *)(r1 + 4); *(u64 *)(r1 + 8) = 5; exit;", __retval(0))
CASE_IN("syscall", ctx_to_helper, __failure(EACCES), "r2 = 8; call 16; r0 = 0; exit;",
	__msg("R1 type=ctx expected=fp, pkt, pkt_meta, map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_"))
CASE_IN("raw_tp", ctx_atomic, __failure(EACCES), "r2 = 1; lock *(u64 *)(r1 + 0) += r2; r0 = 0; exit;",
	__msg("BPF_ATOMIC stores into R1 ctx is not allowed"))
