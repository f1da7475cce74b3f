# Faults that other runtimes have had. Each case is the smallest program that shows one.

-- case a backward jump to the first instruction
-- asm
again: r1 = r10
*(u64 *)(r1 -8) = 0
r2 = 0
r2 += 1
if r2 != 1 goto again
r0 = r2
exit
-- result 1

-- case the first instruction is a loop's head and is executed every time
-- no-kernel the verifier sees no bound of a loop that counts in memory
-- mem 00 00 00 00 00 00 00 00
-- asm
again: r0 = *(u64 *)(r1 +0)
r0 += 1
*(u64 *)(r1 +0) = r0
if r0 != 7 goto again
exit
-- result 7

-- case fetch-or with r0 as the source
-- asm
*(u64 *)(r10 -8) = 3
r0 = 5
r0 = atomic64_fetch_or((u64 *)(r10 -8), r0)
r1 = *(u64 *)(r10 -8)
r1 <<= 8
r0 |= r1
exit
-- result 0x703

-- case fetch-and with r0 as the source
-- asm
*(u64 *)(r10 -8) = 7
r0 = 12
r0 = atomic64_fetch_and((u64 *)(r10 -8), r0)
r1 = *(u64 *)(r10 -8)
r1 <<= 8
r0 |= r1
exit
-- result 0x407

-- case fetch-xor 32 with r0 as the source
-- asm
*(u64 *)(r10 -8) = 7
r0 = 12
r0 = atomic_fetch_xor((u32 *)(r10 -8), r0)
r1 = *(u64 *)(r10 -8)
r1 <<= 8
r0 |= r1
exit
-- result 0xb07

-- case fetch-or keeps r0 when another register is the source
-- asm
*(u64 *)(r10 -8) = 3
r0 = 0x55
r1 = 4
r1 = atomic64_fetch_or((u64 *)(r10 -8), r1)
exit
-- result 0x55

-- case fetch-or where the base is r0
-- asm
*(u64 *)(r10 -8) = 3
r0 = r10
r0 += -8
r1 = 4
r1 = atomic64_fetch_or((u64 *)(r0 +0), r1)
r0 = *(u64 *)(r0 +0)
r1 <<= 8
r0 |= r1
exit
-- result 0x307

-- case cmpxchg where the base is not r0 and the source is r0
-- asm
*(u64 *)(r10 -8) = 3
r0 = 3
r0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r0)
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
-- result 6

-- case xchg writes the old value back
-- asm
*(u64 *)(r10 -8) = 3
r1 = 9
r1 = atomic64_xchg((u64 *)(r10 -8), r1)
r0 = *(u64 *)(r10 -8)
r0 <<= 8
r0 |= r1
exit
-- result 0x903

-- case 32-bit cmpxchg that fails zero-extends r0
-- asm
r1 = 0xaaaaaaaabbbbbbbb ll
*(u64 *)(r10 -8) = r1
r0 = 0xccccccccdddddddd ll
r2 = 1
r0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r2)
exit
-- result 0xbbbbbbbb

-- case 32-bit cmpxchg that succeeds zero-extends r0
-- asm
r1 = 0xaaaaaaaabbbbbbbb ll
*(u64 *)(r10 -8) = r1
r0 = 0xccccccccbbbbbbbb ll
r2 = 1
r0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r2)
exit
-- result 0xbbbbbbbb

-- case 32-bit cmpxchg leaves the neighbour alone
-- asm
r1 = 0xaaaaaaaabbbbbbbb ll
*(u64 *)(r10 -8) = r1
r0 = 0xccccccccbbbbbbbb ll
r2 = 0x5555555566666666 ll
r0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r2)
r0 = *(u64 *)(r10 -8)
exit
-- result 0xaaaaaaaa66666666

-- case a 32-bit register move does not move 64 bits
-- asm
r1 = 0x1122334455667788 ll
r0 = -1
w0 = w1
exit
-- result 0x55667788

-- case a shift whose count is in the register that is shifted
-- asm
r4 = 5
r4 <<= r4
r0 = r4
exit
-- result 160

-- case r4 as the count, r3 as the value: both survive
-- asm
r3 = 3
r4 = 4
r3 <<= r4
r0 = r3
r0 <<= 8
r0 |= r4
exit
-- result 0x3004

-- case division keeps the registers that the machine divides in
-- asm
r0 = 100
r1 = 7
r2 = 1000
r3 = 3
r4 = 4
r2 /= r1
r0 += r2
r0 += r3
r0 += r4
r0 += r1
exit
-- result 256

-- case division of r3 by r0
-- asm
r0 = 7
r3 = 1000
r3 %= r0
r0 <<= 8
r0 |= r3
exit
-- result 0x706

-- case division of r0 by r3
-- asm
r0 = 1000
r3 = 7
r0 /= r3
r3 <<= 16
r0 |= r3
exit
-- result 0x7008e

-- case stores near the limits of an offset
-- mem-size 4096
-- asm
r2 = 0x5a
*(u8 *)(r1 +4095) = r2
r1 += 4096
r0 = *(u8 *)(r1 -1)
exit
-- result 0x5a

-- case a long immediate in the second slot that looks like an opcode
-- asm
r0 = 0x9500000095 ll
exit
-- result 0x9500000095
