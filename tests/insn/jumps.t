# Control flow by hand.

-- case forward and back
-- asm
r0 = 0
goto two
one: r0 += 1
exit
two: r0 += 10
goto one
-- result 11

-- case goto next
-- asm
r0 = 3
goto pc+0
exit
-- result 3

-- case gotol
-- cpu v4
-- asm
r0 = 0
gotol two
one: r0 += 1
exit
two: r0 += 10
gotol one
-- result 11

-- case a counted loop
-- asm
r0 = 0
r1 = 100
again: r0 += r1
r1 += -1
if r1 != 0 goto again
exit
-- result 5050

-- case a conditional jump to the next instruction
-- asm
r0 = 5
if r0 == 5 goto pc+0
exit
-- result 5

-- case a nested loop
-- asm
r0 = 0
r1 = 0
outer: r2 = 0
inner: r0 += 1
r2 += 1
if r2 < 7 goto inner
r1 += 1
if r1 < 9 goto outer
exit
-- result 63

-- case 64-bit comparison with a sign-extended immediate
-- asm
r0 = 0
w1 = -1
if r1 == -1 goto bad
r0 = 1
bad: exit
-- result 1

-- case unsigned comparison with a negative immediate
-- asm
r0 = 0
r1 = 5
if r1 < -1 goto good
exit
good: r0 = 1
exit
-- result 1

-- case 32-bit comparison ignores the upper half
-- asm
r0 = 0
r1 = 0xdeadbeef00000005 ll
if w1 == 5 goto good
exit
good: r0 = 1
exit
-- result 1

-- case signed 32-bit comparison takes bit 31 as the sign
-- asm
r0 = 0
r1 = 0x80000000
if w1 s< 0 goto good
exit
good: r0 = 1
exit
-- result 1

-- case signed 64-bit comparison does not
-- asm
r0 = 0
r1 = 0x80000000
w1 = w1
if r1 s> 0 goto good
exit
good: r0 = 1
exit
-- result 1

-- case jset looks at common bits
-- asm
r0 = 0
r1 = 12
if r1 & 3 goto bad
if r1 & 4 goto good
bad: exit
good: r0 = 1
exit
-- result 1

-- case 64-bit jset with a negative immediate sees the upper half
-- asm
r0 = 0
r1 = 0x100000000 ll
if r1 & -2147483648 goto good
exit
good: r0 = 1
exit
-- result 1

-- case 32-bit jset does not
-- asm
r0 = 1
r1 = 0x100000000 ll
if w1 & -1 goto bad
exit
bad: r0 = 0
exit
-- result 1

-- case several exits
-- asm
r1 = 2
r0 = 10
if r1 == 1 goto out
r0 = 20
if r1 == 2 goto out
r0 = 30
exit
out: exit
-- result 20

-- case a jump over a two-slot load
-- asm
r0 = 1
r1 = 1
if r1 == 1 goto out
r0 = 0x123456789 ll
out: exit
-- result 1

-- case may_goto leaves a loop that would never end
-- asm
r0 = 0
again: r0 = 7
may_goto out
goto again
out: exit
-- result 7

-- case may_goto falls through at first
-- asm
r0 = 1
may_goto out
r0 = 2
out: exit
-- result 2
