# What the arm64 backend makes of short programs; see x86_64.t.
-- case bytes put together are one load
-- target aarch64
-- asm
r0 = *(u8 *)(r1 +3)
r2 = *(u8 *)(r1 +4)
r2 <<= 8
r0 |= r2
exit
-- expect
0: ldurh w7, [x0, #3]
4: mov x0, x7
8: ret
