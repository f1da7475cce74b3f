# Loads and stores by hand. r1 points to the memory section.

-- case bytes are little-endian
-- mem 11 22 33 44 55 66 77 88
-- asm
r0 = *(u32 *)(r1 +2)
exit
-- result 0x66554433

-- case loads are zero-extended
-- mem ff ff ff ff ff ff ff ff
-- asm
r0 = -1
r0 = *(u16 *)(r1 +0)
exit
-- result 0xffff

-- case signed loads are sign-extended to 64 bits
-- cpu v4
-- mem 80 00 00 00 00 00 00 00
-- asm
r0 = *(s8 *)(r1 +0)
exit
-- result -128

-- case a signed load of a positive number
-- cpu v4
-- mem ff 7f 00 00 00 00 00 00
-- asm
r0 = *(s16 *)(r1 +0)
exit
-- result 0x7fff

-- case a signed 32-bit load
-- cpu v4
-- mem 00 00 00 80 00 00 00 00
-- asm
r0 = *(s32 *)(r1 +0)
exit
-- result 0xffffffff80000000

-- case unaligned access
-- mem 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff
-- asm
r0 = *(u64 *)(r1 +3)
exit
-- result 0xaa99887766554433

-- case unaligned stores
-- mem-size 16
-- asm
r2 = 0x1122334455667788 ll
*(u64 *)(r1 +1) = r2
*(u32 *)(r1 +10) = r2
*(u16 *)(r1 +5) = r2
r0 = *(u64 *)(r1 +4)
r3 = *(u64 *)(r1 +8)
r0 ^= r3
exit
-- result 0x7788557755ff8844

-- case an immediate store is sign-extended to 64 bits
-- asm
*(u64 *)(r10 -8) = -2
r0 = *(u64 *)(r10 -8)
exit
-- result -2

-- case an immediate store takes the low bytes
-- asm
*(u64 *)(r10 -8) = 0
*(u16 *)(r10 -8) = 0x12345678
r0 = *(u64 *)(r10 -8)
exit
-- result 0x5678

-- case a byte store leaves its neighbours
-- asm
*(u64 *)(r10 -8) = -1
*(u8 *)(r10 -5) = 0
r0 = *(u64 *)(r10 -8)
exit
-- result 0xffffffff00ffffff

-- case every 64-bit word of the frame
-- asm
r1 = r10
r1 += -512
r2 = 0
fill: *(u64 *)(r1 +0) = r2
r1 += 8
r2 += 1
if r2 != 64 goto fill
r1 = r10
r1 += -512
r0 = 0
r2 = 0
sum: r3 = *(u64 *)(r1 +0)
r0 += r3
r1 += 8
r2 += 1
if r2 != 64 goto sum
exit
-- result 2016

-- case a load into its own base
-- asm
r0 = r10
*(u64 *)(r10 -8) = 42
r0 = *(u64 *)(r0 -8)
exit
-- result 42

-- case a pointer stored through itself
-- asm
r2 = r10
r2 += -16
*(u64 *)(r2 +0) = r2
r3 = *(u64 *)(r10 -16)
r0 = r3
r0 -= r2
exit
-- result 0

-- case the frame pointer stored and loaded
-- asm
*(u64 *)(r10 -8) = r10
r1 = *(u64 *)(r10 -8)
*(u64 *)(r1 -16) = 7
r0 = *(u64 *)(r10 -16)
exit
-- result 7

-- case stores become visible in order
-- asm
*(u64 *)(r10 -8) = 1
*(u8 *)(r10 -8) = 2
*(u16 *)(r10 -7) = 3
r0 = *(u32 *)(r10 -8)
exit
-- result 0x302
-- no-kernel misaligned stack access

-- case fetch-and keeps a copy of its operand in r0
-- asm
*(u32 *)(r10 -8) = 5
*(u32 *)(r10 -4) = 0
*(u64 *)(r10 -16) = 64
r2 = *(u64 *)(r10 -16)
r0 = r2
r2 = atomic_fetch_and((u32 *)(r10 -8), r2)
r0 <<= 8
r0 |= r2
exit
-- result 0x4005

# Bytes put together, of which a 32-bit shift has dropped one: that is no load of all of them.
-- case a 32-bit left shift drops the byte that it shifts out
-- mem 11 22 33 44 55 66 77 88
-- asm
r2 = *(u32 *)(r1 +1)
w2 <<= 8
r0 = *(u8 *)(r1 +0)
r0 |= r2
r3 = *(u16 *)(r1 +5)
r3 <<= 40
r0 |= r3
r4 = *(u8 *)(r1 +7)
r4 <<= 56
r0 |= r4
exit
-- result 0x8877660044332211

-- case a 32-bit left shift, and three bytes above
-- mem 11 22 33 44 55 66 77 88
-- asm
r2 = *(u32 *)(r1 +0)
w2 <<= 16
r3 = *(u16 *)(r1 +0)
r3 <<= 32
r2 |= r3
r0 = r2
exit
-- result 0x221122110000
