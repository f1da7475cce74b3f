# The same programs without and with private stacks, on both machines (lib/jit/README.md). The memory
# of the private stack stands at 0x100000000000. After a deliberate change, as in x86_64.t.
-- case calls, private stack off, x86_64
-- target x86_64
-- stack 256
-- asm
r6 = r1
*(u64 *)(r10 -256) = r6
call func
call unspec#3
call func
r0 = *(u64 *)(r10 -256)
exit
func: *(u64 *)(r10 -256) = 0
r0 = 0
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: sub rsp, 0x108
b: push rbx
c: mov qword ptr [rbp - 0x100], rdi
13: call 0x10030
18: call 0x20030
1d: call 0x10030
22: mov rax, qword ptr [rbp - 0x100]
29: pop rbx
2a: leave
2b: ret
2c: int3
2d: int3
2e: int3
2f: int3
30: sub rsp, 0x100
37: mov qword ptr [rsp], 0
3f: xor eax, eax
41: add rsp, 0x100
48: ret

-- case calls, private stack on, x86_64
-- target x86_64
-- stack 256 private
-- asm
r6 = r1
*(u64 *)(r10 -256) = r6
call func
call unspec#3
call func
r0 = *(u64 *)(r10 -256)
exit
func: *(u64 *)(r10 -256) = 0
r0 = 0
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: push r12
6: movabs r11, 0x100000000000
10: add r11, qword ptr fs:[0x100]
19: push r11
1b: mov r12, qword ptr [r11]
1e: cmp r12, qword ptr [r11 + 8]
22: jae 0x1003d
24: lea rax, [r12 + 0x240]
2c: mov qword ptr [r11], rax
2f: call 0x10057
34: pop r11
36: mov qword ptr [r11], r12
39: pop r12
3b: pop rbp
3c: ret
3d: sub rsp, 0x200
44: lea r12, [rsp + 0x80]
4c: call 0x10057
51: mov r12, qword ptr [rbp - 8]
55: leave
56: ret
57: push rbp
58: mov rbp, rsp
5b: sub rsp, 8
5f: push rbx
60: mov qword ptr [r12 - 0x80], rdi
65: call 0x10080
6a: call 0x20030
6f: call 0x10080
74: mov rax, qword ptr [r12 - 0x80]
79: pop rbx
7a: leave
7b: ret
7c: int3
7d: int3
7e: int3
7f: int3
80: mov qword ptr [r12 + 0x80], 0
8c: xor eax, eax
8e: ret

-- case leaf, private stack off, x86_64
-- target x86_64
-- stack 16
-- asm
r2 = r10
r2 += -16
*(u64 *)(r2 +0) = r1
r0 = *(u64 *)(r10 -16)
exit
-- expect
0: mov qword ptr [rsp - 0x10], rdi
5: mov rax, qword ptr [rsp - 0x10]
a: ret

-- case leaf, private stack on, x86_64
-- target x86_64
-- stack 16 private
-- asm
r2 = r10
r2 += -16
*(u64 *)(r2 +0) = r1
r0 = *(u64 *)(r10 -16)
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: push r12
6: movabs r11, 0x100000000000
10: add r11, qword ptr fs:[0x100]
19: push r11
1b: mov r12, qword ptr [r11]
1e: cmp r12, qword ptr [r11 + 8]
22: jae 0x1003a
24: lea rax, [r12 + 0x50]
29: mov qword ptr [r11], rax
2c: call 0x10051
31: pop r11
33: mov qword ptr [r11], r12
36: pop r12
38: pop rbp
39: ret
3a: sub rsp, 0x10
3e: lea r12, [rsp + 0x80]
46: call 0x10051
4b: mov r12, qword ptr [rbp - 8]
4f: leave
50: ret
51: mov qword ptr [r12 - 0x80], rdi
56: mov rax, qword ptr [r12 - 0x80]
5b: ret

-- case callback, private stack off, x86_64
-- target x86_64
-- stack 64
-- asm
r1 = 10
r2 = &cb
*(u64 *)(r10 -8) = 0
call unspec#3
exit
cb: *(u64 *)(r10 -8) = 1
r0 = 0
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: sub rsp, 0x40
8: lea rsi, [rip + 0x21]
f: mov qword ptr [rbp - 8], 0
17: mov edi, 0xa
1c: call 0x20030
21: leave
22: ret
23: int3
24: int3
25: int3
26: int3
27: int3
28: int3
29: int3
2a: int3
2b: int3
2c: int3
2d: int3
2e: int3
2f: int3
30: mov qword ptr [rsp - 8], 1
39: xor eax, eax
3b: ret

-- case callback, private stack on, x86_64
-- target x86_64
-- stack 64 private
-- asm
r1 = 10
r2 = &cb
*(u64 *)(r10 -8) = 0
call unspec#3
exit
cb: *(u64 *)(r10 -8) = 1
r0 = 0
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: push r12
6: movabs r11, 0x100000000000
10: add r11, qword ptr fs:[0x100]
19: push r11
1b: mov r12, qword ptr [r11]
1e: cmp r12, qword ptr [r11 + 8]
22: jae 0x1003d
24: lea rax, [r12 + 0x80]
2c: mov qword ptr [r11], rax
2f: call 0x10054
34: pop r11
36: mov qword ptr [r11], r12
39: pop r12
3b: pop rbp
3c: ret
3d: sub rsp, 0x40
41: lea r12, [rsp + 0x80]
49: call 0x10054
4e: mov r12, qword ptr [rbp - 8]
52: leave
53: ret
54: push rbp
55: mov rbp, rsp
58: lea rsi, [rip + 0x21]
5f: mov qword ptr [r12 - 0x48], 0
68: mov edi, 0xa
6d: call 0x20030
72: pop rbp
73: ret
74: int3
75: int3
76: int3
77: int3
78: int3
79: int3
7a: int3
7b: int3
7c: int3
7d: int3
7e: int3
7f: int3
80: push rbp
81: mov rbp, rsp
84: push r12
86: movabs r11, 0x100000000000
90: add r11, qword ptr fs:[0x100]
99: push r11
9b: mov r12, qword ptr [r11]
9e: cmp r12, qword ptr [r11 + 8]
a2: jae 0x100bd
a4: lea rax, [r12 + 0x80]
ac: mov qword ptr [r11], rax
af: call 0x100d4
b4: pop r11
b6: mov qword ptr [r11], r12
b9: pop r12
bb: pop rbp
bc: ret
bd: sub rsp, 0x40
c1: lea r12, [rsp + 0x80]
c9: call 0x100d4
ce: mov r12, qword ptr [rbp - 8]
d2: leave
d3: ret
d4: mov qword ptr [r12 - 0x48], 1
dd: xor eax, eax
df: ret

-- case calls, private stack off, aarch64
-- target aarch64
-- stack 256
-- asm
r6 = r1
*(u64 *)(r10 -256) = r6
call func
call unspec#3
call func
r0 = *(u64 *)(r10 -256)
exit
func: *(u64 *)(r10 -256) = 0
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: stp x19, xzr, [sp, #-0x10]!
c: sub sp, sp, #0x100
10: mov x19, x0
14: str x19, [sp]
18: bl #0x10040
1c: bl #0x20030
20: mov x7, x0
24: bl #0x10040
28: ldr x7, [sp]
2c: mov x0, x7
30: add sp, sp, #0x100
34: ldp x19, xzr, [sp], #0x10
38: ldp x29, x30, [sp], #0x10
3c: ret
40: stp x29, x30, [sp, #-0x10]!
44: mov x29, sp
48: sub sp, sp, #0x100
4c: str xzr, [sp]
50: movz w7, #0
54: mov x0, x7
58: add sp, sp, #0x100
5c: ldp x29, x30, [sp], #0x10
60: ret

-- case calls, private stack on, aarch64
-- target aarch64
-- stack 256 private
-- asm
r6 = r1
*(u64 *)(r10 -256) = r6
call func
call unspec#3
call func
r0 = *(u64 *)(r10 -256)
exit
func: *(u64 *)(r10 -256) = 0
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x20]!
4: mov x29, sp
8: movz x10, #0x1000, lsl #32
c: mrs x9, tpidr_el0
10: ldr x9, [x9, #0x100]
14: add x9, x9, x10
18: stp x25, x9, [sp, #0x10]
1c: ldr x25, [x9]
20: ldr x10, [x9, #8]
24: cmp x25, x10
28: b.hs #0x10050
2c: movz w10, #0x240
30: add x10, x10, x25
34: str x10, [x9]
38: bl #0x1006c
3c: ldr x9, [sp, #0x18]
40: str x25, [x9]
44: ldr x25, [sp, #0x10]
48: ldp x29, x30, [sp], #0x20
4c: ret
50: sub sp, sp, #0x200
54: add x25, sp, #0x80
58: bl #0x1006c
5c: mov sp, x29
60: ldr x25, [sp, #0x10]
64: ldp x29, x30, [sp], #0x20
68: ret
6c: stp x29, x30, [sp, #-0x10]!
70: mov x29, sp
74: stp x19, xzr, [sp, #-0x10]!
78: mov x19, x0
7c: stur x19, [x25, #-0x80]
80: bl #0x100b0
84: bl #0x20030
88: mov x7, x0
8c: bl #0x100b0
90: ldur x7, [x25, #-0x80]
94: mov x0, x7
98: ldp x19, xzr, [sp], #0x10
9c: ldp x29, x30, [sp], #0x10
a0: ret
a4: brk #0x1
a8: brk #0x1
ac: brk #0x1
b0: str xzr, [x25, #0x80]
b4: movz w7, #0
b8: mov x0, x7
bc: ret

-- case leaf, private stack off, aarch64
-- target aarch64
-- stack 16
-- asm
r2 = r10
r2 += -16
*(u64 *)(r2 +0) = r1
r0 = *(u64 *)(r10 -16)
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: sub sp, sp, #0x10
c: add x1, sp, #0x10
10: sub x1, x1, #0x10
14: str x0, [x1]
18: ldr x7, [sp]
1c: mov x0, x7
20: add sp, sp, #0x10
24: ldp x29, x30, [sp], #0x10
28: ret

-- case leaf, private stack on, aarch64
-- target aarch64
-- stack 16 private
-- asm
r2 = r10
r2 += -16
*(u64 *)(r2 +0) = r1
r0 = *(u64 *)(r10 -16)
exit
-- expect
0: stp x29, x30, [sp, #-0x20]!
4: mov x29, sp
8: movz x10, #0x1000, lsl #32
c: mrs x9, tpidr_el0
10: ldr x9, [x9, #0x100]
14: add x9, x9, x10
18: stp x25, x9, [sp, #0x10]
1c: ldr x25, [x9]
20: ldr x10, [x9, #8]
24: cmp x25, x10
28: b.hs #0x10050
2c: movz w10, #0x50
30: add x10, x10, x25
34: str x10, [x9]
38: bl #0x1006c
3c: ldr x9, [sp, #0x18]
40: str x25, [x9]
44: ldr x25, [sp, #0x10]
48: ldp x29, x30, [sp], #0x20
4c: ret
50: sub sp, sp, #0x10
54: add x25, sp, #0x80
58: bl #0x1006c
5c: mov sp, x29
60: ldr x25, [sp, #0x10]
64: ldp x29, x30, [sp], #0x20
68: ret
6c: sub x1, x25, #0x70
70: sub x1, x1, #0x10
74: str x0, [x1]
78: ldur x7, [x25, #-0x80]
7c: mov x0, x7
80: ret

-- case callback, private stack off, aarch64
-- target aarch64
-- stack 64
-- asm
r1 = 10
r2 = &cb
*(u64 *)(r10 -8) = 0
call unspec#3
exit
cb: *(u64 *)(r10 -8) = 1
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x10]!
4: mov x29, sp
8: sub sp, sp, #0x40
c: movz w0, #0xa
10: adrp x1, #0x10000
14: add x1, x1, #0x40
18: str xzr, [sp, #0x38]
1c: bl #0x20030
20: mov x7, x0
24: mov x0, x7
28: add sp, sp, #0x40
2c: ldp x29, x30, [sp], #0x10
30: ret
34: brk #0x1
38: brk #0x1
3c: brk #0x1
40: stp x29, x30, [sp, #-0x10]!
44: mov x29, sp
48: sub sp, sp, #0x40
4c: movz w10, #0x1
50: str x10, [sp, #0x38]
54: movz w7, #0
58: mov x0, x7
5c: add sp, sp, #0x40
60: ldp x29, x30, [sp], #0x10
64: ret

-- case callback, private stack on, aarch64
-- target aarch64
-- stack 64 private
-- asm
r1 = 10
r2 = &cb
*(u64 *)(r10 -8) = 0
call unspec#3
exit
cb: *(u64 *)(r10 -8) = 1
r0 = 0
exit
-- expect
0: stp x29, x30, [sp, #-0x20]!
4: mov x29, sp
8: movz x10, #0x1000, lsl #32
c: mrs x9, tpidr_el0
10: ldr x9, [x9, #0x100]
14: add x9, x9, x10
18: stp x25, x9, [sp, #0x10]
1c: ldr x25, [x9]
20: ldr x10, [x9, #8]
24: cmp x25, x10
28: b.hs #0x10050
2c: movz w10, #0x80
30: add x10, x10, x25
34: str x10, [x9]
38: bl #0x1006c
3c: ldr x9, [sp, #0x18]
40: str x25, [x9]
44: ldr x25, [sp, #0x10]
48: ldp x29, x30, [sp], #0x20
4c: ret
50: sub sp, sp, #0x40
54: add x25, sp, #0x80
58: bl #0x1006c
5c: mov sp, x29
60: ldr x25, [sp, #0x10]
64: ldp x29, x30, [sp], #0x20
68: ret
6c: stp x29, x30, [sp, #-0x10]!
70: mov x29, sp
74: movz w0, #0xa
78: adrp x1, #0x10000
7c: add x1, x1, #0xa0
80: stur xzr, [x25, #-0x48]
84: bl #0x20030
88: mov x7, x0
8c: mov x0, x7
90: ldp x29, x30, [sp], #0x10
94: ret
98: brk #0x1
9c: brk #0x1
a0: stp x29, x30, [sp, #-0x20]!
a4: mov x29, sp
a8: movz x10, #0x1000, lsl #32
ac: mrs x9, tpidr_el0
b0: ldr x9, [x9, #0x100]
b4: add x9, x9, x10
b8: stp x25, x9, [sp, #0x10]
bc: ldr x25, [x9]
c0: ldr x10, [x9, #8]
c4: cmp x25, x10
c8: b.hs #0x100f0
cc: movz w10, #0x80
d0: add x10, x10, x25
d4: str x10, [x9]
d8: bl #0x1010c
dc: ldr x9, [sp, #0x18]
e0: str x25, [x9]
e4: ldr x25, [sp, #0x10]
e8: ldp x29, x30, [sp], #0x20
ec: ret
f0: sub sp, sp, #0x40
f4: add x25, sp, #0x80
f8: bl #0x1010c
fc: mov sp, x29
100: ldr x25, [sp, #0x10]
104: ldp x29, x30, [sp], #0x20
108: ret
10c: movz w10, #0x1
110: stur x10, [x25, #-0x48]
114: movz w7, #0
118: mov x0, x7
11c: ret
