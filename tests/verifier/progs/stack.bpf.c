// SPDX-License-Identifier: BSD-2-Clause
/* The stack: spills and fills, partial writes, unknown offsets, what helpers read and write. */
#include "../expect.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, char[64]);
	__uint(max_entries, 1);
} m SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 8);
} h SEC(".maps");

#define CASE(name_, verdict, body, ...)                                                            \
	SEC("raw_tp") verdict __VA_ARGS__ __naked void name_(void)                                 \
	{                                                                                          \
		ASM(body, ADDR(m), ADDR(h));                                                       \
	}

#define LOOKUP                                                                                     \
	"*(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1;"                         \
	"if r0 != 0 goto 9f; r0 = 0; exit; 9: "

CASE(stack_read_uninit, __success, "r0 = *(u64 *)(r10 - 8); r0 = 0; exit;", __retval(0))
CASE(stack_uninit_is_unknown, __failure(EINVAL),
     LOOKUP "r1 = *(u64 *)(r10 - 16); r0 += r1; r0 = *(u8 *)(r0 + 0); exit;")
CASE(stack_below, __failure(EACCES), "r0 = *(u64 *)(r10 - 520); exit;",
     __msg("invalid read from stack R10 off=-520 size=8"))
CASE(stack_lowest, __success, "*(u64 *)(r10 - 512) = 7; r0 = *(u64 *)(r10 - 512); exit;", __retval(7))
CASE(stack_above, __failure(EACCES), "*(u64 *)(r10 + 0) = 7; r0 = 0; exit;",
     __msg("invalid write to stack R10 off=0 size=8"))
CASE(stack_straddles_top, __failure(EACCES), "*(u32 *)(r10 - 2) = 7; r0 = 0; exit;")
CASE(stack_misaligned, __failure(EACCES), "*(u64 *)(r10 - 12) = 7; r0 = 0; exit;",
     __msg("misaligned stack access off"))
CASE(stack_fp_read_only, __failure(EACCES), "r10 += -8; r0 = 0; exit;",
     __msg("frame pointer is read only"))
CASE(stack_fp_load, __failure(EACCES), "r10 = *(u64 *)(r1 + 0); r0 = 0; exit;",
     __msg("frame pointer is read only"))
CASE(stack_spill_fill_pointer, __success,
     LOOKUP "*(u64 *)(r10 - 16) = r0; r0 = 0; r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 63); exit;",
     __retval(0))
CASE(stack_spill_pointer_32, __failure(EACCES), "*(u32 *)(r10 - 8) = r1; r0 = 0; exit;",
     __msg("invalid size of register spill"))
CASE(stack_fill_pointer_32, __failure(EACCES),
     "*(u64 *)(r10 - 8) = r1; r0 = *(u32 *)(r10 - 8); exit;", __msg("invalid size of register fill"))
CASE(stack_corrupt_pointer_byte, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; *(u8 *)(r10 - 16) = 1; r1 = *(u64 *)(r10 - 16);"
	    "r0 = *(u8 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(stack_corrupt_pointer_top, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; *(u8 *)(r10 - 9) = 1; r1 = *(u64 *)(r10 - 16);"
	    "r0 = *(u8 *)(r1 + 0); exit;")
CASE(stack_spill_bounds_kept, __success,
     LOOKUP "r6 = r0; call 7; r0 &= 63; *(u64 *)(r10 - 16) = r0; r1 = *(u64 *)(r10 - 16);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit;",
     __retval(0))
CASE(stack_spill32_bounds_kept, __success,
     LOOKUP "r6 = r0; call 7; w0 &= 63; *(u32 *)(r10 - 16) = r0; r1 = *(u32 *)(r10 - 16);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_spill_check_after_fill, __success,
     LOOKUP "r6 = r0; call 7; *(u64 *)(r10 - 16) = r0; if r0 > 63 goto 1f; r1 = *(u64 *)(r10 - 16);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit; 1: r0 = 0; exit;")
CASE(stack_fill_check_updates_slot, __success,
     LOOKUP "r6 = r0; call 7; *(u64 *)(r10 - 16) = r0; r1 = *(u64 *)(r10 - 16); if r1 > 63 goto 1f;"
	    "r2 = *(u64 *)(r10 - 16); r6 += r2; r0 = *(u8 *)(r6 + 0); exit; 1: r0 = 0; exit;")
CASE(stack_spill32_of_64_unlinked, __failure(EINVAL),
     LOOKUP "r6 = r0; r7 = *(u64 *)(r6 + 0); *(u32 *)(r10 - 16) = r7; r1 = *(u32 *)(r10 - 16); if r1 > 63 goto 1f;"
	    "r6 += r7; r0 = *(u8 *)(r6 + 0); exit; 1: r0 = 0; exit;")
CASE(stack_partial_overwrite_keeps_nothing, __failure(EACCES),
     LOOKUP "r6 = r0; *(u64 *)(r10 - 16) = 5; *(u16 *)(r10 - 14) = 1; r1 = *(u64 *)(r10 - 16);"
	    "if r1 s< 0 goto 1f; r6 += r1; r0 = *(u8 *)(r6 + 0); exit; 1: r0 = 0; exit;")
CASE(stack_partial_overwrite_forgets_low_bytes, __failure(EACCES),
     LOOKUP "r6 = r0; *(u64 *)(r10 - 16) = 5; *(u16 *)(r10 - 14) = 1; r1 = *(u16 *)(r10 - 16);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_low_bytes_of_spill, __success,
     LOOKUP "r6 = r0; r1 = 0x1000000005 ll; *(u64 *)(r10 - 16) = r1; r1 = *(u8 *)(r10 - 16);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 58); exit;")
CASE(stack_high_bytes_of_spill_unknown, __failure(EACCES),
     LOOKUP "r6 = r0; r1 = 0x0500000000 ll; *(u64 *)(r10 - 16) = r1; r1 = *(u8 *)(r10 - 12);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_zero_bytes, __success,
     LOOKUP "r6 = r0; *(u8 *)(r10 - 9) = 0; *(u8 *)(r10 - 10) = 0; r1 = *(u16 *)(r10 - 10);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 63); exit;")
CASE(stack_zero_and_misc, __failure(EACCES),
     LOOKUP "r6 = r0; *(u8 *)(r10 - 9) = 0; *(u8 *)(r10 - 10) = 1; r1 = *(u16 *)(r10 - 10);"
	    "r6 += r1; r0 = *(u8 *)(r6 + 63); exit;")
CASE(stack_sign_of_spill32, __failure(EACCES),
     LOOKUP "r6 = r0; w1 = -1; *(u32 *)(r10 - 16) = r1; r1 = *(u32 *)(r10 - 16); r1 <<= 32; r1 s>>= 32;"
	    "r6 += r1; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_var_write, __success,
     "call 7; r0 &= 7; r1 = r10; r1 += -16; r1 += r0; *(u8 *)(r1 + 0) = 5; r0 = *(u64 *)(r10 - 16); r0 = 0; exit;",
     __retval(0))
CASE(stack_var_write_out, __failure(EINVAL),
     "call 7; r0 &= 15; r1 = r10; r1 += -8; r1 += r0; *(u8 *)(r1 + 0) = 5; r0 = 0; exit;",
     __msg("invalid variable-offset write to stack R1 var_off=(0x0; 0xf) off=-8 size=1"))
CASE(stack_var_write_unbounded, __failure(EINVAL),
     "r6 = *(u64 *)(r1 + 0); r1 = r10; r1 += -8; r1 += r6; *(u8 *)(r1 + 0) = 5; r0 = 0; exit;")
CASE(stack_var_write_unbounded_max, __failure(EACCES),
     "r6 = *(u64 *)(r1 + 0); if r6 s< 0 goto 1f; r1 = r10; r1 += -8; r1 += r6; *(u8 *)(r1 + 0) = 5; 1: r0 = 0; exit;",
     __msg("invalid unbounded variable-offset write to stack R1"))
CASE(stack_var_write_kills_pointer, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; call 7; r0 &= 7; r1 = r10; r1 += -16; r1 += r0; *(u8 *)(r1 + 0) = 5;"
	    "r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(stack_var_write_kills_constant, __failure(EINVAL),
     LOOKUP "r6 = r0; *(u64 *)(r10 - 16) = 5; call 7; r0 &= 7; r1 = r10; r1 += -16; r1 += r0; *(u8 *)(r1 + 0) = 5;"
	    "r1 = *(u64 *)(r10 - 16); r6 += r1; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_var_write_other_slot, __success,
     LOOKUP "*(u64 *)(r10 - 16) = r0; call 7; r0 &= 7; r1 = r10; r1 += -24; r1 += r0; *(u8 *)(r1 + 0) = 5;"
	    "r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;")
CASE(stack_var_read, __success,
     "*(u64 *)(r10 - 16) = 0; *(u64 *)(r10 - 8) = 0; call 7; r0 &= 8; r1 = r10; r1 += -16; r1 += r0;"
     "r0 = *(u64 *)(r1 + 0); exit;",
     __retval(0))
CASE(stack_var_read_of_pointer_is_number, __failure(EACCES),
     "*(u64 *)(r10 - 16) = r1; *(u64 *)(r10 - 8) = r1; call 7; r0 &= 8; r1 = r10; r1 += -16; r1 += r0;"
     "r1 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(stack_helper_writes_kill_pointer, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = r10; r1 += -16; r2 = 8; call 16; r1 = *(u64 *)(r10 - 16);"
	    "r0 = *(u8 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(stack_helper_writes_next_slot, __success,
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = r10; r1 += -24; r2 = 8; call 16; r1 = *(u64 *)(r10 - 16);"
	    "r0 = *(u8 *)(r1 + 0); exit;")
CASE(stack_helper_writes_one_more, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = r10; r1 += -24; r2 = 9; call 16; r1 = *(u64 *)(r10 - 16);"
	    "r0 = *(u8 *)(r1 + 0); exit;")
CASE(stack_helper_too_much, __failure(EINVAL),
     "r1 = r10; r1 += -8; r2 = 16; call 16; r0 = 0; exit;",
     __msg("invalid write to stack R1 off=-8 size=16"))
CASE(stack_helper_unknown_size, __failure(EACCES),
     "r6 = *(u64 *)(r1 + 0); r1 = r10; r1 += -8; r2 = r6; call 16; r0 = 0; exit;",
     __msg("R2 min value is negative, either use unsigned or 'var &= const'"))
CASE(stack_helper_unbounded_size, __failure(EACCES),
     "r6 = *(u64 *)(r1 + 0); if r6 s<= 0 goto 1f; r1 = r10; r1 += -8; r2 = r6; call 16; 1: r0 = 0; exit;",
     __msg("R2 unbounded memory access, use 'var &= const' or 'if (var < const)'"))
CASE(stack_helper_size_may_be_zero, __failure(EACCES),
     "r6 = *(u64 *)(r1 + 0); r6 &= 7; r1 = r10; r1 += -8; r2 = r6; call 16; r0 = 0; exit;",
     __msg("R2 invalid zero-sized read"))
CASE(stack_helper_bounded_size, __success,
     "r6 = *(u64 *)(r1 + 0); r6 &= 7; r6 += 1; r1 = r10; r1 += -8; r2 = r6; call 16; r0 = 0; exit;")
CASE(stack_helper_bounded_size_too_big, __failure(EINVAL),
     "r6 = *(u64 *)(r1 + 0); r6 &= 8; r6 += 1; r1 = r10; r1 += -8; r2 = r6; call 16; r0 = 0; exit;")
CASE(stack_helper_bounded_size_kills, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = r0; call 7; r6 = r0; r6 &= 7; r6 += 1; r1 = r10; r1 += -16; r2 = r6; call 16;"
	    "r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;")
CASE(stack_helper_var_offset, __success,
     "r6 = *(u64 *)(r1 + 0); r6 &= 7; r1 = r10; r1 += -16; r1 += r6; r2 = 8; call 16; r0 = 0; exit;")
CASE(stack_helper_var_offset_out, __failure(EINVAL),
     "r6 = *(u64 *)(r1 + 0); r6 &= 15; r1 = r10; r1 += -16; r1 += r6; r2 = 8; call 16; r0 = 0; exit;")
CASE(stack_key_uninit, __success, "r2 = r10; r2 += -8; r1 = %[h] ll; call 1; r0 = 0; exit;")
CASE(stack_key_out, __failure(EINVAL), "r2 = r10; r2 += -4; r1 = %[h] ll; call 1; r0 = 0; exit;",
     __msg("invalid read from stack R2 off=-4 size=8"))
CASE(stack_sub_from_fp, __failure(EACCES), "r1 = r10; r2 = 8; r1 -= r2; r0 = 0; exit;",
     __msg("R1 subtraction from stack pointer prohibited"))
CASE(stack_xadd, __success,
     "*(u64 *)(r10 - 8) = 40; r1 = 2; lock *(u64 *)(r10 - 8) += r1; r0 = *(u64 *)(r10 - 8); exit;",
     __retval(42))
CASE(stack_xadd_forgets, __failure(EINVAL),
     LOOKUP "r6 = r0; *(u64 *)(r10 - 16) = 40; r1 = 2; lock *(u64 *)(r10 - 16) += r1; r0 = *(u64 *)(r10 - 16);"
	    "r6 += r0; r0 = *(u8 *)(r6 + 0); exit;")
CASE(stack_atomic_fetch, __success,
     "*(u64 *)(r10 - 8) = 40; r1 = 2; r1 = atomic_fetch_add((u64 *)(r10 - 8), r1); r0 = r1; exit;",
     __retval(40))
CASE(stack_cmpxchg, __success,
     "*(u64 *)(r10 - 8) = 40; r0 = 40; r1 = 2; r0 = cmpxchg_64(r10 - 8, r0, r1); r0 = *(u64 *)(r10 - 8); exit;",
     __retval(2))
CASE(stack_xchg_pointer_gives_pointer, __success,
     LOOKUP "*(u64 *)(r10 - 16) = r0; r1 = 0; r1 = xchg_64(r10 - 16, r1); r0 = *(u8 *)(r1 + 0); exit;",
     __retval(0))
CASE(stack_xchg_pointer_in_is_number, __failure(EACCES),
     LOOKUP "*(u64 *)(r10 - 16) = 0; r0 = xchg_64(r10 - 16, r0); r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit;",
     __msg("R1 invalid mem access 'scalar'"))
CASE(stack_null_id_survives_spill, __success,
     "*(u32 *)(r10 - 4) = 0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; *(u64 *)(r10 - 16) = r0;"
     "if r0 == 0 goto 1f; r1 = *(u64 *)(r10 - 16); r0 = *(u8 *)(r1 + 0); exit; 1: r0 = 0; exit;",
     __retval(0))
CASE(stack_null_check_of_fill, __success,
     "call 7; r0 &= 1; *(u32 *)(r10 - 4) = r0; r2 = r10; r2 += -4; r1 = %[m] ll; call 1; *(u64 *)(r10 - 16) = r0;"
     "r1 = *(u64 *)(r10 - 16); if r1 == 0 goto 1f; r0 = *(u8 *)(r0 + 0); exit; 1: r0 = 0; exit;",
     __retval(0))

/*
 * What an atomic fetch loads from the stack is known on each path, and the branch depends on it. With
 * states compared at every instruction Linux 6.18 removes the branch that only the second path takes.
 */
SEC("xdp") __success __flags(8 /* BPF_F_TEST_STATE_FREQ */) __retval(1) __no_run_kernel
__naked void stack_atomic_fetch_precision(void)
{
	ASM("call 8; *(u64 *)(r10 - 56) = 1; r7 = 0; r6 = 0; if r0 != 1000 goto +1; goto +1;"
	    "*(u64 *)(r10 - 56) = r6; w7 = atomic_fetch_add((u32 *)(r10 - 56), w7);"
	    "if r7 != 0 goto 1f; r0 = 1; exit; 1: r0 = 2; exit;");
}
