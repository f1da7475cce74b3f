# What hardening makes of constants, on both machines; random numbers are 0x11111111, 0x22222222, …
# After a deliberate change: test_codegen --print harden.t > new; read the difference, then replace
# this file.
-- case a chosen constant is computed, not stored
-- target x86_64 harden
-- asm
w0 = 7
r0 += 1022796983
exit
-- expect
0: mov eax, 0x11111116
5: xor eax, 0x11111111
a: mov r9d, 0x1ed48695
10: xor r9, 0x22222222
17: add rax, r9
1a: ret

-- case a chosen constant is computed, not stored
-- target aarch64 harden
-- asm
w0 = 7
r0 += 1022796983
exit
-- expect
0: movz w7, #0x1116
4: movk w7, #0x1111, lsl #16
8: eor w7, w7, #0x11111111
c: movz w13, #0x8695
10: movk w13, #0x1ed4, lsl #16
14: orr w9, wzr, #0x22222222
18: eor x13, x13, x9
1c: add x7, x7, x13
20: mov x0, x7
24: ret

-- case a jump on a constant
-- target x86_64 harden
-- asm
if r1 == 1022796983 goto +1
r1 = 0
r0 = r1
exit
-- expect
0: mov r9d, 0x2de7b5a6
6: xor r9, 0x11111111
d: cmp rdi, r9
10: je 0x10014
12: xor edi, edi
14: mov rax, rdi
17: ret

-- case a jump on a constant
-- target aarch64 harden
-- asm
if r1 == 1022796983 goto +1
r1 = 0
r0 = r1
exit
-- expect
0: movz w13, #0xb5a6
4: movk w13, #0x2de7, lsl #16
8: orr w9, wzr, #0x11111111
c: eor x13, x13, x9
10: cmp x0, x13
14: b.eq #0x1001c
18: movz w0, #0
1c: mov x7, x0
20: mov x0, x7
24: ret

-- case a store of a constant
-- target x86_64 harden
-- stack 16
-- asm
*(u32 *)(r10 -8) = 1022796983
r0 = 0
exit
-- expect
0: mov r9d, 0x2de7b5a6
6: xor r9, 0x11111111
d: mov dword ptr [rsp - 8], r9d
12: xor eax, eax
14: ret

-- case a store of a constant
-- target aarch64 harden
-- stack 16
-- asm
*(u32 *)(r10 -8) = 1022796983
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: sub sp, sp, #0x10
c: movz w13, #0xb5a6
10: movk w13, #0x2de7, lsl #16
14: orr w9, wzr, #0x11111111
18: eor x13, x13, x9
1c: str w13, [sp, #8]
20: movz w7, #0
24: mov x0, x7
28: add sp, sp, #0x10
2c: ldp x29, x30, [sp], #0x10
30: ret

-- case a 64-bit constant
-- target x86_64 harden
-- asm
r0 = 0x123456789abcdef0 ll
exit
-- expect
0: mov rax, -0x3016745b
7: xor rax, 0x22222222
d: shl rax, 0x20
11: xor rax, 0xffffffff8badcfe1
17: xor rax, 0x11111111
1d: ret

-- case a 64-bit constant
-- target aarch64 harden
-- asm
r0 = 0x123456789abcdef0 ll
exit
-- expect
0: movn x7, #0x745a
4: movk x7, #0xcfe9, lsl #16
8: orr w9, wzr, #0x22222222
c: eor x7, x7, x9
10: lsl x7, x7, #0x20
14: movn x9, #0x301e
18: movk x9, #0x8bad, lsl #16
1c: eor x7, x7, x9
20: orr w9, wzr, #0x11111111
24: eor x7, x7, x9
28: mov x0, x7
2c: ret

-- case a division: the divisor leaves the register that rdx moves to
-- target x86_64 harden
-- asm
r3 = r1
r0 = r1
r0 /= 1000
r0 ^= r3
exit
-- expect
0: mov r9d, 0x111112f9
6: xor r9, 0x11111111
d: mov rax, rdi
10: mov r11, r9
13: test r11, r11
16: je 0x10021
18: xor edx, edx
1a: div r11
1d: xor rax, rdi
20: ret
21: xor eax, eax
23: jmp 0x1001d

-- case a division: the divisor leaves the register that rdx moves to
-- target aarch64 harden
-- asm
r3 = r1
r0 = r1
r0 /= 1000
r0 ^= r3
exit
-- expect
0: mov x2, x0
4: mov x7, x0
8: movz w13, #0x12f9
c: movk w13, #0x1111, lsl #16
10: orr w9, wzr, #0x11111111
14: eor x13, x13, x9
18: udiv x7, x7, x13
1c: eor x7, x7, x2
20: mov x0, x7
24: ret

-- case shift counts stay
-- target x86_64 harden
-- asm
r0 = r1
r0 <<= 13
exit
-- expect
0: mov rax, rdi
3: shl rax, 0xd
7: ret

-- case shift counts stay
-- target aarch64 harden
-- asm
r0 = r1
r0 <<= 13
exit
-- expect
0: lsl x7, x0, #0xd
4: mov x0, x7
8: ret

-- case a barrier
-- target x86_64
-- asm
r0 = *(u64 *)(r1 +0)
.insn 0xc2 0 0 0 0
r0 = *(u64 *)(r0 +0)
exit
-- expect
0: mov rax, qword ptr [rdi]
3: lfence
6: mov rax, qword ptr [rax]
9: ret

-- case a barrier
-- target aarch64
-- asm
r0 = *(u64 *)(r1 +0)
.insn 0xc2 0 0 0 0
r0 = *(u64 *)(r0 +0)
exit
-- expect
0: ldr x7, [x0]
4: dsb nsh
8: isb
c: ldr x7, [x7]
10: mov x0, x7
14: ret

-- case the index of a tail call waits for its check
-- target x86_64 harden
-- asm
.insn 0xf5 0 0 0 0
r0 = r1
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: push 0
6: push 0
8: mov rax, rsp
b: call 0x10012
10: leave
11: ret
12: push rbp
13: mov rbp, rsp
16: sub rsp, 8
1a: mov qword ptr [rbp - 8], rax
1e: cmp edx, dword ptr [rsi + 0x4c]
21: jae 0x10054
23: lfence
26: mov r11, qword ptr [rbp - 8]
2a: cmp dword ptr [r11], 0x21
2e: jae 0x10054
30: mov r10d, edx
33: mov r10, qword ptr [rsi + r10*8 + 0xa8]
3b: test r10, r10
3e: je 0x10054
40: mov r10, qword ptr [r10 + 0x40]
44: test r10, r10
47: je 0x10054
49: add dword ptr [r11], 1
4d: mov rax, r11
50: leave
51: jmp r10
54: mov rax, rdi
57: leave
58: ret

-- case the index of a tail call waits for its check
-- target aarch64 harden
-- asm
.insn 0xf5 0 0 0 0
r0 = r1
exit
-- expect
0: stp x29, x30, [sp, #-0x20]!
4: mov x29, sp
8: stp x26, xzr, [sp, #0x10]
c: add x26, sp, #0x18
10: bl #0x10020
14: ldr x26, [sp, #0x10]
18: ldp x29, x30, [sp], #0x20
1c: ret
20: stp x29, x30, [sp, #-0x10]!
24: mov x29, sp
28: ldr w9, [x1, #0x4c]
2c: cmp w2, w9
30: b.hs #0x10070
34: dsb nsh
38: isb
3c: ldr w9, [x26]
40: cmp w9, #0x21
44: b.hs #0x10070
48: mov w10, w2
4c: add x10, x1, x10, lsl #3
50: ldr x10, [x10, #0xa8]
54: cbz x10, #0x10070
58: ldr x10, [x10, #0x40]
5c: cbz x10, #0x10070
60: add w9, w9, #1
64: str w9, [x26]
68: ldp x29, x30, [sp], #0x10
6c: br x10
70: mov x7, x0
74: mov x0, x7
78: ldp x29, x30, [sp], #0x10
7c: ret
