# Arithmetic by hand: what the RFC says in words, one case a sentence.

-- case 32-bit results clear the upper half
-- asm
r0 = -1
w0 += 1
exit
-- result 0

-- case a 32-bit addition that overflows into bit 31 is not sign-extended
-- asm
w0 = 0x7fffffff
w0 += 1
r0 >>= 32
exit
-- result 0

-- case a 32-bit immediate is zero-extended
-- asm
w0 = -1
exit
-- result 0xffffffff

-- case a 64-bit operation sign-extends its immediate
-- asm
r0 = 0
r0 |= -2147483648
exit
-- result 0xffffffff80000000

-- case 64-bit and with a negative immediate keeps the upper half
-- asm
r0 = 0xffffffffffffffff ll
r0 &= -256
exit
-- result 0xffffffffffffff00

-- case 32-bit and with a negative immediate clears the upper half
-- asm
r0 = 0xffffffffffffffff ll
w0 &= -256
exit
-- result 0xffffff00

-- case a 32-bit move to itself clears the upper half
-- asm
r0 = 0xffffffff00000001 ll
w0 = w0
exit
-- result 1

-- case division by a register that is zero yields zero
-- asm
r0 = 7
r1 = 0
r0 /= r1
exit
-- result 0

-- case remainder by a register that is zero leaves the dividend
-- asm
r0 = 0x123456789abcdef0 ll
r1 = 0
r0 %= r1
exit
-- result 0x123456789abcdef0

-- case 32-bit remainder by zero leaves the dividend and clears the upper half
-- asm
r0 = 0x123456789abcdef0 ll
r1 = 0
w0 %= w1
exit
-- result 0x9abcdef0

-- case the 32-bit divisor is the low half
-- asm
w0 = 100
r1 = 0x100000000 ll
w0 /= w1
exit
-- result 0

-- case the 32-bit modulus is the low half
-- asm
w0 = 100
r1 = 0x100000000 ll
w0 %= w1
exit
-- result 100

-- case signed division by zero yields zero
-- cpu v4
-- asm
r0 = -7
r1 = 0
r0 s/= r1
exit
-- result 0

-- case the most negative number divided by minus one stays
-- cpu v4
-- asm
r0 = 0x8000000000000000 ll
r1 = -1
r0 s/= r1
exit
-- result 0x8000000000000000

-- case the most negative number modulo minus one is zero
-- cpu v4
-- asm
r0 = 0x8000000000000000 ll
r1 = -1
r0 s%= r1
exit
-- result 0

-- case the same in 32 bits
-- cpu v4
-- asm
w0 = 0x80000000
w1 = -1
w0 s/= w1
exit
-- result 0x80000000

-- case 32-bit remainder of the most negative number
-- cpu v4
-- asm
w0 = 0x80000000
w1 = -1
w0 s%= w1
exit
-- result 0

-- case minus one as an immediate divisor, 64 bits
-- cpu v4
-- asm
r0 = 0x8000000000000000 ll
r0 s/= -1
exit
-- result 0x8000000000000000

-- case minus one as an immediate modulus, 32 bits
-- cpu v4
-- asm
w0 = 0x80000000
w0 s%= -1
exit
-- result 0

-- case signed division truncates towards zero
-- cpu v4
-- asm
r0 = -13
r0 s/= 4
exit
-- result -3

-- case the signed remainder has the sign of the dividend
-- cpu v4
-- asm
r0 = -13
r0 s%= 4
exit
-- result -1

-- case and not of the divisor
-- cpu v4
-- asm
r0 = 13
r0 s%= -4
exit
-- result 1

-- case unsigned division of a negative number
-- asm
r0 = -10
r0 /= 2
exit
-- result 0x7ffffffffffffffb

-- case unsigned division by a negative immediate is by a huge number
-- asm
r0 = 0xfffffffffffffff0 ll
r0 /= -32
exit
-- result 1

-- case shift counts are taken modulo the width
-- asm
r0 = 1
r1 = 65
r0 <<= r1
exit
-- result 2

-- case 32-bit shift counts are taken modulo 32
-- asm
w0 = 1
r1 = 33
w0 <<= w1
exit
-- result 2

-- case the count of a 32-bit shift is the low half
-- asm
w0 = 1
r1 = 0x400000001 ll
w0 <<= w1
exit
-- result 2

-- case 32-bit arithmetic shift copies bit 31
-- asm
r0 = 0x80000000
w0 s>>= 4
exit
-- result 0xf8000000

-- case 32-bit arithmetic shift ignores the upper half
-- asm
r0 = 0xffffffff40000000 ll
w0 s>>= 4
exit
-- result 0x04000000

-- case 64-bit arithmetic shift by 63
-- asm
r0 = 0x8000000000000000 ll
r0 s>>= 63
exit
-- result -1

-- case multiplication keeps the low 64 bits
-- asm
r0 = 0x1234567890abcdef ll
r1 = 0xfedcba0987654321 ll
r0 *= r1
exit
-- result 0xc24a442fe55618cf

-- case 32-bit multiplication keeps the low 32 bits
-- asm
r0 = 0xffffffff80000001 ll
r1 = 3
w0 *= w1
exit
-- result 0x80000003

-- case negation of the most negative number
-- asm
r0 = 0x8000000000000000 ll
r0 = -r0
exit
-- result 0x8000000000000000

-- case negation of another register than r0
-- asm
r0 = 5
r3 = 9
r3 = -r3
r0 += r3
exit
-- result -4

-- case sign extension of a byte to 32 bits clears the upper half
-- cpu v4
-- asm
r1 = 0xffffffffffffff80 ll
w0 = (s8)w1
exit
-- result 0xffffff80

-- case sign extension in place
-- cpu v4
-- asm
r0 = 0x80000000
r0 = (s32)r0
exit
-- result 0xffffffff80000000

-- case be16 clears the rest
-- asm
r0 = 0xffffffffffff1122 ll
r0 = be16 r0
exit
-- result 0x2211

-- case le32 clears the upper half
-- asm
r0 = 0xffffffff11223344 ll
r0 = le32 r0
exit
-- result 0x11223344

-- case bswap64
-- cpu v4
-- asm
r0 = 0x1122334455667788 ll
r0 = bswap64 r0
exit
-- result 0x8877665544332211

-- case the frame pointer as an operand
-- asm
r0 = r10
r0 -= r10
exit
-- result 0

-- case the immediate load takes two slots
-- asm
r0 = 0x1122334455667788 ll
if r0 == 0x11223344 goto over
r1 = r0
if r1 == r0 goto over
r0 = 0xffffffffffffffff ll
over: exit
-- result 0x1122334455667788
