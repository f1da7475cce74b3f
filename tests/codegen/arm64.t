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

-- case a rotate
-- target aarch64
-- asm
r2 = r1
r2 >>= 51
r1 <<= 13
r1 |= r2
r0 = r1
exit
-- expect
0: ror x0, x0, #0x33
4: mov x7, x0
8: mov x0, x7
c: ret

-- case a rotate of a number that is needed again
-- target aarch64
-- asm
r2 = r1
r2 >>= 51
r3 = r1
r3 <<= 13
r3 |= r2
r0 = r3
r0 += r1
exit
-- expect
0: ror x2, x0, #0x33
4: add x7, x2, x0
8: mov x0, x7
c: ret

-- case three operands, and an address of two registers
-- target aarch64
-- asm
r3 = r1
r3 += r2
r4 = *(u16 *)(r3 +0)
r5 = r4
r5 ^= r2
r1 += r2
*(u32 *)(r1 +0) = r5
w0 = w4
w0 += 7
exit
-- expect
0: ldrh w3, [x0, x1]
4: eor x4, x3, x1
8: str w4, [x0, x1]
c: add w7, w3, #7
10: mov x0, x7
14: ret

-- case a constant address in a loop stays in a register, and a branch over a jump is inverted
-- target aarch64
-- asm
r2 = 0
r0 = 0
loop: r3 = 0x123456789abc ll
r3 += r2
r4 = *(u8 *)(r3 +0)
r0 ^= r4
r2 += 1
if r2 == 100 goto done
goto loop
done: exit
-- expect
0: movz x5, #0x9abc
4: movk x5, #0x5678, lsl #16
8: movk x5, #0x1234, lsl #32
c: movz w1, #0
10: movz w7, #0
14: ldrb w3, [x5, x1]
18: eor x7, x7, x3
1c: add x1, x1, #1
20: cmp x1, #0x64
24: b.ne #0x10014
28: mov x0, x7
2c: ret

-- case constants of loops with calls are in registers that callees keep
-- target aarch64
-- asm
r6 = 0
loop: r1 = 0x123456789abc ll
call unspec#3
r6 += 1
if r6 != 5 goto loop
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: stp x19, x23, [sp, #-0x10]!
c: movz x23, #0x9abc
10: movk x23, #0x5678, lsl #16
14: movk x23, #0x1234, lsl #32
18: movz w19, #0
1c: mov x0, x23
20: bl #0x20030
24: mov x7, x0
28: add x19, x19, #1
2c: cmp x19, #5
30: b.ne #0x1001c
34: movz w7, #0
38: mov x0, x7
3c: ldp x19, x23, [sp], #0x10
40: ldp x29, x30, [sp], #0x10
44: ret
