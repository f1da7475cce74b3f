// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ways in which verifiers have been fooled. Each program tries to reach memory that it must not reach,
 * by making the verifier believe something of a value that is not true; the comment says what.
 */
#include "../expect.h"

#define noinline __attribute__((noinline))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, char[64]);
	__uint(max_entries, 2);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, char[16]);
	__uint(max_entries, 2);
} h SEC(".maps");

/* r9 = value of 64 bytes, r6 = unknown */
#define SETUP                                                                                      \
	"r6 = *(u64 *)(r1 + 0);"                                                                   \
	"*(u32 *)(r10 - 4) = 0;"                                                                   \
	"r2 = r10; r2 += -4; r1 = %[m] ll; call 1;"                                                \
	"if r0 != 0 goto 9f; r0 = 0; exit; 9: r9 = r0;"

/* Use r6 as an index; USE8: and "goto 8f" gives up. */
#define USE "r9 += r6; r0 = *(u8 *)(r9 + 0); r0 = 0; exit;"
#define USE8 USE "8: r0 = 0; exit;"

#define CASE(name_, verdict, body, ...)                                                            \
	SEC("raw_tp") verdict __VA_ARGS__ __naked void name_(void)                                 \
	{                                                                                          \
		ASM(SETUP body, ADDR(m), ADDR(h));                                                 \
	}

/* 32-bit bounds must not become 64-bit ones (CVE-2020-8835). */
CASE(attack_jmp32_bounds, __failure(EINVAL), "if w6 > 63 goto 8f; if w6 s< 0 goto 8f;" USE8)
CASE(attack_jmp32_equal, __failure(EINVAL), "if w6 != 5 goto 8f;" USE8)
CASE(attack_jmp32_not_equal, __failure(EINVAL), "w7 = w6; if w7 == 5 goto +1; goto 8f;" USE8)
/* A 32-bit or with a value whose upper half is known (CVE-2020-27194, or of bounds). */
CASE(attack_or_bounds, __failure(EACCES), "r7 = 0x600000002 ll; if r6 >= r7 goto 8f; if r6 s<= 0 goto 8f; r6 |= 0; w6 |= 0;" USE8)
/* Sign extension of a 32-bit move (CVE-2017-16995). */
CASE(attack_mov32_sign, __failure(EINVAL), "w6 = -1; if r6 == -1 goto +2; r6 = 0x40000000; goto +1; r6 = 0;" USE)
CASE(attack_mov64_sign, __success, "r6 = -1; if r6 == -1 goto +2; r6 = 0x40000000; goto +1; r6 = 0;" USE)
/* Truncated compare after a 64-bit mask. */
CASE(attack_and32_high_half, __success, "w6 &= 63;" USE)
CASE(attack_add32_carry, __success, "w6 &= 63; r7 = 0x100000000 ll; r6 += r7; w6 += 0;" USE)
CASE(attack_add64_high_half, __failure(EINVAL), "w6 &= 63; r7 = 0x100000000 ll; r6 += r7;" USE)
CASE(attack_sub32_wraps, __failure(EACCES), "w6 &= 1; w6 -= 1; w6 >>= 1;" USE)
/* Shift by more than the width, and of a sign (CVE-2018-18445). */
CASE(attack_rsh_then_arsh32, __failure(EACCES), "r6 >>= 26; w6 s>>= 31; w6 &= 127;" USE)
CASE(attack_arsh32_upper, __failure(EACCES), "w6 = w6; r6 <<= 31; r6 s>>= 31;" USE)
/* Multiplication that wraps. */
CASE(attack_mul_wraps, __failure(EINVAL), "r6 &= 0xff; r7 = 0x0101010101010101 ll; r6 *= r7;" USE)
CASE(attack_mul32_wraps, __failure(EACCES), "w6 &= 0xffff; w6 *= 0x10001; w6 >>= 8;" USE)
/* 32-bit divisor and remainder, dividing by zero. */
CASE(attack_div_by_zero, __failure(EINVAL), "r7 = r6; r7 &= 1; r8 = 5; r8 /= r7; r6 = r8;" USE)
CASE(attack_mod_by_zero, __failure(EINVAL), "r7 = 63; r7 &= r6; r6 %%= r7;" USE)
CASE(attack_mod32_keeps_value, __failure(EINVAL), "w6 %%= 64;" USE)
/* Negative zero-extension: w = -w. */
CASE(attack_neg32, __failure(EACCES), "w6 &= 63; w6 = -w6;" USE)
CASE(attack_xor_sign, __failure(EACCES), "r6 &= 63; r6 ^= -1;" USE)
/* Comparison of a register with itself or its copy teaches nothing of the other direction. */
CASE(attack_self_compare, __failure(EINVAL), "if r6 < r6 goto 8f;" USE8)
CASE(attack_copy_compare, __failure(EINVAL), "r7 = r6; if r6 > r7 goto 8f;" USE8)
/* A copy that was changed since is not bounded by the original. */
CASE(attack_stale_link_mul, __failure(EINVAL), "r7 = r6; r6 *= 2; if r7 > 15 goto 8f; r6 += 0;" USE8)
CASE(attack_stale_link_add_twice, __failure(EINVAL), "r7 = r6; r6 += 1; r6 += 100; if r7 > 15 goto 8f;" USE8)
CASE(attack_stale_link_spill, __failure(EINVAL),
     "*(u64 *)(r10 - 16) = r6; r7 = r6; *(u32 *)(r10 - 12) = 1; if r7 > 15 goto 8f; r6 = *(u64 *)(r10 - 16);" USE8)
CASE(attack_link_zext, __failure(EINVAL), "r7 = r6; w7 = w7; if r7 > 15 goto 8f;" USE8)
CASE(attack_link_add_overflow, __failure(EINVAL),
     "r7 = r6; r7 += 0x7fffffff; if r7 s> 0x7fffffff goto 8f;" USE8)
/* Off by one. */
CASE(attack_off_by_one, __failure(EACCES), "if r6 > 64 goto 8f;" USE8)
CASE(attack_off_by_width, __failure(EACCES),
     "if r6 > 60 goto 8f; r9 += r6; r0 = *(u64 *)(r9 + 0); exit; 8: r0 = 0; exit;")
CASE(attack_negative_index, __failure(EACCES), "if r6 s> 63 goto 8f; if r6 s< -1 goto 8f;" USE8)
/* Pointer minus itself, pointers as numbers. */
CASE(attack_pointer_difference, __failure(EINVAL), "r6 = r9; r6 -= r9;" USE)
CASE(attack_pointer_truncated, __failure(EACCES), "w9 = w9; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_pointer_32bit_add, __failure(EACCES), "w9 += 4; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_pointer_and, __failure(EACCES), "r9 &= -8; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_pointer_shift, __failure(EACCES), "r9 >>= 1; r0 = 0; exit;")
CASE(attack_pointer_neg, __failure(EACCES), "r9 = -r9; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_pointer_bswap, __failure(EACCES), "r9 = be64 r9; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_pointer_plus_pointer, __failure(EACCES), "r9 += r9; r0 = 0; exit;")
CASE(attack_scalar_minus_pointer, __failure(EACCES), "r6 &= 7; r6 -= r9; r0 = 0; exit;")
CASE(attack_pointer_plus_unbounded_twice, __failure(EINVAL), "r6 >>= 1; r9 += r6; r9 += r6;" USE)
CASE(attack_pointer_far_and_back, __failure(EINVAL), "r9 += 0x1fffffff; r9 += 0x1fffffff; r9 -= 0x3ffffffe; r0 = *(u8 *)(r9 + 0); exit;")
CASE(attack_map_pointer_write, __failure(EACCES), "r1 = %[m] ll; *(u64 *)(r1 + 0) = 0; r0 = 0; exit;")
CASE(attack_map_pointer_arith, __failure(EACCES), "r1 = %[m] ll; r1 += 8; r0 = 0; exit;")
CASE(attack_function_pointer, __failure(EACCES), "r0 = *(u8 *)(r6 + 0); exit;")
/* Null checks. */
#define LOOKUP_HASH "*(u32 *)(r10 - 4) = 1; r2 = r10; r2 += -4; r1 = %[h] ll; call 1;"
CASE(attack_no_null_check, __failure(EACCES), LOOKUP_HASH "r0 = *(u8 *)(r0 + 0); exit;",
     __msg("R0 invalid mem access 'map_value_or_null'"))
CASE(attack_null_check_inverted, __failure(EACCES), LOOKUP_HASH "if r0 != 0 goto 8f; r0 = *(u8 *)(r0 + 0); exit; 8: r0 = 0; exit;")
CASE(attack_null_check_of_other_lookup, __failure(EACCES),
     LOOKUP_HASH "r7 = r0;" LOOKUP_HASH "if r0 == 0 goto 8f; r0 = *(u8 *)(r7 + 0); exit; 8: r0 = 0; exit;")
CASE(attack_null_check_arith_first, __failure(EACCES), LOOKUP_HASH "r0 += 8; if r0 == 0 goto 8f; r0 = *(u8 *)(r0 + 0); 8: r0 = 0; exit;",
     __msg("pointer arithmetic on map_value_or_null prohibited, null-check it first"))
CASE(attack_null_check_32bit, __failure(EACCES), LOOKUP_HASH "if w0 == 0 goto 8f; r0 = *(u8 *)(r0 + 0); exit; 8: r0 = 0; exit;")
CASE(attack_null_check_greater, __failure(EACCES), LOOKUP_HASH "if r0 s<= 0 goto 8f; r0 = *(u8 *)(r0 + 0); exit; 8: r0 = 0; exit;")
CASE(attack_null_check_in_loop, __failure(EACCES),
     LOOKUP_HASH "r7 = r0; r8 = 0; if r7 == 0 goto 8f; 1: r0 = *(u8 *)(r7 + 0);" LOOKUP_HASH
	    "r7 = r0; r8 += 1; if r8 != 3 goto 1b; 8: r0 = 0; exit;")
CASE(attack_value_size_of_other_map, __failure(EACCES),
     LOOKUP_HASH "if r0 == 0 goto 8f; r7 = r9; if r6 == 0 goto 1f; r7 = r0; 1: r0 = *(u8 *)(r7 + 63); exit; 8: r0 = 0; exit;")
CASE(attack_value_size_same_insn_ok, __success,
     LOOKUP_HASH "if r0 == 0 goto 8f; r7 = r9; if r6 == 0 goto 1f; r7 = r0; 1: r0 = *(u8 *)(r7 + 15); r0 = 0; exit; 8: r0 = 0; exit;")
/* States that look alike. */
CASE(attack_merge_bounded_and_not, __failure(EINVAL), "if r6 < 64 goto 1f; r6 += 0; 1: r0 = 1;" USE)
CASE(attack_merge_scalar_and_pointer, __failure(EACCES),
     "r7 = r9; if r6 == 0 goto 1f; r7 = 0x1000; 1: r0 = *(u8 *)(r7 + 0); exit;")
CASE(attack_merge_after_loop, __failure(EACCES),
     "r7 = 0; 1: r7 += 1; if r6 == r7 goto 2f; if r7 < 100 goto 1b; 2: r6 = r7;" USE)
CASE(attack_merge_spilled, __failure(EACCES),
     "*(u64 *)(r10 - 16) = 1; if r6 == 0 goto 1f; *(u64 *)(r10 - 16) = 70; 1: r6 = *(u64 *)(r10 - 16);" USE)
CASE(attack_merge_spilled_zero, __failure(EACCES),
     "*(u8 *)(r10 - 10) = 0; if r6 == 0 goto 1f; *(u8 *)(r10 - 10) = r6; 1: r6 = *(u8 *)(r10 - 10);" USE)
CASE(attack_merge_in_two_slots, __failure(EACCES),
     "*(u64 *)(r10 - 16) = r9; *(u64 *)(r10 - 24) = 3; if r6 == 0 goto 1f; *(u64 *)(r10 - 16) = 3; *(u64 *)(r10 - 24) = r9;"
     "1: r7 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r7 + 0); exit;")
CASE(attack_merge_linked_pairs, __failure(EINVAL),
     "r7 = r6; r8 = *(u64 *)(r9 + 0); if r8 == 0 goto 1f; r7 = *(u64 *)(r9 + 8); 1: if r7 > 63 goto 8f;" USE8)
CASE(attack_merge_many, __failure(EACCES),
     "r7 = 0; if r6 & 1 goto +1; r7 += 30; if r6 & 2 goto +1; r7 += 30; if r6 & 4 goto +1; r7 += 30; r6 = r7;" USE)
CASE(attack_merge_many_ok, __success,
     "r7 = 0; if r6 & 1 goto +1; r7 += 21; if r6 & 2 goto +1; r7 += 21; if r6 & 4 goto +1; r7 += 21; r6 = r7;" USE)
CASE(attack_dead_branch_taken_later, __failure(EACCES),
     "r7 = 1; if r6 == 0 goto 1f; r7 = 0; 1: r8 = 0; if r7 == 1 goto 2f; r8 = 64; 2: r6 = r8;" USE)

/*
 * A path that was cut short must hand on what mattered where it was cut: 4 is explored with r7 = 3, then
 * 3 leads to it and is cut; 3 with r7 = 70 is not the same as that.
 */
CASE(attack_cut_path_hides_index, __failure(EACCES),
     "if r6 == 2 goto 5f; if r6 == 1 goto 6f; r7 = 3; goto 4f; 6: r7 = 3; goto 3f; 5: r7 = 70; 3: r0 = 0;"
     "4: r9 += r7; r0 = *(u8 *)(r9 + 0); exit;",
     __flags(8) __msg("invalid access to map value, value_size=64 off=70 size=1"))
CASE(attack_cut_path_hides_spill, __failure(EACCES),
     "if r6 == 2 goto 5f; if r6 == 1 goto 6f; *(u64 *)(r10 - 16) = 3; goto 4f; 6: *(u64 *)(r10 - 16) = 3; goto 3f;"
     "5: *(u64 *)(r10 - 16) = 70; 3: r0 = 0;"
     "4: r7 = *(u64 *)(r10 - 16); r9 += r7; r0 = *(u8 *)(r9 + 0); exit;",
     __flags(8) __msg("invalid access to map value, value_size=64 off=70 size=1"))
CASE(attack_cut_path_same_index, __success,
     "if r6 == 2 goto 5f; if r6 == 1 goto 6f; r7 = 3; goto 4f; 6: r7 = 3; goto 3f; 5: r7 = 3; 3: r0 = 0;"
     "4: r9 += r7; r0 = *(u8 *)(r9 + 0); exit;",
     __flags(8))

/* A callee must not see or change more than it was given. */
static __naked noinline void sets_r9(void)
{
	ASM("r9 = 0; r0 = 0; exit;");
}

static __naked noinline void index_of(void)
{
	ASM("r0 = r1; exit;");
}

SEC("raw_tp") __success __retval(0) __naked void attack_callee_clobbers_r9(void)
{
	ASM(SETUP "call %[sets_r9]; r0 = *(u8 *)(r9 + 0); exit;", ADDR(m), ADDR(sets_r9));
}

SEC("raw_tp") __failure(EINVAL) __naked void attack_result_of_other_call(void)
{
	ASM(SETUP "r1 = 5; call %[index_of]; r7 = r0; r1 = r6; call %[index_of]; r6 = r0; if r7 > 63 goto 8f;" USE8,
	    ADDR(m), ADDR(index_of));
}

SEC("raw_tp") __failure(EACCES) __naked void attack_prune_across_calls(void)
{
	ASM(SETUP "r1 = 5; call %[index_of]; r8 = r9; r8 += r0; r0 = *(u8 *)(r8 + 0);"
		  "r1 = 64; call %[index_of]; r9 += r0; r0 = *(u8 *)(r9 + 0); exit;",
	    ADDR(m), ADDR(index_of));
}

/* Precision lost in a loop: the index must be followed through copies and the stack. */
SEC("raw_tp") __failure(EACCES) __naked void attack_loop_index_through_stack(void)
{
	ASM(SETUP "*(u64 *)(r10 - 16) = 0; 1: r1 = *(u64 *)(r10 - 16); r8 = r9; r8 += r1; r0 = *(u8 *)(r8 + 0);"
		  "r1 += 1; *(u64 *)(r10 - 16) = r1; if r1 != 65 goto 1b; r0 = 0; exit;",
	    ADDR(m));
}

SEC("raw_tp") __success __naked void attack_loop_index_through_stack_ok(void)
{
	ASM(SETUP "*(u64 *)(r10 - 16) = 0; 1: r1 = *(u64 *)(r10 - 16); r8 = r9; r8 += r1; r0 = *(u8 *)(r8 + 0);"
		  "r1 += 1; *(u64 *)(r10 - 16) = r1; if r1 != 64 goto 1b; r0 = 0; exit;",
	    ADDR(m));
}

SEC("raw_tp") __failure(EACCES) __naked void attack_loop_random_increment(void)
{
	ASM(SETUP "r8 = 0; r7 = 0; 1: call 7; r0 &= 1; r8 += r0; r7 += 1; if r7 < 70 goto 1b; r6 = r8;" USE,
	    ADDR(m));
}

SEC("raw_tp") __success __naked void attack_loop_random_increment_ok(void)
{
	ASM(SETUP "r8 = 0; r7 = 0; 1: call 7; r0 &= 1; r8 += r0; r7 += 1; if r7 < 20 goto 1b; r6 = r8;" USE,
	    ADDR(m));
}

/* The branch that decides is far from the access that needs it. */
SEC("raw_tp") __failure(EACCES) __naked void attack_imprecise_until_late(void)
{
	ASM(SETUP "r7 = 10; if r6 & 1 goto 1f; r7 = 20; 1: if r6 & 2 goto 2f; r7 += 40; 2: r8 = r7; r0 = 0; r1 = 1; r2 = 2; r3 = 3;"
		  "r4 = 4; r5 = 5; if r6 & 4 goto 3f; r0 = 1; 3: r8 += 4; r6 = r8;" USE,
	    ADDR(m));
}
