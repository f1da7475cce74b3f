// SPDX-License-Identifier: BSD-2-Clause
/* Bounds of scalars: arithmetic, extension, comparison. A map value of 64 bytes is what they guard. */
#include "../expect.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, char[64]);
	__uint(max_entries, 1);
} m SEC(".maps");

/* r0 = value of 64 bytes, r6 = unknown */
#define VALUE_AND_UNKNOWN                                                                          \
	"call 7;"                                                                                  \
	"r6 = r0;"                                                                                 \
	"*(u32 *)(r10 - 4) = 0;"                                                                   \
	"r2 = r10;"                                                                                \
	"r2 += -4;"                                                                                \
	"r1 = %[m] ll;"                                                                            \
	"call 1;"                                                                                  \
	"if r0 != 0 goto 9f;"                                                                      \
	"r0 = 0;"                                                                                  \
	"exit;"                                                                                    \
	"9: "

#define READ_AND_EXIT                                                                              \
	"r0 += r6;"                                                                                \
	"r0 = *(u8 *)(r0 + 0);"                                                                    \
	"r0 = 0;"                                                                                  \
	"exit;"

#define CASE(name_, verdict, body, ...)                                                            \
	SEC("raw_tp") verdict __VA_ARGS__ __naked void name_(void)                                 \
	{                                                                                          \
		ASM(VALUE_AND_UNKNOWN body READ_AND_EXIT, ADDR(m));                                \
	}

CASE(bounds_mask, __success, "r6 &= 63;", __retval(0))
CASE(bounds_mask_too_big, __failure(EACCES), "r6 &= 64;",
     __msg("invalid access to map value, value_size=64 off=64 size=1"))
CASE(bounds_none, __failure(EINVAL), "",
     __msg("math between map_value pointer and register with unbounded min value is not allowed"))
CASE(bounds_unsigned_less, __success, "if r6 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_unsigned_less_or_equal, __failure(EACCES), "if r6 <= 64 goto +2; r0 = 0; exit;",
     __msg("off=64 size=1"))
CASE(bounds_signed_less_only, __failure(EINVAL), "if r6 s< 64 goto +2; r0 = 0; exit;",
     __msg("math between map_value pointer and register with unbounded min value is not allowed"))
CASE(bounds_signed_both, __success,
     "if r6 s< 64 goto +2; r0 = 0; exit; if r6 s>= 0 goto +2; r0 = 0; exit;")
CASE(bounds_signed_minus_one, __failure(EACCES),
     "if r6 s< 64 goto +2; r0 = 0; exit; if r6 s>= -1 goto +2; r0 = 0; exit;",
     __msg("R0 min value is negative"))
CASE(bounds_32bit_compare_of_64bit, __failure(EINVAL), "if w6 < 64 goto +2; r0 = 0; exit;",
     __msg("math between map_value pointer and register with unbounded min value is not allowed"))
CASE(bounds_32bit_compare_zext, __success, "w6 = w6; if w6 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_32bit_signed_negative, __failure(EACCES),
     "w6 = w6; if w6 s< 64 goto +2; r0 = 0; exit;")
CASE(bounds_shift_right, __success, "r6 >>= 58;")
CASE(bounds_shift_right_one_less, __failure(EACCES), "r6 >>= 57;")
CASE(bounds_arsh_keeps_sign, __failure(EACCES), "r6 s>>= 58;", __msg("R0 min value is negative"))
CASE(bounds_shift32, __success, "w6 >>= 26;")
CASE(bounds_shl_overflow, __failure(EACCES), "r6 &= 0xff; r6 <<= 56; r6 >>= 57;")
CASE(bounds_shl_shr_byte, __success, "r6 <<= 58; r6 >>= 58;")
CASE(bounds_mul, __success, "r6 &= 7; r6 *= 9;")
CASE(bounds_mul_too_big, __failure(EACCES), "r6 &= 7; r6 *= 10;")
CASE(bounds_mul_wraps, __failure(EINVAL),
     "r6 &= 1; r7 = 0x8000000000000001 ll; r6 *= r7; r6 += 62;")
CASE(bounds_add_wraps_32, __success, "w6 &= 15; w6 += 0xfffffff0; w6 -= 0xfffffff0;")
CASE(bounds_add_then_sub, __success, "r6 &= 31; r6 += 100; r6 -= 90;")
CASE(bounds_sub_negative, __failure(EACCES), "r6 &= 31; r6 -= 1;", __msg("R0 min value is negative"))
CASE(bounds_xor, __success, "r6 &= 31; r6 ^= 32;")
CASE(bounds_or, __success, "r6 &= 31; r6 |= 32;")
CASE(bounds_or_too_big, __failure(EACCES), "r6 &= 31; r6 |= 64;")
CASE(bounds_neg, __failure(EACCES), "r6 &= 31; r6 = -r6;")
CASE(bounds_neg_then_add, __success, "r6 &= 31; r6 = -r6; r6 += 31;")
CASE(bounds_div_unknown, __failure(EINVAL), "r6 &= 31; r6 /= 3;")
CASE(bounds_mod_unknown, __failure(EINVAL), "r6 %%= 64;")
CASE(bounds_div32, __failure(EINVAL), "w6 &= 31; w6 /= 3;")
CASE(bounds_bswap16, __failure(EACCES), "r6 = be16 r6;", __msg("R0"))
CASE(bounds_bswap16_masked, __success, "r6 = be16 r6; r6 &= 63;")
CASE(bounds_bswap16_bits, __success, "r6 &= 0x3f00; r6 = be16 r6;")
CASE(bounds_bswap16_other_bits, __failure(EACCES), "r6 &= 0x3f; r6 = be16 r6;")
CASE(bounds_bswap32_bits, __success, "r6 &= 0x3f000000; r6 = be32 r6;")
CASE(bounds_bswap64_bits, __success, "r6 >>= 58; r6 <<= 56; r6 = be64 r6;")
CASE(bounds_bswap64_const, __success, "r6 = 0; r6 = be64 r6;")
CASE(bounds_le16, __success, "if r6 < 64 goto +2; r0 = 0; exit; r6 = le16 r6;")
CASE(bounds_le32, __success, "if r6 < 64 goto +2; r0 = 0; exit; r6 = le32 r6;")
CASE(bounds_le32_low_half, __success, "if w6 < 64 goto +2; r0 = 0; exit; r6 = le32 r6;")
CASE(bounds_le64, __success, "if r6 < 64 goto +2; r0 = 0; exit; r6 = le64 r6;")
CASE(bounds_jset_clear, __success, "r6 &= 127; if r6 & 64 goto +1; goto +2; r0 = 0; exit;")
CASE(bounds_jset_set, __failure(EACCES), "r6 &= 127; if r6 & 64 goto +2; r0 = 0; exit;")
CASE(bounds_eq_const, __success, "if r6 == 63 goto +2; r0 = 0; exit;")
CASE(bounds_eq_const_out, __failure(EACCES), "if r6 == 64 goto +2; r0 = 0; exit;")
CASE(bounds_ne_edge, __success, "if r6 <= 64 goto +2; r0 = 0; exit; if r6 != 64 goto +2; r0 = 0; exit;")
CASE(bounds_reg_reg, __success, "r7 = r6; r7 &= 63; if r6 <= r7 goto +2; r0 = 0; exit;")
CASE(bounds_reg_reg_strict, __success, "r7 = 64; if r6 < r7 goto +2; r0 = 0; exit;")
CASE(bounds_reg_reg_wrong_way, __failure(EINVAL), "r7 = r6; r7 &= 63; if r6 >= r7 goto +2; r0 = 0; exit;")
CASE(bounds_linked_copy, __success, "r7 = r6; if r7 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_linked_add, __success, "r7 = r6; r7 += 8; if r7 s< 72 goto +2; r0 = 0; exit; if r7 s>= 8 goto +2; r0 = 0; exit;")
CASE(bounds_link_broken, __failure(EINVAL), "r7 = r6; r7 &= -2; if r7 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_linked_32bit, __success, "w6 = w6; w7 = w6; if w7 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_link_32_of_64, __failure(EINVAL), "w7 = w6; if w7 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_min_above, __failure(EACCES), "r6 &= 63; r6 += 1000;",
     __msg("R0 min value is outside of the allowed memory range"))
CASE(bounds_huge_const, __failure(EINVAL), "r6 = 0x20000000;",
     __msg("math between map_value pointer and 536870912 is not allowed"))
CASE(bounds_sign_ext_idiom, __success,
     "r6 <<= 32; r6 s>>= 32; if r6 s< 64 goto +2; r0 = 0; exit; if r6 s> -1 goto +2; r0 = 0; exit;")
CASE(bounds_sign_ext_bounded_before, __success,
     "w6 = w6; if w6 s< 64 goto +2; r0 = 0; exit; if w6 s> -1 goto +2; r0 = 0; exit; r6 <<= 32; r6 s>>= 32;")
CASE(bounds_low_half_only, __failure(EINVAL),
     "if w6 s< 64 goto +2; r0 = 0; exit; if w6 s>= 0 goto +2; r0 = 0; exit;")
CASE(bounds_two_adds, __success, "r7 = r6; r6 &= 31; r7 &= 31; r0 += r7;")
CASE(bounds_two_adds_too_big, __failure(EACCES), "r7 = r6; r6 &= 63; r7 &= 1; r0 += r7;")
CASE(bounds_sub_pointer, __failure(EACCES), "r6 &= 31; r0 += 32; r0 -= r6; r6 = 0;",
     __msg("R0 unbounded memory access"))
CASE(bounds_sub_pointer_const, __success, "r0 += 32; r6 = 3; r0 -= r6; r6 = 0;")
CASE(bounds_div32_masked, __success, "w6 &= 31; w6 /= 3; r6 &= 63;")
CASE(bounds_div32_checked_low_half, __failure(EINVAL), "w6 /= 3; if w6 < 64 goto +2; r0 = 0; exit;")
CASE(bounds_unknown_shift, __failure(EINVAL), "r7 = r6; r7 &= 3; w6 = 1; w6 <<= w7;")
CASE(bounds_sub_pointer_too_far, __failure(EACCES), "r6 &= 63; r0 += 32; r0 -= r6; r6 = 0;")
CASE(bounds_one_multiple, __success, "r6 &= 28; if r6 >= 21 goto +2; r0 = 0; exit; if r6 <= 27 goto +2; r0 = 0; exit; r6 -= 24; r6 *= 100;")
CASE(bounds_two_multiples, __failure(EACCES), "r6 &= 28; if r6 >= 20 goto +2; r0 = 0; exit; if r6 <= 27 goto +2; r0 = 0; exit; r6 -= 24; r6 *= 100;")
