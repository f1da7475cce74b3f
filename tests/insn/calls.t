# Calls of subprograms and helpers. Helper 181 is bpf_loop(count, callback, context, flags).

-- case a subprogram
-- asm
r1 = 5
r2 = 6
call add
exit
add: r0 = r1
r0 += r2
exit
-- result 11

-- case five arguments
-- asm
r1 = 1
r2 = 20
r3 = 300
r4 = 4000
r5 = 50000
call sum
exit
sum: r0 = r1
r0 += r2
r0 += r3
r0 += r4
r0 += r5
exit
-- result 54321

-- case arguments are passed in 64 bits
-- asm
r1 = 0x1122334455667788 ll
call id
exit
id: r0 = r1
exit
-- result 0x1122334455667788

-- case r6 to r9 survive a call
-- asm
r6 = 1
r7 = 20
r8 = 300
r9 = 4000
call clobber
r0 = r6
r0 += r7
r0 += r8
r0 += r9
exit
clobber: r6 = -1
r7 = -1
r8 = -1
r9 = -1
r0 = -1
exit
-- result 4321

-- case every function has its own frame
-- asm
*(u64 *)(r10 -8) = 7
call other
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
other: *(u64 *)(r10 -8) = 30
r0 = *(u64 *)(r10 -8)
exit
-- result 37

-- case a callee writes into its caller's frame
-- asm
*(u64 *)(r10 -8) = 1
r1 = r10
r1 += -8
call set
r0 = *(u64 *)(r10 -8)
exit
set: *(u64 *)(r1 +0) = 99
r0 = 0
exit
-- result 99

-- case a subprogram called twice
-- asm
r1 = 3
call square
r6 = r0
r1 = 4
call square
r0 += r6
exit
square: r0 = r1
r0 *= r1
exit
-- result 25

-- case a call in a loop
-- asm
r6 = 0
r7 = 0
again: r1 = r6
call double
r7 += r0
r6 += 1
if r6 != 10 goto again
r0 = r7
exit
double: r0 = r1
r0 += r1
exit
-- result 90

-- case subprograms that call subprograms, last first
-- asm
r1 = 1
call c
exit
a: r1 *= 10
r1 += 3
r0 = r1
exit
b: r1 *= 10
r1 += 2
call a
exit
c: r1 *= 10
r1 += 1
call b
exit
-- result 1123

-- case eight frames
-- direct
-- asm
r6 = 1
call f1
r0 += r6
exit
f1: r6 = 2
call f2
r0 += r6
exit
f2: r6 = 4
call f3
r0 += r6
exit
f3: r6 = 8
call f4
r0 += r6
exit
f4: r6 = 16
call f5
r0 += r6
exit
f5: r6 = 32
call f6
r0 += r6
exit
f6: r6 = 64
call f7
r0 += r6
exit
f7: r6 = 128
r0 = r6
exit
-- result 255

-- case eight frames, each with its own stack
-- direct
-- asm
*(u64 *)(r10 -8) = 1
call f1
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f1: *(u64 *)(r10 -8) = 2
call f2
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f2: *(u64 *)(r10 -8) = 4
call f3
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f3: *(u64 *)(r10 -8) = 8
call f4
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f4: *(u64 *)(r10 -8) = 16
call f5
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f5: *(u64 *)(r10 -8) = 32
call f6
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f6: *(u64 *)(r10 -8) = 64
call f7
r1 = *(u64 *)(r10 -8)
r0 += r1
exit
f7: *(u64 *)(r10 -8) = 128
r0 = *(u64 *)(r10 -8)
exit
-- result 255

-- case a subprogram whose first instruction is a loop's head
-- asm
r1 = 5
call f
exit
f: r1 += -1
if r1 != 0 goto f
r0 = r1
r0 += 8
exit
-- result 8

-- case a pointer argument is used after a call
-- mem 05 00 00 00 00 00 00 00
-- asm
r6 = r1
call get
r1 = *(u64 *)(r6 +0)
r0 += r1
exit
get: r0 = *(u64 *)(r1 +0)
exit
-- result 10

-- case a helper keeps r6 to r9
-- asm
r6 = 1
r7 = 20
r8 = 300
r9 = 4000
call bpf_ktime_get_ns#5
r0 = r6
r0 += r7
r0 += r8
r0 += r9
exit
-- result 4321

-- case a helper keeps the stack
-- asm
*(u64 *)(r10 -8) = 11
*(u64 *)(r10 -512) = 22
call bpf_ktime_get_ns#5
r0 = *(u64 *)(r10 -8)
r1 = *(u64 *)(r10 -512)
r0 += r1
exit
-- result 33

-- case a helper called from a subprogram
-- asm
r6 = 5
call f
r0 = r6
exit
f: r6 = 6
call bpf_ktime_get_ns#5
r0 = 0
exit
-- result 5

-- case a helper returns 64 bits
-- asm
call bpf_ktime_get_ns#5
r6 = r0
call bpf_ktime_get_ns#5
if r0 >= r6 goto good
r0 = 0
exit
good: r0 = 1
exit
-- result 1

-- case bpf_loop calls back
-- asm
*(u64 *)(r10 -8) = 0
r1 = 10
r2 = &body
r3 = r10
r3 += -8
r4 = 0
call bpf_loop#181
r1 = *(u64 *)(r10 -8)
r0 <<= 8
r0 |= r1
exit
body: r3 = *(u64 *)(r2 +0)
r3 += r1
*(u64 *)(r2 +0) = r3
r0 = 0
exit
-- result 0xa2d

-- case bpf_loop stops when the callback says so
-- asm
*(u64 *)(r10 -8) = 0
r1 = 10
r2 = &body
r3 = r10
r3 += -8
r4 = 0
call bpf_loop#181
r1 = *(u64 *)(r10 -8)
r0 <<= 8
r0 |= r1
exit
body: r3 = *(u64 *)(r2 +0)
r3 += 1
*(u64 *)(r2 +0) = r3
r0 = 0
if r1 != 3 goto out
r0 = 1
out: exit
-- result 0x404

-- case r6 to r9 survive callbacks that use them
-- asm
r6 = 1
r7 = 20
r8 = 300
r9 = 4000
r1 = 5
r2 = &body
r3 = 0
r4 = 0
call bpf_loop#181
r0 = r6
r0 += r7
r0 += r8
r0 += r9
exit
body: r6 = -1
r7 = -1
r8 = -1
r9 = -1
r0 = 0
exit
-- result 4321

-- case a callback has its own frame
-- asm
*(u64 *)(r10 -8) = 5
*(u64 *)(r10 -16) = 6
r1 = 3
r2 = &body
r3 = 0
r4 = 0
call bpf_loop#181
r0 = *(u64 *)(r10 -8)
r1 = *(u64 *)(r10 -16)
r0 += r1
exit
body: *(u64 *)(r10 -8) = -1
*(u64 *)(r10 -16) = -1
r0 = 0
exit
-- result 11

-- case a callback calls a subprogram
-- asm
*(u64 *)(r10 -8) = 0
r1 = 4
r2 = &body
r3 = r10
r3 += -8
r4 = 0
call bpf_loop#181
r0 = *(u64 *)(r10 -8)
exit
body: r6 = r2
call square
r1 = *(u64 *)(r6 +0)
r1 += r0
*(u64 *)(r6 +0) = r1
r0 = 0
exit
square: r0 = r1
r0 *= r1
exit
-- result 14

-- case loops in loops
-- asm
*(u64 *)(r10 -8) = 0
r1 = 4
r2 = &outer
r3 = r10
r3 += -8
r4 = 0
call bpf_loop#181
r0 = *(u64 *)(r10 -8)
exit
outer: r3 = r2
r1 = 5
r2 = &inner
r4 = 0
call bpf_loop#181
r0 = 0
exit
inner: r1 = *(u64 *)(r2 +0)
r1 += 1
*(u64 *)(r2 +0) = r1
r0 = 0
exit
-- result 20

-- case a callback chosen at run time
-- mem 01 00 00 00 00 00 00 00
-- asm
r6 = *(u64 *)(r1 +0)
*(u64 *)(r10 -8) = 0
r1 = 2
r3 = r10
r3 += -8
r4 = 0
if r6 == 0 goto other
r2 = &add_ten
goto run
other: r2 = &add_one
run: call bpf_loop#181
r0 = *(u64 *)(r10 -8)
exit
add_one: r1 = *(u64 *)(r2 +0)
r1 += 1
*(u64 *)(r2 +0) = r1
r0 = 0
exit
add_ten: r1 = *(u64 *)(r2 +0)
r1 += 10
*(u64 *)(r2 +0) = r1
r0 = 0
exit
-- result 20

-- case a bpf_loop of zero rounds
-- mem 00 00 00 00
-- asm
r1 = *(u32 *)(r1 +0)
r2 = &body
r3 = 0
r4 = 0
call bpf_loop#181
exit
body: r0 = 0
exit
-- result 0

-- case flags are refused by bpf_loop
-- asm
r1 = 3
r2 = &body
r3 = 0
r4 = 1
call bpf_loop#181
exit
body: r0 = 0
exit
-- result -22
