// SPDX-License-Identifier: BSD-2-Clause
/* Helpers: who may call them, and what they may be given. */
#include "../expect.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 4);
} h SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} ro SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_WRONLY_PROG);
} wo SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} pc SEC(".maps");

const volatile __u64 table[4] = { 1, 2, 3, 100 };
const volatile __u32 shift = 3;
static const char format[] = "%d %s";
static const char bad_format[] = "%d %";
__u64 counter;

#define CASE_IN(section, name_, verdict, body, ...)                                                \
	SEC(section) verdict __VA_ARGS__ __naked void name_(void)                                  \
	{                                                                                          \
		ASM(body, ADDR(m), ADDR(h), ADDR(ro), ADDR(wo), ADDR(pc), ADDR(counter));          \
	}
#define CASE(...) CASE_IN("raw_tp", __VA_ARGS__)

#define KEY0 "*(u64 *)(r10 - 8) = 0; r2 = r10; r2 += -8;"

CASE(helper_unknown, __failure(EINVAL), "call 9999; exit;", __msg("invalid func unknown#9999"))
CASE(helper_negative, __failure(EINVAL), "call -5; exit;", __msg("invalid func unknown#-5"))
CASE(helper_zero, __failure(EINVAL), "call 0; exit;",
     __msg("program of this type cannot use helper bpf_unspec#0"))
CASE(helper_of_other_type, __failure(EINVAL), "r2 = 0; call 44; r0 = 0; exit;",
     __msg("program of this type cannot use helper bpf_xdp_adjust_head#44"))
CASE(helper_needs_sleep, __failure(EINVAL), "r1 = r10; r1 += -8; r2 = 8; r3 = 0; call 148; r0 = 0; exit;",
     __msg("helper call might sleep in a non-sleepable prog"))
CASE(helper_missing_argument, __failure(EACCES), "r1 = r10; r1 += -8; call 16; r0 = 0; exit;",
     __msg("R2 !read_ok"))
CASE(helper_clobbers, __failure(EACCES), "r1 = 5; call 7; r0 = r1; exit;", __msg("R1 !read_ok"))
CASE(helper_keeps_r6, __success, "r6 = 5; call 7; r0 = r6; exit;", __retval(5))
CASE(helper_map_is_number, __failure(EACCES), KEY0 "r1 = 5; call 1; r0 = 0; exit;",
     __msg("R1 type=scalar expected=map_ptr"))
CASE(helper_key_is_number, __failure(EACCES), "r2 = 5; r1 = %[m] ll; call 1; r0 = 0; exit;",
     __msg("R2 type=scalar expected=fp, pkt, pkt_meta, map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_"))
CASE(helper_key_is_null, __failure(EACCES), "r2 = 0; r1 = %[m] ll; call 1; r0 = 0; exit;")
CASE(helper_key_in_value, __success,
     KEY0 "r1 = %[h] ll; call 1; if r0 == 0 goto 1f; r2 = r0; r1 = %[m] ll; call 1; 1: r0 = 0; exit;")
CASE(helper_key_in_maybe_null_value, __failure(EACCES),
     KEY0 "r1 = %[h] ll; call 1; r2 = r0; r1 = %[m] ll; call 1; r0 = 0; exit;",
     __msg("R2 type=map_value_or_null expected="))
CASE(helper_key_past_value, __failure(EACCES),
     KEY0 "r1 = %[h] ll; call 1; if r0 == 0 goto 1f; r2 = r0; r2 += 4; r1 = %[h] ll; call 1; 1: r0 = 0; exit;",
     __msg("invalid access to map value, value_size=8 off=4 size=8"))
CASE(helper_update, __success,
     KEY0 "*(u64 *)(r10 - 16) = 7; r3 = r10; r3 += -16; r4 = 0; r1 = %[h] ll; call 2; exit;", __retval(0))
CASE(helper_update_value_short, __failure(EINVAL),
     KEY0 "r3 = r10; r3 += -4; r4 = 0; r1 = %[h] ll; call 2; exit;")
CASE(helper_update_read_only, __failure(EACCES),
     KEY0 "*(u64 *)(r10 - 16) = 7; r3 = r10; r3 += -16; r4 = 0; r1 = %[ro] ll; call 2; exit;",
     __msg("write into map forbidden"))
CASE(helper_write_read_only_value, __failure(EACCES),
     KEY0 "r1 = %[ro] ll; call 1; if r0 == 0 goto 1f; *(u64 *)(r0 + 0) = 1; 1: r0 = 0; exit;",
     __msg("write into map forbidden, value_size=8 off=0 size=8"))
CASE(helper_read_read_only_value, __success,
     KEY0 "r1 = %[ro] ll; call 1; if r0 == 0 goto 1f; r0 = *(u64 *)(r0 + 0); exit; 1: r0 = 0; exit;", __retval(0))
CASE(helper_read_write_only_value, __failure(EACCES),
     KEY0 "r1 = %[wo] ll; call 1; if r0 == 0 goto 1f; r0 = *(u64 *)(r0 + 0); exit; 1: r0 = 0; exit;",
     __msg("read from map forbidden, value_size=8 off=0 size=8"))
CASE(helper_write_to_read_only_value, __failure(EACCES),
     KEY0 "r1 = %[ro] ll; call 1; if r0 == 0 goto 1f; r1 = r0; r2 = 8; call 16; 1: r0 = 0; exit;")
CASE(helper_write_to_value, __success,
     KEY0 "r1 = %[h] ll; call 1; if r0 == 0 goto 1f; r1 = r0; r2 = 8; call 16; 1: r0 = 0; exit;")
CASE(helper_write_past_value, __failure(EACCES),
     KEY0 "r1 = %[h] ll; call 1; if r0 == 0 goto 1f; r1 = r0; r2 = 9; call 16; 1: r0 = 0; exit;",
     __msg("invalid access to map value, value_size=8 off=0 size=9"))
CASE(helper_constant_key_never_null, __success,
     "*(u32 *)(r10 - 8) = 3; r2 = r10; r2 += -8; r1 = %[m] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;", __retval(0))
CASE(helper_constant_key_percpu, __success,
     "*(u32 *)(r10 - 8) = 3; r2 = r10; r2 += -8; r1 = %[pc] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;", __retval(0))
CASE(helper_constant_key_too_big, __failure(EACCES),
     "*(u32 *)(r10 - 8) = 4; r2 = r10; r2 += -8; r1 = %[m] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;",
     __msg("R0 invalid mem access 'map_value_or_null'"))
CASE(helper_constant_key_of_hash, __failure(EACCES),
     KEY0 "r1 = %[h] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;")
CASE(helper_constant_key_unaligned_slot, __failure(EACCES),
     "*(u32 *)(r10 - 4) = 3; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;")
CASE(helper_constant_key_part_of_number, __failure(EACCES),
     "*(u64 *)(r10 - 8) = 0; r2 = r10; r2 += -8; r1 = %[m] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;",
     __msg("R0 invalid mem access 'map_value_or_null'"))
CASE(helper_constant_key_two_paths, __failure(EACCES),
     "call 7; *(u32 *)(r10 - 8) = 3; if r0 == 0 goto 1f; *(u32 *)(r10 - 8) = 4; 1: r2 = r10; r2 += -8; r1 = %[m] ll; call 1;"
     "r0 = *(u64 *)(r0 + 0); exit;")
CASE(helper_zero_key_bytes_never_null, __success,
     "*(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; r0 = *(u64 *)(r0 + 0); exit;", __retval(0))
CASE(helper_global_variable, __success, "r1 = %[counter] ll; r2 = 1; lock *(u64 *)(r1 + 0) += r2; r0 = 0; exit;", __retval(0))
CASE(helper_global_variable_past, __failure(EACCES), "r1 = %[counter] ll; r0 = *(u64 *)(r1 + 8); exit;",
     __msg("invalid access to map value, value_size="))
CASE(helper_read_str_bounds_result, __success,
     "r1 = r10; r1 += -16; r2 = 16; r3 = 0; call 115; if r0 s< 0 goto 1f; r1 = r10; r1 += -32; r2 = r0; if r2 == 0 goto 1f;"
     "r3 = 0; call 113; 1: r0 = 0; exit;")
CASE(helper_probe_read_zero, __success, "r1 = r10; r1 += -8; r2 = 0; r3 = 0; call 113; r0 = 0; exit;", __retval(0))
CASE(helper_probe_read_at_top, __failure(EACCES), "r1 = r10; r2 = 0; r3 = 0; call 113; r0 = 0; exit;",
     __msg("invalid write to stack R1 off=0 size=0"))
CASE(helper_probe_read_null, __failure(EACCES), "r1 = 0; r2 = 8; r3 = 0; call 113; r0 = 0; exit;")
CASE_IN("tc", helper_csum_null, __success, "r1 = 0; r2 = 0; *(u64 *)(r10 - 8) = 0; r3 = r10; r3 += -8; r4 = 8; r5 = 0; call 28; r0 = 0; exit;",
	__retval(0))
CASE_IN("tc", helper_csum_null_with_size, __failure(EACCES), "r1 = 0; r2 = 8; *(u64 *)(r10 - 8) = 0; r3 = r10; r3 += -8; r4 = 8; r5 = 0; call 28; r0 = 0; exit;")
CASE_IN("syscall", helper_may_sleep, __success, "r1 = r10; r1 += -8; r2 = 8; r3 = 0; call 148; r0 = 0; exit;", __retval(0))

/* Compared with a pointer that is none, a pointer is found not to be null: it alone, and not by its low half. */
#define LOOKUP KEY0 "r1 = %[h] ll; call 1; r7 = r0; r6 = %[counter] ll;"
CASE(helper_result_equals_value, __success, LOOKUP "if r6 == r0 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r0 + 0); exit;", __retval(0))
CASE(helper_result_differs_not, __success, LOOKUP "if r0 != r6 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit;", __retval(0))
CASE(helper_result_equals_map, __success, LOOKUP "r6 = %[h] ll; if r0 == r6 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r0 + 0); exit;", __retval(0))
CASE(helper_result_equals_stack, __failure(EACCES), LOOKUP "if r0 == r10 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r0 + 0); exit;")
CASE(helper_result_differs, __failure(EACCES), LOOKUP "if r0 == r6 goto 1f; r0 = *(u64 *)(r0 + 0); 1: r0 = 0; exit;")
CASE(helper_result_equals_copy, __failure(EACCES), LOOKUP "if r6 == r0 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r7 + 0); exit;")
CASE(helper_result_equals_half, __failure(EACCES), LOOKUP "if w6 == w0 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r0 + 0); exit;")
CASE(helper_result_equals_result, __failure(EACCES),
     LOOKUP "r8 = r0;" LOOKUP "if r8 == r0 goto 1f; r0 = 0; exit; 1: r0 = *(u64 *)(r0 + 0); exit;")

#define STRTOL "*(u64 *)(r10 - 8) = 0x31; r1 = r10; r1 += -8; r2 = 8; r3 = 0;"
CASE(helper_number_aligned, __success, STRTOL "r4 = r10; r4 += -16; call 105; exit;", __retval(1))
CASE(helper_number_misaligned, __failure(EACCES), STRTOL "r4 = r10; r4 += -20; call 105; exit;",
     __msg("misaligned stack access off 0+-20+0 size 8"))
CASE(helper_number_misaligned_maybe, __failure(EACCES),
     "call 7; r6 = r0; r6 &= 1; r6 *= 4;" STRTOL "r4 = r10; r4 += -24; r4 += r6; call 105; exit;",
     __msg("misaligned stack access off (0x0; 0x4)+-24+0 size 8"))

SEC("raw_tp") __success __retval(100) int rodata_index(void *ctx)
{
	return (int)table[shift];
}

SEC("raw_tp") __failure(EACCES) __msg("write into map forbidden") int rodata_write(void *ctx)
{
	*(volatile __u64 *)&table[1] = 5;
	return 0;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to map value") int rodata_constant_out(void *ctx)
{
	const volatile __u64 *t = table;

	barrier_var(t);
	return (int)t[table[3]];
}

SEC("raw_tp") __success int rodata_decides_branch(void *ctx)
{
	if (shift == 4)
		return *(volatile int *)0;
	return 0;
}

SEC("raw_tp") __success int format_good(void *ctx)
{
	__u64 args[2] = { 1, 0 };
	char buf[16];

	return (int)bpf_snprintf(buf, sizeof(buf), format, args, sizeof(args)) & 0;
}

SEC("raw_tp") __failure(EINVAL) int format_bad(void *ctx)
{
	__u64 args[1] = { 1 };
	char buf[16];

	return (int)bpf_snprintf(buf, sizeof(buf), bad_format, args, sizeof(args));
}

SEC("raw_tp") __failure(EINVAL) int format_missing_argument(void *ctx)
{
	__u64 args[1] = { 1 };
	char buf[16];

	return (int)bpf_snprintf(buf, sizeof(buf), format, args, sizeof(args));
}

SEC("raw_tp") __failure(EACCES) __msg("R3 type=fp expected=map_value") int format_on_stack(void *ctx)
{
	char buf[16], fmt[4] = "hi";

	return (int)bpf_snprintf(buf, sizeof(buf), fmt, NULL, 0);
}

SEC("raw_tp") __failure(EACCES) __msg("R3 does not point to a readonly map'") int format_writable(void *ctx)
{
	char buf[16];

	return (int)bpf_snprintf(buf, sizeof(buf), (char *)&counter, NULL, 0);
}

SEC("syscall") __success __retval(3) int syscall_program(void *ctx)
{
	return 3;
}
