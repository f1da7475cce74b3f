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
4: sub rsp, 8
8: mov qword ptr [rbp - 8], r12
c: movabs r12, 0x100000000100
16: add r12, qword ptr fs:[0x100]
1f: cmp dword ptr [r12 - 0xc8], 0
28: jne 0x10063
2a: mov dword ptr [r12 - 0xc8], 1
36: push rbx
37: mov qword ptr [r12 - 0x80], rdi
3c: call 0x10080
41: call 0x20030
46: call 0x10080
4b: mov rax, qword ptr [r12 - 0x80]
50: pop rbx
51: mov dword ptr [r12 - 0xc8], 0
5d: mov r12, qword ptr [rbp - 8]
61: leave
62: ret
63: sub rsp, 0x250
6a: lea r12, [rsp + 0xd0]
72: jmp 0x1002a
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
4: sub rsp, 8
8: mov qword ptr [rbp - 8], r12
c: movabs r12, 0x100000000100
16: add r12, qword ptr fs:[0x100]
1f: cmp dword ptr [r12 - 0xc8], 0
28: jne 0x10052
2a: mov dword ptr [r12 - 0xc8], 1
36: mov qword ptr [r12 - 0x80], rdi
3b: mov rax, qword ptr [r12 - 0x80]
40: mov dword ptr [r12 - 0xc8], 0
4c: mov r12, qword ptr [rbp - 8]
50: leave
51: ret
52: sub rsp, 0x60
56: lea r12, [rsp + 0xd0]
5e: jmp 0x1002a

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
4: sub rsp, 0x10
8: mov qword ptr [rbp - 8], r12
c: movabs r12, 0x100000000100
16: add r12, qword ptr fs:[0x100]
1f: cmp dword ptr [r12 - 0xc8], 0
28: jne 0x10062
2a: mov dword ptr [r12 - 0xc8], 1
36: lea rsi, [rip + 0x43]
3d: mov qword ptr [r12 - 0x48], 0
46: mov edi, 0xa
4b: call 0x20030
50: mov dword ptr [r12 - 0xc8], 0
5c: mov r12, qword ptr [rbp - 8]
60: leave
61: ret
62: sub rsp, 0x90
69: lea r12, [rsp + 0xd0]
71: jmp 0x1002a
73: int3
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
8: str x25, [sp, #0x10]
c: movz x10, #0x100
10: movk x10, #0x1000, lsl #32
14: mrs x9, tpidr_el0
18: ldr x9, [x9, #0x100]
1c: add x25, x9, x10
20: ldur w9, [x25, #-0xc8]
24: cbnz w9, #0x1006c
28: movz w9, #0x1
2c: stur w9, [x25, #-0xc8]
30: stp x19, xzr, [sp, #-0x10]!
34: mov x19, x0
38: stur x19, [x25, #-0x80]
3c: bl #0x10080
40: bl #0x20030
44: mov x7, x0
48: bl #0x10080
4c: ldur x7, [x25, #-0x80]
50: mov x0, x7
54: ldp x19, xzr, [sp], #0x10
58: stur wzr, [x25, #-0xc8]
5c: mov sp, x29
60: ldr x25, [sp, #0x10]
64: ldp x29, x30, [sp], #0x20
68: ret
6c: sub sp, sp, #0x250
70: add x25, sp, #0xd0
74: b #0x10028
78: brk #0x1
7c: brk #0x1
80: str xzr, [x25, #0x80]
84: movz w7, #0
88: mov x0, x7
8c: ret

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
8: str x25, [sp, #0x10]
c: movz x10, #0x100
10: movk x10, #0x1000, lsl #32
14: mrs x9, tpidr_el0
18: ldr x9, [x9, #0x100]
1c: add x25, x9, x10
20: ldur w9, [x25, #-0xc8]
24: cbnz w9, #0x10058
28: movz w9, #0x1
2c: stur w9, [x25, #-0xc8]
30: sub x1, x25, #0x70
34: sub x1, x1, #0x10
38: str x0, [x1]
3c: ldur x7, [x25, #-0x80]
40: mov x0, x7
44: stur wzr, [x25, #-0xc8]
48: mov sp, x29
4c: ldr x25, [sp, #0x10]
50: ldp x29, x30, [sp], #0x20
54: ret
58: sub sp, sp, #0x60
5c: add x25, sp, #0xd0
60: b #0x10028

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
8: str x25, [sp, #0x10]
c: movz x10, #0x100
10: movk x10, #0x1000, lsl #32
14: mrs x9, tpidr_el0
18: ldr x9, [x9, #0x100]
1c: add x25, x9, x10
20: ldur w9, [x25, #-0xc8]
24: cbnz w9, #0x10060
28: movz w9, #0x1
2c: stur w9, [x25, #-0xc8]
30: movz w0, #0xa
34: adrp x1, #0x10000
38: add x1, x1, #0x70
3c: stur xzr, [x25, #-0x48]
40: bl #0x20030
44: mov x7, x0
48: mov x0, x7
4c: stur wzr, [x25, #-0xc8]
50: mov sp, x29
54: ldr x25, [sp, #0x10]
58: ldp x29, x30, [sp], #0x20
5c: ret
60: sub sp, sp, #0x90
64: add x25, sp, #0xd0
68: b #0x10028
6c: brk #0x1
70: stp x29, x30, [sp, #-0x20]!
74: mov x29, sp
78: movz x10, #0x1000, lsl #32
7c: mrs x9, tpidr_el0
80: ldr x9, [x9, #0x100]
84: add x9, x9, x10
88: stp x25, x9, [sp, #0x10]
8c: ldr x25, [x9]
90: ldr x10, [x9, #8]
94: cmp x25, x10
98: b.hs #0x100c0
9c: movz w10, #0x80
a0: add x10, x10, x25
a4: str x10, [x9]
a8: bl #0x100dc
ac: ldr x9, [sp, #0x18]
b0: str x25, [x9]
b4: ldr x25, [sp, #0x10]
b8: ldp x29, x30, [sp], #0x20
bc: ret
c0: sub sp, sp, #0x40
c4: add x25, sp, #0x80
c8: bl #0x100dc
cc: mov sp, x29
d0: ldr x25, [sp, #0x10]
d4: ldp x29, x30, [sp], #0x20
d8: ret
dc: movz w10, #0x1
e0: stur x10, [x25, #-0x48]
e4: movz w7, #0
e8: mov x0, x7
ec: ret
