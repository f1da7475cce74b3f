# What the x86-64 backend makes of short programs. After a deliberate change:
# test_codegen --print x86_64.t > new; read the difference, then replace this file.
-- case nothing but a result
-- target x86_64
-- asm
r0 = 0
exit
-- expect
0: xor eax, eax
2: ret

-- case a leaf function saves nothing: r6 moves to a free argument register
-- target x86_64
-- asm
r6 = *(u64 *)(r1 +0)
r6 ^= r1
r0 = r6
exit
-- expect
0: mov rsi, qword ptr [rdi]
3: xor rsi, rdi
6: mov rax, rsi
9: ret

-- case a call needs a frame, alignment and the saved register
-- target x86_64
-- asm
r6 = r1
call unspec#3
r0 ^= r6
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: sub rsp, 8
8: push rbx
9: mov rbx, rdi
c: call 0x20030
11: xor rax, rbx
14: pop rbx
15: leave
16: ret

-- case a small stack of a leaf function lies in the red zone, without a frame
-- target x86_64
-- stack 16
-- asm
*(u64 *)(r10 -16) = r1
r0 = *(u64 *)(r10 -16)
exit
-- expect
0: mov qword ptr [rsp - 0x10], rdi
5: mov rax, qword ptr [rsp - 0x10]
a: ret

-- case a larger stack is allocated
-- target x86_64
-- stack 256
-- asm
*(u64 *)(r10 -256) = r1
r0 = *(u64 *)(r10 -256)
exit
-- expect
0: sub rsp, 0x100
7: mov qword ptr [rsp], rdi
b: mov rax, qword ptr [rsp]
f: add rsp, 0x100
16: ret

-- case copies, shifts and sums become an address
-- target x86_64
-- asm
r3 = r1
r2 <<= 3
r3 += r2
r0 = *(u32 *)(r3 +16)
exit
-- expect
0: mov eax, dword ptr [rdi + rsi*8 + 0x10]
4: ret

-- case three operands
-- target x86_64
-- asm
r0 = r1
r0 += r2
r0 += 5
exit
-- expect
0: lea rax, [rdi + rsi + 5]
5: ret

-- case 32 bits are not masked
-- target x86_64
-- asm
w0 = w1
w0 *= 100
w0 ^= w2
exit
-- expect
0: imul eax, edi, 0x64
3: xor eax, esi
5: ret

-- case a constant 64-bit address in a loop stays in a register
-- target x86_64
-- asm
r2 = 0
top: r1 = 0x7f0012340000 ll
r1 += r2
*(u8 *)(r1 +20) = r2
r2 += 1
if r2 != 64 goto top
r0 = 0
exit
-- expect
0: movabs rcx, 0x7f0012340000
a: xor esi, esi
c: nop dword ptr [rax]
10: mov byte ptr [rcx + rsi + 0x14], sil
15: inc rsi
18: cmp rsi, 0x40
1c: jne 0x10010
1e: xor eax, eax
20: ret

-- case a loop that ends in a branch over a jump
-- target x86_64
-- asm
r0 = 10
top: r1 ^= r0
r0 += -1
if r0 == 0 goto pc+1
goto top
r0 = r1
exit
-- expect
0: mov eax, 0xa
5: nop word ptr [rax + rax]
e: nop
10: xor rdi, rax
13: dec rax
16: jne 0x10010
18: mov rax, rdi
1b: ret

-- case shifts with BMI2
-- target x86_64
-- asm
r0 = r1
r0 <<= r2
r3 >>= r0
w3 s>>= w2
r0 = r3
exit
-- expect
0: shlx rax, rdi, rsi
5: shrx rdx, rdx, rax
a: sarx edx, edx, esi
f: mov rax, rdx
12: ret

-- case shifts without BMI2, the count is r4 itself or not
-- target x86_64 plain
-- asm
r0 = r1
r0 <<= r4
r0 >>= r2
r0 ^= r4
exit
-- expect
0: mov rax, rdi
3: shl rax, cl
6: mov r11, rcx
9: mov ecx, esi
b: shr rax, cl
e: mov rcx, r11
11: xor rax, rcx
14: ret

-- case rotate
-- target x86_64
-- asm
w2 = w1
w2 >>= 19
w1 <<= 13
w1 |= w2
w0 = w1
exit
-- expect
0: rol edi, 0xd
3: mov rax, rdi
6: ret

-- case zero-extension by shifts
-- target x86_64
-- asm
r1 <<= 32
r1 >>= 32
r0 = *(u64 *)(r1 +0)
exit
-- expect
0: mov edi, edi
2: mov rax, qword ptr [rdi]
5: ret

-- case division branches around zero
-- target x86_64
-- asm
r0 = r1
r0 /= r2
exit
-- expect
0: mov rax, rdi
3: test rsi, rsi
6: je 0x1000e
8: xor edx, edx
a: div rsi
d: ret
e: xor eax, eax
10: jmp 0x1000d

-- case remainder of zero leaves the dividend
-- target x86_64
-- asm
r0 = r1
r0 %= r2
exit
-- expect
0: mov rax, rdi
3: test rsi, rsi
6: je 0x10010
8: xor edx, edx
a: div rsi
d: mov rax, rdx
10: ret

-- case signed division has no traps
-- target x86_64
-- asm
r0 = r1
r0 s/= r2
exit
-- expect
0: mov rax, rdi
3: lea r10, [rsi + 1]
7: cmp r10, 1
b: jbe 0x10013
d: cqo
f: idiv rsi
12: ret
13: test rsi, rsi
16: je 0x1001d
18: neg rax
1b: jmp 0x10012
1d: xor eax, eax
1f: jmp 0x10012

-- case division by a power of two
-- target x86_64
-- asm
r0 = r1
r0 /= 16
exit
-- expect
0: mov rax, rdi
3: shr rax, 4
7: ret

-- case 32-bit division by ten
-- target x86_64
-- asm
w0 = w1
w0 /= 10
exit
-- expect
0: mov eax, edi
2: mov r11d, 0xcccccccd
8: imul rax, r11
c: shr rax, 0x23
10: ret

-- case 64-bit division by ten
-- target x86_64
-- asm
r0 = r1
r0 /= 10
exit
-- expect
0: movabs r11, 0xcccccccccccccccd
a: mov rdx, rdi
d: mulx rax, r10, r11
12: shr rax, 3
16: ret

-- case comparison with zero after an operation
-- target x86_64
-- asm
r0 = 1
r1 &= r2
if r1 == 0 goto pc+1
r0 = r1
exit
-- expect
0: and rdi, rsi
3: mov eax, 1
8: cmovne rax, rdi
c: ret

-- case bit test
-- target x86_64
-- asm
r0 = 1
r1 &= 8
if r1 == 0 goto out
r0 = *(u64 *)(r2 +0)
out: exit
-- expect
0: mov eax, 1
5: test dil, 8
9: je 0x1000e
b: mov rax, qword ptr [rsi]
e: ret

-- case choice of 0 or 1
-- target x86_64
-- asm
w0 = 1
if r1 == r2 goto pc+1
w0 = 0
exit
-- expect
0: xor eax, eax
2: cmp rdi, rsi
5: sete al
8: ret

-- case choice of two values
-- target x86_64
-- asm
r0 = r1
if r1 s> r2 goto pc+1
r0 = r2
exit
-- expect
0: mov rax, rdi
3: cmp rdi, rsi
6: cmovle rax, rsi
a: ret

-- case operands from memory
-- target x86_64
-- asm
r0 = r1
r2 = *(u64 *)(r1 +8)
r0 += r2
r2 = *(u8 *)(r1 +3)
if r2 != 6 goto out
r2 = *(u32 *)(r1 +16)
r2 += 1
*(u32 *)(r1 +16) = r2
out: exit
-- expect
0: mov rax, rdi
3: add rax, qword ptr [rdi + 8]
7: cmp byte ptr [rdi + 3], 6
b: jne 0x10011
d: add dword ptr [rdi + 0x10], 1
11: ret

-- case network byte order from memory
-- target x86_64
-- asm
r0 = *(u32 *)(r1 +0)
r0 = be32 r0
exit
-- expect
0: movbe eax, dword ptr [rdi]
4: ret

-- case atomic or: the value is needed, and r0 is kept
-- target x86_64
-- asm
r0 = 7
r2 = atomic64_fetch_or((u64 *)(r1 +0), r2)
r0 += r2
exit
-- expect
0: mov rax, qword ptr [rdi]
3: mov r11, rax
6: or r11, rsi
9: lock cmpxchg qword ptr [rdi], r11
e: jne 0x10003
10: mov rsi, rax
13: lea rax, [rsi + 7]
17: ret

-- case atomic add: the value is not needed
-- target x86_64
-- asm
r2 = atomic64_fetch_add((u64 *)(r1 +0), r2)
r0 = 0
exit
-- expect
0: lock add qword ptr [rdi], rsi
4: xor eax, eax
6: ret

-- case functions call each other directly
-- target x86_64
-- asm
call double
exit
double: r0 = r1
r0 += r1
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: call 0x10010
9: pop rbp
a: ret
b: int3
c: int3
d: int3
e: int3
f: int3
10: lea rax, [rdi + rdi]
14: ret

-- case callback value
-- target x86_64
-- asm
r1 = &cb
call unspec#1
exit
cb: r0 = 0
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: lea rdi, [rip + 0x15]
b: call 0x20010
10: pop rbp
11: ret
12: int3
13: int3
14: int3
15: int3
16: int3
17: int3
18: int3
19: int3
1a: int3
1b: int3
1c: int3
1d: int3
1e: int3
1f: int3
20: xor eax, eax
22: ret

-- case per-CPU MOV
-- target x86_64
-- asm
.insn 0xbf 0 1 -1 0
r0 = *(u64 *)(r0 +0)
exit
-- expect
0: mov rax, rdi
3: add rax, qword ptr fs:[0x100]
c: mov rax, qword ptr [rax]
f: ret

-- case inner loops start at a multiple of 16, outer ones where they are
-- target x86_64
-- asm
r0 = 0
outer: r2 = 5
loop: r0 += r1
r2 -= 1
if r2 != 0 goto loop
r1 -= 1
if r1 != 0 goto outer
exit
-- expect
0: xor eax, eax
2: mov esi, 5
7: nop word ptr [rax + rax]
10: dec rsi
13: add rax, rdi
16: test rsi, rsi
19: jne 0x10010
1b: dec rdi
1e: jne 0x10002
20: ret

-- case loops start at a multiple of 16
-- target x86_64
-- asm
r0 = 0
r2 = 5
loop: r0 += r1
r2 += -1
if r2 != 0 goto loop
exit
-- expect
0: xor eax, eax
2: mov esi, 5
7: nop word ptr [rax + rax]
10: dec rsi
13: add rax, rdi
16: test rsi, rsi
19: jne 0x10010
1b: ret

-- case bytes put together are one load
-- target x86_64
-- asm
r0 = *(u8 *)(r1 +3)
r2 = *(u8 *)(r1 +4)
r2 <<= 8
r2 |= r0
r3 = *(u8 *)(r1 +5)
r0 = *(u8 *)(r1 +6)
r0 <<= 8
r0 |= r3
r0 <<= 16
r0 |= r2
exit
-- expect
0: mov eax, dword ptr [rdi + 3]
3: ret

-- case bytes are not joined across a store, nor after their base has changed
-- target x86_64
-- asm
r0 = *(u8 *)(r1 +0)
*(u8 *)(r2 +0) = 7
r3 = *(u8 *)(r1 +1)
r3 <<= 8
r0 |= r3
r4 = *(u8 *)(r1 +2)
r1 += 1
r5 = *(u8 *)(r1 +2)
r5 <<= 8
r4 |= r5
r0 += r4
exit
-- expect
0: movzx eax, byte ptr [rdi]
3: mov byte ptr [rsi], 7
6: movzx edx, byte ptr [rdi + 1]
a: shl rdx, 8
e: or rax, rdx
11: movzx ecx, byte ptr [rdi + 2]
15: inc rdi
18: movzx r8d, byte ptr [rdi + 2]
1d: shl r8, 8
21: or rcx, r8
24: add rax, rcx
27: ret

-- case a rotated copy
-- target x86_64
-- asm
r2 = r1
r2 >>= 47
r0 = r1
r0 <<= 17
r0 |= r2
r0 ^= r1
exit
-- expect
0: rorx rax, rdi, 0x2f
6: xor rax, rdi
9: ret

-- case what nobody reads is left out
-- target x86_64
-- asm
r2 = 7
r2 *= r1
r3 = *(u64 *)(r1 +8)
r3 += r2
r0 = 1
exit
-- expect
0: mov eax, 1
5: ret

-- case a branch goes where the test that it decides would send it
-- target x86_64
-- asm
r0 = 0
if w1 >= 256 goto test
r0 = r2
test: if r0 == 0 goto miss
r0 = *(u64 *)(r0 +0)
r0 += 7
exit
miss: exit
-- expect
0: xor eax, eax
2: cmp edi, 0x100
8: jae 0x1001a
a: mov rax, rsi
d: test rax, rax
10: je 0x1001a
12: mov rax, qword ptr [rax]
15: add rax, 7
19: ret
1a: ret

-- case a call passes what the helper reads: r3 is nobody's
-- target x86_64
-- asm
r1 = 1
r2 = 2
r3 = 3
call unspec#2
exit
-- expect
0: push rbp
1: mov rbp, rsp
4: mov edi, 1
9: mov esi, 2
e: call 0x20020
13: pop rbp
14: ret

-- case a call passes what the function reads, through functions that only hand it on
-- target x86_64
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
0: push rbp
1: mov rbp, rsp
4: mov esi, 2
9: call 0x10010
e: pop rbp
f: ret
10: push rbp
11: mov rbp, rsp
14: call 0x10020
19: pop rbp
1a: ret
1b: int3
1c: int3
1d: int3
1e: int3
1f: int3
20: mov rax, rsi
23: ret

-- case the address of a callback that a loop of calls has replaced is not loaded, but r2 is passed
-- target x86_64
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
0: push rbp
1: mov rbp, rsp
4: push rbx
5: push r13
7: mov rbx, rdi
a: xor r13d, r13d
d: nop dword ptr [rax]
10: mov rdi, r13
13: mov rsi, rbx
16: call 0x10030
1b: inc r13
1e: cmp r13, rbx
21: jb 0x10010
23: xor eax, eax
25: pop r13
27: pop rbx
28: pop rbp
29: ret
2a: int3
2b: int3
2c: int3
2d: int3
2e: int3
2f: int3
30: mov rax, rdi
33: ret

-- case a loop that would lie across two cache lines begins with the second one
-- target x86_64
-- asm
r2 = 0
r3 = 0x7f0012340000 ll
*(u64 *)(r1 +0x100) = r3
*(u64 *)(r1 +0x108) = r3
*(u64 *)(r1 +0x110) = r3
top: r4 = *(u8 *)(r1 +0)
r2 ^= r4
r2 *= 0x12345
r1 += 1
if r1 != r5 goto top
r0 = r2
exit
-- expect
0: movabs rdx, 0x7f0012340000
a: mov qword ptr [rdi + 0x100], rdx
11: mov qword ptr [rdi + 0x108], rdx
18: mov qword ptr [rdi + 0x110], rdx
1f: xor esi, esi
21: nop word ptr [rax + rax]
2a: nop word ptr [rax + rax]
33: nop word ptr [rax + rax]
3c: nop dword ptr [rax]
40: movzx ecx, byte ptr [rdi]
43: xor rsi, rcx
46: imul rsi, rsi, 0x12345
4d: inc rdi
50: cmp rdi, r8
53: jne 0x10040
55: mov rax, rsi
58: ret
