# What the structural check refuses, in the kernel's words.

-- case unknown opcode
-- asm
.insn 0x8d 0 0 0 0
r0 = 0
exit
-- error unknown opcode 8d

-- case the internal tail call is not for users
-- asm
.insn 0xf5 0 0 0 0
r0 = 0
exit
-- error unknown opcode f5

-- case the internal probing load is not for users
-- asm
.insn 0x39 0 10 -8 0
exit
-- error BPF_LDX uses reserved fields

-- case the internal per-CPU move is not for users
-- asm
r1 = 0
.insn 0xbf 0 1 -1 0
exit
-- error BPF_MOV uses reserved fields

-- case register 11
-- asm
.insn 0xb7 11 0 0 0
r0 = 0
exit
-- error R11 is invalid

-- case division by zero
-- asm
r0 = 1
r0 /= 0
exit
-- error div by zero

-- case remainder by zero
-- asm
w0 = 1
w0 %= 0
exit
-- error div by zero

-- case signed division by zero
-- cpu v4
-- asm
r0 = 1
r0 s/= 0
exit
-- error div by zero

-- case a shift by the width
-- asm
r0 = 1
r0 <<= 64
exit
-- error invalid shift 64

-- case a 32-bit shift by the width
-- asm
w0 = 1
w0 s>>= 32
exit
-- error invalid shift 32

-- case a negative shift
-- asm
r0 = 1
r0 >>= -1
exit
-- error invalid shift -1

-- case xchg without fetch
-- asm
*(u64 *)(r10 -8) = 0
r1 = 0
.insn 0xdb 10 1 -8 0xe0
r0 = 0
exit
-- error BPF_ATOMIC uses invalid atomic opcode e0

-- case cmpxchg without fetch
-- asm
*(u64 *)(r10 -8) = 0
r0 = 0
r1 = 0
.insn 0xdb 10 1 -8 0xf0
exit
-- error BPF_ATOMIC uses invalid atomic opcode f0

-- case an atomic subtraction
-- asm
*(u64 *)(r10 -8) = 0
r1 = 0
.insn 0xdb 10 1 -8 0x11
r0 = 0
exit
-- error BPF_ATOMIC uses invalid atomic opcode 11

-- case atomics with stray bits
-- asm
*(u64 *)(r10 -8) = 0
r1 = 0
.insn 0xdb 10 1 -8 0x02
r0 = 0
exit
-- error BPF_ATOMIC uses invalid atomic opcode 02

-- case an 8-bit atomic addition
-- asm
*(u64 *)(r10 -8) = 0
r1 = 0
lock *(u8 *)(r10 -8) += r1
r0 = 0
exit
-- error invalid atomic operand size

-- case the second slot of an immediate load has an opcode
-- asm
.insn 0x18 0 0 0 0
r0 = 0
exit
-- error invalid bpf_ld_imm64 insn

-- case the second slot of an immediate load has a register
-- asm
.insn 0x18 0 0 0 0
.insn 0 1 0 0 0
exit
-- error invalid bpf_ld_imm64 insn

-- case an immediate load with an unknown kind
-- asm
.insn 0x18 0 7 0 0
.insn 0 0 0 0 0
exit
-- error unrecognized bpf_ld_imm64 insn

-- case an immediate load with an offset
-- asm
.insn 0x18 0 0 1 0
.insn 0 0 0 0 0
exit
-- error BPF_LD_IMM64 uses reserved fields

-- case a move with a source register and an immediate
-- asm
r1 = 0
.insn 0xbf 0 1 0 1
exit
-- error BPF_MOV uses reserved fields

-- case an addition with an offset
-- asm
r0 = 0
.insn 0x07 0 0 1 1
exit
-- error BPF_ALU uses reserved fields

-- case a byte swap of 24 bits
-- asm
r0 = 0
.insn 0xdc 0 0 0 24
exit
-- error BPF_END uses reserved fields

-- case a negation with a source register
-- asm
r0 = 0
.insn 0x87 0 1 0 0
exit
-- error BPF_NEG uses reserved fields

-- case a store of an immediate with a source register
-- asm
.insn 0x7a 10 1 -8 0
r0 = 0
exit
-- error BPF_ST uses reserved fields

-- case a store of a register with an immediate
-- asm
.insn 0x7b 10 1 -8 1
r0 = 0
exit
-- error BPF_STX uses reserved fields

-- case a jump with an immediate
-- asm
.insn 0x05 0 0 0 1
r0 = 0
exit
-- error BPF_JA uses reserved fields

-- case a conditional jump with a stray source register
-- asm
r0 = 0
.insn 0x15 0 1 0 0
exit
-- error BPF_JMP/JMP32 uses reserved fields

-- case an exit with an immediate
-- asm
r0 = 0
.insn 0x95 0 0 0 1
-- error BPF_EXIT uses reserved fields

-- case a call with a destination register
-- asm
.insn 0x85 1 0 0 5
r0 = 0
exit
-- error BPF_CALL uses reserved fields

-- case a may_goto with an immediate
-- asm
.insn 0xe5 0 0 0 3
r0 = 0
exit
-- error invalid may_goto imm 3
