# Small programs that use many instructions together.

-- case greatest common divisor
-- mem 80 7b 00 00 00 00 00 00 e8 2f 00 00 00 00 00 00
-- asm
r2 = *(u32 *)(r1 +0)
r3 = *(u32 *)(r1 +8)
r4 = 0
again: if r3 == 0 goto out
r5 = r2
r5 %= r3
r2 = r3
r3 = r5
r4 += 1
if r4 < 64 goto again
out: r0 = r2
exit
-- result 8

-- case Fibonacci
-- asm
r0 = 0
r1 = 1
r2 = 90
again: r3 = r0
r3 += r1
r0 = r1
r1 = r3
r2 += -1
if r2 != 0 goto again
exit
-- result 2880067194370816120

-- case FNV-1a of eight bytes
-- mem 62 70 66 6c 61 62 2d 31
-- asm
r0 = 0xcbf29ce484222325 ll
r2 = 0x100000001b3 ll
r3 = 8
again: r4 = *(u8 *)(r1 +0)
r0 ^= r4
r0 *= r2
r1 += 1
r3 += -1
if r3 != 0 goto again
exit
-- result 0xa09e98fe10503a1c

-- case CRC-32 of four bytes, bit by bit
-- mem 31 32 33 34
-- asm
w0 = -1
r2 = 4
next: r3 = *(u8 *)(r1 +0)
w0 ^= w3
r4 = 8
bit: w5 = w0
w5 &= 1
w5 = -w5
w5 &= 0xedb88320
w0 >>= 1
w0 ^= w5
r4 += -1
if r4 != 0 goto bit
r1 += 1
r2 += -1
if r2 != 0 goto next
w0 ^= -1
exit
-- result 0x9be3e0a3

-- case bubble sort of eight words
-- mem 07 00 00 00 03 00 00 00 ff ff ff ff 00 00 00 00 09 00 00 00 01 00 00 00 01 00 00 00 02 00 00 00
-- asm
r6 = 7
outer: r7 = 0
r2 = r1
inner: r3 = *(u32 *)(r2 +0)
r4 = *(u32 *)(r2 +4)
if w3 s<= w4 goto ordered
*(u32 *)(r2 +0) = r4
*(u32 *)(r2 +4) = r3
ordered: r2 += 4
r7 += 1
if r7 != 7 goto inner
r6 += -1
if r6 != 0 goto outer
r0 = *(u32 *)(r1 +0)
r0 <<= 4
r3 = *(u32 *)(r1 +4)
r0 |= r3
r0 <<= 4
r3 = *(u32 *)(r1 +16)
r0 |= r3
r0 <<= 4
r3 = *(u32 *)(r1 +28)
r0 |= r3
exit
-- result 0xffffffff029

-- case parity by folding
-- mem ef cd ab 89 67 45 23 02
-- asm
r0 = *(u64 *)(r1 +0)
r1 = r0
r1 >>= 32
r0 ^= r1
r1 = r0
r1 >>= 16
r0 ^= r1
r1 = r0
r1 >>= 8
r0 ^= r1
r1 = r0
r1 >>= 4
r0 ^= r1
r0 &= 15
r1 = 0x6996
r1 >>= r0
r0 = r1
r0 &= 1
exit
-- result 0

-- case network byte order of a port and an address
-- mem 1f 90 c0 a8 01 02
-- asm
r0 = *(u16 *)(r1 +0)
r0 = be16 r0
r2 = *(u32 *)(r1 +2)
r2 = be32 r2
r0 <<= 32
r0 |= r2
exit
-- result 0x1f90c0a80102

-- case a ticket lock's counter with atomics
-- asm
*(u64 *)(r10 -8) = 0
r6 = 0
r7 = 0
again: r1 = 1
r1 = atomic64_fetch_add((u64 *)(r10 -8), r1)
r7 += r1
r6 += 1
if r6 != 20 goto again
r0 = r7
exit
-- result 190

-- case compare and exchange until it succeeds
-- asm
*(u64 *)(r10 -8) = 5
r6 = 0
r0 = 0
again: r6 += 1
r2 = 100
r0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r2)
if r0 == 5 goto check
exit
check: if r6 < 2 goto again
r0 = *(u64 *)(r10 -8)
r0 += r6
exit
-- result 102
