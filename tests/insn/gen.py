#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cross products of opcodes, edge operands and registers as conformance cases (README.md).

The expected values come from the model below, written from RFC 9669 and from nothing else in this
tree: a third opinion beside the interpreter and the JITs.

usage: gen.py FAMILY > FAMILY.t        gen.py --list
"""
import sys

M64 = (1 << 64) - 1
M32 = (1 << 32) - 1

PATTERN = 0x1122334455667788
EDGES = [0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, M32, 1 << 32, 0x80000001_00000000, M64 >> 1, 1 << 63,
         M64, 0xDEADBEEFCAFEBABE]
IMMS = [0, 1, 2, 7, -1, -2, 0x7FFFFFFF, -0x80000000, 0x12345678]


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def truncated(a, b):
    """Quotient and remainder as C computes them."""
    q = abs(a) // abs(b)
    q = -q if (a < 0) != (b < 0) else q
    return q, a - q * b


def alu(op, a, b, bits):
    """Result of "a op b" in @bits, zero-extended to 64."""
    mask = (1 << bits) - 1
    a, b = a & mask, b & mask
    sa, sb = signed(a, bits), signed(b, bits)
    n = b & (bits - 1)
    if op in ("/", "%", "s/", "s%") and b == 0:
        return a if "%" in op else 0
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a // b,
        "%": lambda: a % b,
        "s/": lambda: truncated(sa, sb)[0],
        "s%": lambda: truncated(sa, sb)[1],
        "|": lambda: a | b,
        "&": lambda: a & b,
        "^": lambda: a ^ b,
        "<<": lambda: a << n,
        ">>": lambda: a >> n,
        "s>>": lambda: sa >> n,
    }[op]() & mask


def holds(op, a, b, bits):
    mask = (1 << bits) - 1
    a, b = a & mask, b & mask
    sa, sb = signed(a, bits), signed(b, bits)
    return {
        "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b,
        "s>": sa > sb, "s>=": sa >= sb, "s<": sa < sb, "s<=": sa <= sb, "&": bool(a & b),
    }[op]


def swapped(v, bits):
    return int.from_bytes((v & ((1 << bits) - 1)).to_bytes(bits // 8, "little"), "big")


def case(name, asm, result=None, error=None, cpu=None, mem_size=None):
    print(f"-- case {name}")
    if cpu:
        print(f"-- cpu {cpu}")
    if mem_size:
        print(f"-- mem-size {mem_size}")
    print("-- asm")
    for line in asm:
        print(line)
    if error:
        print(f"-- error {error}")
    else:
        print(f"-- result {result & M64:#x}")


ALU_OPS = ["+", "-", "*", "/", "%", "s/", "s%", "|", "&", "^", "<<", ">>", "s>>"]
SHIFTS = ("<<", ">>", "s>>")
COUNTS = [0, 1, 31, 32, 33, 63, 64, 255, M64, 1 << 32]
JUMPS = ["==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&"]
REGS = range(10)
WIDTHS = ((64, "r"), (32, "w"))
SIZES = (("u8", 8), ("u16", 16), ("u32", 32), ("u64", 64))


def v4(op):
    return "v4" if op in ("s/", "s%") else None


def ll(reg, value):
    return f"r{reg} = {value:#x} ll"


def done(reg):
    """Return the register."""
    return [f"r0 = r{reg}", "exit"]


BAD = ["bad: r0 = 0xbad", "exit"]
BRANCH = ["r0 = 1", "exit", "yes: r0 = 2", "exit"]


def alu_x():
    """Register forms: every pair of a few edges; the registers rotate."""
    turn = 0
    for op in ALU_OPS:
        for bits, letter in WIDTHS:
            for a in EDGES[::2] + [0x80000000, 0xFFFFFFFF80000000]:
                for b in COUNTS if op in SHIFTS else [0, 1, M64, 1 << 63, 1 << 32, 0x80000000, M32]:
                    turn += 1
                    d, s = turn % 10, (turn + 1 + turn // 10 % 9) % 10
                    if d == s:
                        s = (s + 1) % 10
                    case(f"{letter} {a:#x} {op} {b:#x}",
                         [ll(d, a), ll(s, b), f"{letter}{d} {op}= {letter}{s}", *done(d)],
                         alu(op, a, b, bits), cpu=v4(op))


def alu_k():
    """Immediate forms, with the refusals of zero divisors and of wide shifts."""
    turn = 0
    for op in ALU_OPS:
        for bits, letter in WIDTHS:
            for imm in COUNTS[:7] if op in SHIFTS else IMMS:
                for a in (M64, 0x8000000080000001, 0x12345678):
                    turn += 1
                    d = turn % 10
                    error = None
                    if op in SHIFTS and not 0 <= imm < bits:
                        error = f"invalid shift {imm}"
                    if op[-1] in "/%" and imm == 0:
                        error = "div by zero"
                    case(f"{letter} {a:#x} {op} imm {imm:#x}",
                         [ll(d, a), f"{letter}{d} {op}= {imm}", *done(d)],
                         alu(op, a, imm, bits), error, cpu=v4(op))


def alu_same():
    """dst and src the same register, for every register."""
    for op in ALU_OPS:
        for bits, letter in WIDTHS:
            for d in REGS:
                a = (0xF0E1D2C3B4A59687 + d) & M64
                case(f"{letter}{d} {op} itself",
                     [ll(d, a), f"{letter}{d} {op}= {letter}{d}", *done(d)],
                     alu(op, a, a, bits), cpu=v4(op))


def shift_regs():
    """Every pair of registers: x86 wants the count in one certain register."""
    for op in SHIFTS:
        for bits, letter in WIDTHS:
            for d in REGS:
                for s in REGS:
                    if d == s:
                        continue
                    a, n = 0x8765432112345678, 13 + 32 * (d % 2)
                    others = [r for r in REGS if r not in (0, d, s)][:2]
                    case(f"{letter}{d} {op} {letter}{s}",
                         [ll(d, a), f"r{s} = {n}", *(f"r{r} = {r + 100}" for r in others),
                          f"{letter}{d} {op}= {letter}{s}",
                          # neither the count nor a bystander may change
                          f"if r{s} != {n} goto bad",
                          *(f"if r{r} != {r + 100} goto bad" for r in others),
                          *done(d), *BAD], alu(op, a, n, bits))


def div_regs():
    """Every pair of registers: x86 divides in two certain registers, which must be kept."""
    for op in ("/", "%", "s/", "s%"):
        for bits, letter in WIDTHS:
            for d in REGS:
                for s in REGS:
                    if d == s or (d + s) % 2 == (op in ("/", "s%")):
                        continue
                    a, b = 0xF765432112345678, 0xFFFFFFFFFFFFFFF3 if "s" in op else 1000003
                    others = [r for r in REGS if r not in (d, s)]
                    case(f"{letter}{d} {op} {letter}{s}",
                         [*(f"r{r} = {r + 100}" for r in others), ll(d, a), ll(s, b),
                          f"{letter}{d} {op}= {letter}{s}",
                          *(f"if r{r} != {r + 100} goto bad" for r in others),
                          *done(d), *BAD], alu(op, a, b, bits), cpu=v4(op))


def mov():
    for d in REGS:
        for s in REGS:
            case(f"r{d} = r{s}", [ll(s, PATTERN + s), f"r{d} = r{s}", *done(d)], PATTERN + s)
            case(f"w{d} = w{s}",
                 [ll(s, M64 - s), ll(d, M64) if d != s else "", f"w{d} = w{s}", *done(d)], M32 - s)
    for imm in IMMS:
        for d in (0, 5, 9):
            case(f"r{d} = imm {imm}", [f"r{d} = {imm}", *done(d)], imm)
            case(f"w{d} = imm {imm}", [f"r{d} = -1", f"w{d} = {imm}", *done(d)], imm & M32)
    for v in EDGES:
        for d in REGS:
            case(f"r{d} = {v:#x} ll", [ll(d, v), *done(d)], v)


def movsx():
    values = [0x7F, 0x80, 0xFF80, 0x7FFF, 0x8000, 0xFFFF7FFF, 0x80000000, PATTERN, M64 - 0x80,
              0x1234567880F07F80]
    for width, letter in WIDTHS:
        for bits in (8, 16, 32):
            if bits >= width:
                continue
            for i, v in enumerate(values):
                d, s = i % 10, (i * 7 + bits // 8) % 10
                case(f"{letter}{d} = (s{bits}){letter}{s} of {v:#x}",
                     [ll(s, v), f"{letter}{d} = (s{bits}){letter}{s}", *done(d)],
                     signed(v, bits) & ((1 << width) - 1), cpu="v4")


def unary():
    for d in REGS:
        # r0 differs from the operand: an encoder that takes a wrong register shows
        pre = ["r0 = 77"] if d else []
        for v in (0, 1, M64, 1 << 63, 0x80000000, 0x8000000080000000):
            case(f"neg r{d} {v:#x}", pre + [ll(d, v), f"r{d} = -r{d}", *done(d)], -v)
            case(f"neg w{d} {v:#x}", pre + [ll(d, v), f"w{d} = -w{d}", *done(d)], -v & M32)
        for bits in (16, 32, 64):
            for v in (PATTERN, 0xF1E2D3C4B5A69788):
                for name, want in (("le", v & ((1 << bits) - 1)), ("be", swapped(v, bits)),
                                   ("bswap", swapped(v, bits))):
                    case(f"{name}{bits} r{d} {v:#x}",
                         pre + [ll(d, v), f"r{d} = {name}{bits} r{d}", *done(d)],
                         want, cpu="v4" if name == "bswap" else None)


def jumps():
    """Conditions, taken and not; 32-bit ones with different upper halves."""
    turn = 0
    pairs = [(0, 0), (0, 1), (1, 0), (M64, 0), (0, M64), (M64, M64), (1 << 63, M64 >> 1),
             (M64 >> 1, 1 << 63), (0x80000000, 0x7FFFFFFF), (0x7FFFFFFF, 0x80000000),
             (0xAAAAAAAA00000005, 0x5555555500000005), (0xAAAAAAAA80000000, 0x5555555500000001),
             (1 << 32, 0), (6, 9), (6, 3)]

    def want(op, a, b, bits):
        return 2 if holds(op, a, b, bits) else 1

    for op in JUMPS:
        for bits, letter in WIDTHS:
            for a, b in pairs:
                turn += 1
                d, s = turn % 10, (turn + 3) % 10
                case(f"if {letter} {a:#x} {op} {b:#x}",
                     [ll(d, a), ll(s, b), f"if {letter}{d} {op} {letter}{s} goto yes", *BRANCH],
                     want(op, a, b, bits))
            for a in (0, 1, 5, M64, 1 << 63, 0x80000000, M32, 0xAAAAAAAA00000001):
                for imm in (0, 1, -1, -0x80000000, 0x7FFFFFFF):
                    turn += 1
                    d = turn % 10
                    case(f"if {letter} {a:#x} {op} imm {imm}",
                         [ll(d, a), f"if {letter}{d} {op} {imm} goto yes", *BRANCH],
                         want(op, a, imm, bits))
            for d in REGS:
                case(f"if {letter}{d} {op} itself",
                     [f"r{d} = -3", f"if {letter}{d} {op} {letter}{d} goto yes", *BRANCH],
                     want(op, M64 - 2, M64 - 2, bits))


def at_slot(base):
    """The middle of three stack slots as (code, address) with @base holding it or being r10."""
    if base == 10:
        return [], "(r10 -16)"
    return [f"r{base} = r10", f"r{base} += -16"], f"(r{base} +0)"


def mem_stores(b, s, fill):
    """Stores of r@s through r@b; the slots around must keep their bits."""
    setup, addr = at_slot(b)
    for i, (t, bits) in enumerate(SIZES):
        if (b + s + i) % 2 and b != s:
            continue
        if b != s:
            case(f"*({t} *)r{b} = r{s}",
                 fill + setup + [ll(s, PATTERN), f"*({t} *){addr} = r{s}",
                                 "r1 = *(u64 *)(r10 -8)", "if r1 != -1 goto bad",
                                 "r1 = *(u64 *)(r10 -24)", "if r1 != -1 goto bad",
                                 "r0 = *(u64 *)(r10 -16)", "exit", *BAD],
                 (M64 << bits & M64) | (PATTERN & ((1 << bits) - 1)))
        elif bits == 64:
            case(f"*({t} *)r{b} = r{s}",
                 fill + setup + [f"*({t} *){addr} = r{s}", "r1 = *(u64 *)(r10 -16)",
                                 "r2 = r10", "r2 += -16", "r1 -= r2", "r0 = r1", "exit"], 0)


def mem_loads(b, s, fill):
    setup, addr = at_slot(b)
    v, h = 0xF1E2D3C4B5A69788, (b + 1) % 10
    pre = fill + [ll(h, v), f"*(u64 *)(r10 -16) = r{h}"] + setup
    for i, (t, bits) in enumerate(SIZES):
        if (b + s + i) % 2 and b != s:
            continue
        case(f"r{s} = *({t} *)r{b}", pre + [f"r{s} = *({t} *){addr}", *done(s)],
             v & ((1 << bits) - 1))
        if bits < 64:
            case(f"r{s} = *(s{bits} *)r{b}", pre + [f"r{s} = *(s{bits} *){addr}", *done(s)],
                 signed(v, bits), cpu="v4")


def mem_regs():
    """All pairs of base and value register, r10 as base too."""
    fill = ["*(u64 *)(r10 -8) = -1", "*(u64 *)(r10 -16) = -1", "*(u64 *)(r10 -24) = -1"]
    for b in range(11):
        for s in REGS:
            mem_stores(b, s, fill)
            mem_loads(b, s, fill)
    for t, bits in SIZES:
        for imm in IMMS:
            for b in (10, 3, 8):
                setup, addr = at_slot(b)
                case(f"*({t} *)r{b} = imm {imm}",
                     ["*(u64 *)(r10 -16) = 0", *setup, f"*({t} *){addr} = {imm}",
                      "r0 = *(u64 *)(r10 -16)", "exit"], imm & ((1 << bits) - 1))


def mem_offsets():
    """Displacements on both sides of what a byte can hold, from the ends of the frame."""
    for t, bits in SIZES:
        size, want = bits // 8, PATTERN & ((1 << bits) - 1)
        for off in (-512, -256, -136, -128, -120, -64, -8):
            for b in (10, 1, 6):
                setup = [f"r{b} = r10"] if b < 10 else []
                case(f"({t}) {off} from r{b}",
                     setup + [ll(0, PATTERN), f"*({t} *)(r{b} {off}) = r0", "r0 = 0",
                              f"r0 = *({t} *)(r{b} {off})", "exit"], want)
        for off in (0, 127, 128, 129, 255, 256, 1000, 1001):
            addr = f"*({t} *)(r1 {off:+})"
            case(f"({t}) {off} from memory",
                 [ll(2, PATTERN), f"{addr} = r2", f"r0 = {addr}", "exit"], want, mem_size=1100)
            addr = f"*({t} *)(r1 {off - 400 - size:+})"
            case(f"({t}) {off - 400} from the middle",
                 [ll(2, PATTERN), f"r1 += {400 + size}", f"{addr} = r2", f"r0 = {addr}", "exit"],
                 want, mem_size=1100)


ATOMICS = [("+=", "add", "+"), ("|=", "or", "|"), ("&=", "and", "&"), ("^=", "xor", "^")]
LOAD_BACK = ["r0 = *(u64 *)(r10 -8)", "exit"]


def atomics():
    values = [(3, 5), (M64, 1), (1 << 63, 1 << 63), (0xFFFFFFFF, 1),
              (PATTERN, 0xF0F0F0F00F0F0F0F)]
    for t, bits, prefix in (("u64", 64, "atomic64"), ("u32", 32, "atomic")):
        mask = (1 << bits) - 1
        for n, (mem, v) in enumerate(values):
            kept = mem & ~mask & M64

            def pre(s):
                h = (s + 1) % 10
                return [ll(h, mem), f"*(u64 *)(r10 -8) = r{h}", ll(s, v)]

            for sym, name, op in ATOMICS:
                new = kept | alu(op, mem, v, bits)
                # every register as source, r0 among them: fetching loops must not lose it
                for s in REGS if n == 0 else (0, 1, 4):
                    what = f"{sym} r{s} {v:#x}"
                    lock = f"lock *({t} *)(r10 -8) {sym} r{s}"
                    fetch = f"r{s} = {prefix}_fetch_{name}(({t} *)(r10 -8), r{s})"
                    case(f"{t} {mem:#x} {what}", pre(s) + [lock] + LOAD_BACK, new)
                    case(f"{t} {mem:#x} {what} keeps the register", pre(s) + [lock] + done(s), v)
                    case(f"{t} {mem:#x} fetch {what}", pre(s) + [fetch] + done(s), mem & mask)
                    case(f"{t} {mem:#x} fetch {what} in memory", pre(s) + [fetch] + LOAD_BACK, new)
            for s in REGS:
                xchg = f"r{s} = {prefix}_xchg(({t} *)(r10 -8), r{s})"
                case(f"{t} {mem:#x} xchg r{s} {v:#x}", pre(s) + [xchg] + done(s), mem & mask)
                case(f"{t} {mem:#x} xchg r{s} {v:#x} in memory", pre(s) + [xchg] + LOAD_BACK,
                     kept | v & mask)


def cmpxchg():
    for t, bits, prefix in (("u64", 64, "atomic64"), ("u32", 32, "atomic")):
        mask = (1 << bits) - 1
        for mem in (3, M64, PATTERN, 0xAAAAAAAA00000003):
            # equal, different, equal in the low half only
            for r0 in (mem, mem ^ 1, mem ^ (1 << 63), mem ^ (1 << 40)):
                for s in (0, 1, 3, 6, 9):
                    h = s % 9 + 1
                    v = r0 if s == 0 else 0x5152535455565758
                    what = f"{t} {mem:#x} cmpxchg {r0:#x} r{s}"
                    pre = [ll(h, mem), f"*(u64 *)(r10 -8) = r{h}", ll(s, v), ll(0, r0),
                           f"r0 = {prefix}_cmpxchg(({t} *)(r10 -8), r0, r{s})"]
                    equal = (mem ^ r0) & mask == 0
                    case(what, pre + ["exit"], mem & mask)
                    case(f"{what} in memory", pre + LOAD_BACK,
                         (mem & ~mask & M64) | (v & mask) if equal else mem)
                    if s:
                        case(f"{what} keeps the register", pre + done(s), v)


def acq_rel():
    for b in (10, 1, 5, 9):
        setup, addr = at_slot(b)
        for r in (0, 2, 6):
            for t, bits in SIZES:
                mask = (1 << bits) - 1
                case(f"store_release {t} r{b} r{r}",
                     ["*(u64 *)(r10 -16) = -1", *setup, ll(r, PATTERN),
                      f"store_release(({t} *){addr}, r{r})", "r0 = *(u64 *)(r10 -16)", "exit"],
                     (M64 << bits & M64) | (PATTERN & mask), cpu="acq_rel")
                case(f"load_acquire {t} r{r} r{b}",
                     [ll(r, M64 - 0x7F), f"*(u64 *)(r10 -16) = r{r}", *setup,
                      f"r{r} = load_acquire(({t} *){addr})", *done(r)],
                     (M64 - 0x7F) & mask, cpu="acq_rel")


def long_programs():
    """Branches over distances that need the wide forms, and a program of 65535 additions."""
    filler = ["r0 += 1"] * 40000
    # the branch to "near" is never taken; without it the filler would be unreachable and refused
    start = ["r0 = 1", "r1 = 0", "if r1 != 0 goto near", "gotol far"]
    case("65535 additions", ["r0 = 0"] + ["r0 += 1"] * 65535 + ["exit"], 65535)
    case("gotol forward", [*start, "near:", *filler, "far: exit"], 1, cpu="v4")
    case("gotol back", [*start, "back: r0 += 2", "exit", "near:", *filler, "far: gotol back"], 3,
         cpu="v4")
    for n in (15, 25, 30, 31, 32, 33, 40, 1000, 32767):
        case(f"conditional over {n}",
             ["r0 = 1", "r1 = 7", "if r1 == 7 goto far", *filler[:n], "far: exit"], 1)
        case(f"conditional over {n}, not taken",
             ["r0 = 1", "r1 = 7", "if r1 != 7 goto far", *filler[:n], "far: exit"], n + 1)
        case(f"loop over {n}",
             ["r0 = 0", "r1 = 2", "again: r1 += -1", *filler[:n - 2], "if r1 != 0 goto again",
              "exit"], 2 * (n - 2))


FAMILIES = [alu_x, alu_k, alu_same, shift_regs, div_regs, mov, movsx, unary, jumps, mem_regs,
            mem_offsets, atomics, cmpxchg, acq_rel, long_programs]


def main():
    names = {f.__name__: f for f in FAMILIES}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(names))
    elif len(sys.argv) == 2 and sys.argv[1] in names:
        print("# Generated by gen.py.")
        names[sys.argv[1]]()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
