# Loops that copy, fill or add up memory (lib/jit/idiom.h), with the option loop_idioms and without. After a
# deliberate change, as in x86_64.t.
-- case a copy, loop_idioms on, x86_64
-- target x86_64 idioms
-- asm
r3 = 0
loop: r4 = r1
r4 += r3
r5 = *(u32 *)(r4 +8)
r4 = r2
r4 += r3
*(u32 *)(r4 +0) = r5
r3 += 4
if r3 < r6 goto loop
r0 = r5
exit
-- expect
0: push rbx
1: xor edx, edx
3: lea r11, [rsi - 1]
7: sub r11, rdi
a: sub r11, 8
e: cmp r11, 0xf
12: jb 0x10043
14: mov r11, rbx
17: sub r11, rdx
1a: jbe 0x10043
1c: sub r11, 0x10
20: jbe 0x10043
22: nop word ptr [rax + rax]
2b: nop dword ptr [rax + rax]
30: movups xmm0, xmmword ptr [rdi + rdx + 8]
35: movups xmmword ptr [rsi + rdx], xmm0
39: add rdx, 0x10
3d: sub r11, 0x10
41: ja 0x10030
43: mov r8d, dword ptr [rdi + rdx + 8]
48: mov dword ptr [rsi + rdx], r8d
4c: add rdx, 4
50: cmp rdx, rbx
53: jb 0x10043
55: mov rax, r8
58: pop rbx
59: ret

-- case a copy, loop_idioms off, x86_64
-- target x86_64
-- asm
r3 = 0
loop: r4 = r1
r4 += r3
r5 = *(u32 *)(r4 +8)
r4 = r2
r4 += r3
*(u32 *)(r4 +0) = r5
r3 += 4
if r3 < r6 goto loop
r0 = r5
exit
-- expect
0: push rbx
1: xor edx, edx
3: nop word ptr [rax + rax]
c: nop dword ptr [rax]
10: mov r8d, dword ptr [rdi + rdx + 8]
15: mov dword ptr [rsi + rdx], r8d
19: add rdx, 4
1d: cmp rdx, rbx
20: jb 0x10010
22: mov rax, r8
25: pop rbx
26: ret

-- case a fill with a known number of iterations, loop_idioms on, x86_64
-- target x86_64 idioms
-- asm
r2 = 0
loop: *(u64 *)(r1 +0) = 0
r1 += 8
r2 += 1
if r2 != 100 goto loop
r0 = 0
exit
-- expect
0: xor esi, esi
2: pxor xmm0, xmm0
6: nop word ptr [rax + rax]
f: nop
10: movups xmmword ptr [rdi], xmm0
13: add rdi, 0x10
17: add rsi, 2
1b: cmp rsi, 0x62
1f: jne 0x10010
21: mov qword ptr [rdi], 0
28: add rdi, 8
2c: inc rsi
2f: cmp rsi, 0x64
33: jne 0x10021
35: xor eax, eax
37: ret

-- case a pattern that repeats, loop_idioms on, x86_64
-- target x86_64 idioms
-- asm
r2 = 0
loop: r3 = r2
r3 &= 3
r4 = r1
r4 += r2
*(u8 *)(r4 +0) = r3
r2 += 1
if r2 != 512 goto loop
r0 = 0
exit
-- expect
0: xor esi, esi
2: mov r11d, 0x3020100
8: movd xmm0, r11d
d: pshufd xmm0, xmm0, 0
12: nop word ptr [rax + rax]
1b: nop dword ptr [rax + rax]
20: movups xmmword ptr [rdi + rsi], xmm0
24: add rsi, 0x10
28: cmp rsi, 0x1f0
2f: jne 0x10020
31: mov rdx, rsi
34: and edx, 3
37: mov byte ptr [rdi + rsi], dl
3a: inc rsi
3d: cmp rsi, 0x200
44: jne 0x10031
46: xor eax, eax
48: ret

-- case a fill with a register, loop_idioms on, x86_64
-- target x86_64 idioms
-- asm
r0 = r1
loop: *(u16 *)(r1 +0) = r3
r1 += 2
if r1 != r2 goto loop
r0 = 0
exit
-- expect
0: movd xmm0, edx
4: punpcklwd xmm0, xmm0
8: pshufd xmm0, xmm0, 0
d: mov r11, rsi
10: sub r11, rdi
13: sub r11, 0x10
17: jbe 0x1002d
19: nop dword ptr [rax]
20: movups xmmword ptr [rdi], xmm0
23: add rdi, 0x10
27: sub r11, 0x10
2b: ja 0x10020
2d: mov word ptr [rdi], dx
30: add rdi, 2
34: cmp rdi, rsi
37: jne 0x1002d
39: xor eax, eax
3b: ret

-- case a sum of half words, loop_idioms on, x86_64
-- target x86_64 idioms
-- asm
r0 = 0
loop: r3 = *(u16 *)(r1 +0)
r0 += r3
r1 += 2
if r1 < r2 goto loop
exit
-- expect
0: xor eax, eax
2: pxor xmm1, xmm1
6: pxor xmm3, xmm3
a: pxor xmm2, xmm2
e: mov r11, rsi
11: sub r11, rdi
14: jbe 0x10064
16: sub r11, 0x10
1a: jbe 0x10064
1c: nop dword ptr [rax]
20: movups xmm0, xmmword ptr [rdi]
23: movdqa xmm4, xmm0
27: psrlw xmm4, 8
2c: psadbw xmm4, xmm3
30: paddq xmm2, xmm4
34: psadbw xmm0, xmm3
38: paddq xmm1, xmm0
3c: add rdi, 0x10
40: sub r11, 0x10
44: ja 0x10020
46: psubq xmm1, xmm2
4a: psllq xmm2, 8
4f: paddq xmm1, xmm2
53: pshufd xmm0, xmm1, 0xee
58: paddq xmm1, xmm0
5c: movq r11, xmm1
61: add rax, r11
64: movzx edx, word ptr [rdi]
67: add rdi, 2
6b: add rax, rdx
6e: cmp rdi, rsi
71: jb 0x10064
73: ret

-- case a copy, loop_idioms on, aarch64
-- target aarch64 idioms
-- asm
r3 = 0
loop: r4 = r1
r4 += r3
r5 = *(u32 *)(r4 +8)
r4 = r2
r4 += r3
*(u32 *)(r4 +0) = r5
r3 += 4
if r3 < r6 goto loop
r0 = r5
exit
-- expect
0: stp x19, xzr, [sp, #-0x10]!
4: movz w2, #0
8: add x9, x0, x2
c: add x9, x9, #8
10: add x10, x1, x2
14: sub x12, x10, x9
18: sub x12, x12, #1
1c: cmp x12, #0x1f
20: b.lo #0x10048
24: subs x11, x19, x2
28: b.ls #0x10048
2c: subs x11, x11, #0x20
30: b.ls #0x10048
34: ldp q16, q17, [x9], #0x20
38: stp q16, q17, [x10], #0x20
3c: add x2, x2, #0x20
40: subs x11, x11, #0x20
44: b.hi #0x10034
48: add x3, x0, x2
4c: ldr w4, [x3, #8]
50: str w4, [x1, x2]
54: add x2, x2, #4
58: cmp x2, x19
5c: b.lo #0x10048
60: mov x7, x4
64: mov x0, x7
68: ldp x19, xzr, [sp], #0x10
6c: ret

-- case a copy, loop_idioms off, aarch64
-- target aarch64
-- asm
r3 = 0
loop: r4 = r1
r4 += r3
r5 = *(u32 *)(r4 +8)
r4 = r2
r4 += r3
*(u32 *)(r4 +0) = r5
r3 += 4
if r3 < r6 goto loop
r0 = r5
exit
-- expect
0: stp x19, xzr, [sp, #-0x10]!
4: movz w2, #0
8: add x3, x0, x2
c: ldr w4, [x3, #8]
10: str w4, [x1, x2]
14: add x2, x2, #4
18: cmp x2, x19
1c: b.lo #0x10008
20: mov x7, x4
24: mov x0, x7
28: ldp x19, xzr, [sp], #0x10
2c: ret

-- case a fill with a known number of iterations, loop_idioms on, aarch64
-- target aarch64 idioms
-- asm
r2 = 0
loop: *(u64 *)(r1 +0) = 0
r1 += 8
r2 += 1
if r2 != 100 goto loop
r0 = 0
exit
-- expect
0: movz w1, #0
4: mov x10, x0
8: movi v16.2d, #0000000000000000
c: movz w11, #0x18
10: stp q16, q16, [x10], #0x20
14: add x0, x0, #0x20
18: add x1, x1, #4
1c: subs x11, x11, #1
20: b.ne #0x10010
24: str xzr, [x0]
28: add x0, x0, #8
2c: add x1, x1, #1
30: cmp x1, #0x64
34: b.ne #0x10024
38: movz w7, #0
3c: mov x0, x7
40: ret

-- case a pattern that repeats, loop_idioms on, aarch64
-- target aarch64 idioms
-- asm
r2 = 0
loop: r3 = r2
r3 &= 3
r4 = r1
r4 += r2
*(u8 *)(r4 +0) = r3
r2 += 1
if r2 != 512 goto loop
r0 = 0
exit
-- expect
0: movz w1, #0
4: add x10, x0, x1
8: movz x12, #0x100
c: movk x12, #0x302, lsl #16
10: movk x12, #0x100, lsl #32
14: movk x12, #0x302, lsl #48
18: dup v16.2d, x12
1c: movz w11, #0xf
20: stp q16, q16, [x10], #0x20
24: add x1, x1, #0x20
28: subs x11, x11, #1
2c: b.ne #0x10020
30: and x2, x1, #3
34: strb w2, [x0, x1]
38: add x1, x1, #1
3c: cmp x1, #0x200
40: b.ne #0x10030
44: movz w7, #0
48: mov x0, x7
4c: ret

-- case a fill with a register, loop_idioms on, aarch64
-- target aarch64 idioms
-- asm
r0 = r1
loop: *(u16 *)(r1 +0) = r3
r1 += 2
if r1 != r2 goto loop
r0 = 0
exit
-- expect
0: mov x10, x0
4: dup v16.8h, w2
8: subs x11, x1, x0
c: subs x11, x11, #0x20
10: b.ls #0x10024
14: stp q16, q16, [x10], #0x20
18: add x0, x0, #0x20
1c: subs x11, x11, #0x20
20: b.hi #0x10014
24: strh w2, [x0]
28: add x0, x0, #2
2c: cmp x0, x1
30: b.ne #0x10024
34: movz w7, #0
38: mov x0, x7
3c: ret

-- case a sum of half words, loop_idioms on, aarch64
-- target aarch64 idioms
-- asm
r0 = 0
loop: r3 = *(u16 *)(r1 +0)
r0 += r3
r1 += 2
if r1 < r2 goto loop
exit
-- expect
0: movz w7, #0
4: mov x9, x0
8: movi v18.2d, #0000000000000000
c: subs x11, x1, x0
10: b.ls #0x10040
14: subs x11, x11, #0x10
18: b.ls #0x10040
1c: ldr q16, [x9], #0x10
20: uaddlp v16.4s, v16.8h
24: uadalp v18.2d, v16.4s
28: add x0, x0, #0x10
2c: subs x11, x11, #0x10
30: b.hi #0x1001c
34: addp d18, v18.2d
38: fmov x12, d18
3c: add x7, x7, x12
40: ldrh w2, [x0]
44: add x7, x7, x2
48: add x0, x0, #2
4c: cmp x0, x1
50: b.lo #0x10040
54: mov x0, x7
58: ret
