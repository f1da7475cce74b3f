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

-- case a call passes what the helper reads: r3 is nobody's
-- target aarch64
-- asm
r1 = 1
r2 = 2
r3 = 3
call unspec#2
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: movz w0, #0x1
c: movz w1, #0x2
10: bl #0x20020
14: mov x7, x0
18: mov x0, x7
1c: ldp x29, x30, [sp], #0x10
20: ret

-- case a call passes what the function reads, through functions that only hand it on
-- target aarch64
-- asm
r1 = 1
r2 = 2
r3 = 3
call func
exit
func: call func2
exit
func2: r0 = r2
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: movz w1, #0x2
c: bl #0x10020
10: mov x0, x7
14: ldp x29, x30, [sp], #0x10
18: ret
1c: brk #0x1
20: stp x29, x30, [sp, #-0x10]!
24: mov x29, sp
28: bl #0x10040
2c: mov x0, x7
30: ldp x29, x30, [sp], #0x10
34: ret
38: brk #0x1
3c: brk #0x1
40: mov x7, x1
44: mov x0, x7
48: ret

-- case the address of a callback that a loop of calls has replaced is not loaded, but r2 is passed
-- target aarch64
-- stack 16
-- asm
r6 = r1
r2 = &func
r7 = 0
top: r1 = r7
r2 = r6
call func
r7 += 1
if r7 < r6 goto top
r0 = 0
exit
func: r0 = r1
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: stp x19, x20, [sp, #-0x10]!
c: mov x19, x0
10: movz w20, #0
14: mov x0, x20
18: mov x1, x19
1c: bl #0x10040
20: add x20, x20, #1
24: cmp x20, x19
28: b.lo #0x10014
2c: movz w7, #0
30: mov x0, x7
34: ldp x19, x20, [sp], #0x10
38: ldp x29, x30, [sp], #0x10
3c: ret
40: mov x7, x0
44: mov x0, x7
48: ret
