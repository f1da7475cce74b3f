#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the seed corpus: small inputs that reach far into each target. Run by hand when the form of
an input changes: make_corpus.py CORPUS-FOLDER [BPFU-DIFF]. Fuzzers' own findings are added as files."""
import os
import struct
import subprocess
import sys
import tempfile


def write(folder, target, name, data):
    path = os.path.join(folder, target)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as handle:
        handle.write(data)


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


EXIT = insn(0x95)


def mov(dst, imm):
    return insn(0xB7, dst, imm=imm)


# ---- fuzz_attr: see fuzz_attr.c for the form ----

ZERO = b"\0"


def small(value):
    return bytes([0x60 + value]) + struct.pack("<I", 0)


def fd(index):
    return b"\x90" + struct.pack("<I", index)


def addr(offset):
    return b"\xb0" + struct.pack("<I", offset << 3 | 4)


def end_of_arena(back):
    return b"\xb0" + struct.pack("<I", back << 3 | 1)


def number(value):
    return b"\xe0" + struct.pack("<I", value & 0xFFFFFFFF)


def call(cmd, *words):
    """Words of 4 bytes; an address stands for two."""
    size = sum(8 if w[0] == 0xB0 else 4 for w in words)
    return bytes([cmd, size]) + b"".join(words)


def map_create(kind, key, value, entries, flags=0):
    return call(0, small(kind) if kind < 16 else number(kind), small(key), number(value),
                number(entries), number(flags))


def elem(cmd, which, key, value, flags=0):
    return call(cmd, fd(which), ZERO, addr(key), addr(value), number(flags), ZERO)


def prog_load(kind, count, insns, licence, flags=0):
    return call(5, number(kind), number(count), addr(insns), addr(licence), small(1), number(1024),
                addr(2048), ZERO, number(flags))


def attr_input(arena, calls):
    """The arena is the first half of the input."""
    size = max(len(arena), len(calls))
    return arena.ljust(size, b"\0") + calls.ljust(size, b"\0")


def attr_corpus(folder):
    arena = bytearray(512)
    arena[0:8] = struct.pack("<Q", 1)
    arena[16:32] = bytes(range(16))
    arena[64:68] = b"GPL\0"
    arena[72:86] = b"/sys/fs/bpf/a\0"
    arena[128:144] = mov(0, 2) + EXIT
    get = (insn(0x62, 10, 0, -4, 1) + insn(0x18, 1, 5, 0, 0) + insn(0) + insn(0xBF, 2, 10) +
           insn(0x07, 2, imm=-4) + insn(0x85, imm=1) + mov(0, 0) + EXIT)
    arena[160:160 + len(get)] = get
    arena = bytes(arena)
    ops = b"".join(elem(c, 0, 0, 16, f) for c in (2, 1, 4, 21, 3) for f in (0, 1, 2))
    batch = b"".join(call(c, ZERO, ZERO, addr(600), addr(0), addr(700), number(4), fd(0))
                     for c in (26, 24, 25, 27))
    for kind, key, value, flags in ((1, 4, 8, 0), (1, 4, 8, 1), (2, 4, 16, 0), (2, 4, 16, 1024),
                                    (5, 4, 8, 0), (6, 4, 8, 0), (9, 4, 8, 0), (10, 4, 8, 0),
                                    (11, 8, 8, 1), (22, 0, 8, 0), (23, 0, 8, 0), (30, 0, 8, 0)):
        write(folder, "fuzz_attr", f"map-{kind}-{flags}",
              attr_input(arena, map_create(kind, key, value, 4, flags) + ops + batch))
    write(folder, "fuzz_attr", "ringbuf", attr_input(arena, map_create(27, 0, 0, 4096) + ops))
    run = call(10, fd(0), ZERO, number(64), number(256), addr(256), addr(1024), number(2), ZERO)
    for kind in (1, 3, 6, 17, 31):
        write(folder, "fuzz_attr", f"prog-{kind}", attr_input(
            arena, prog_load(kind, 2, 128, 64, 16 if kind == 31 else 0) + run +
            call(15, fd(0), number(200), addr(512)) + call(11) + call(13, number(1))))
    write(folder, "fuzz_attr", "prog-map", attr_input(
        arena, map_create(2, 4, 8, 4) + call(5, small(6), number(8), addr(160), addr(64))))
    write(folder, "fuzz_attr", "pin", attr_input(
        arena, map_create(2, 4, 8, 4) + call(6, addr(72), fd(0)) + call(7, addr(72)) +
        call(22, fd(0))))
    write(folder, "fuzz_attr", "end-of-arena", attr_input(
        arena, map_create(2, 4, 64, 4) +
        call(1, fd(0), ZERO, addr(8), end_of_arena(8), ZERO, ZERO) +
        call(2, fd(0), ZERO, end_of_arena(2), addr(16), ZERO, ZERO)))
    write(folder, "fuzz_attr", "raw-tracepoint", attr_input(
        arena, prog_load(17, 2, 128, 64) + call(17, addr(64), fd(0)) + call(28, fd(0), ZERO)))


# ---- the others ----

def map_ops_corpus(folder):
    for kind in range(6):
        ops = bytes(b for n in range(240) for b in (n * 7 + n // 16 & 0xFF, n * 5 % 32, n))
        write(folder, "fuzz_map_ops", f"mixed-{kind}", bytes([kind, 7, 5]) + ops)
        fill = bytes(b for n in range(32) for b in (1, n, n))
        take = bytes(b for n in range(32) for b in (3, n, n))
        write(folder, "fuzz_map_ops", f"fill-{kind}", bytes([kind, 63, 30]) + fill + take + fill)


def btf_blob(types, strings):
    return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types),
                       len(strings)) + types + strings


def btf_type(name, kind, vlen, size, rest=b""):
    return struct.pack("<III", name, kind << 24 | vlen, size) + rest


def btf_corpus(folder):
    strings = b"\0int\0s\0a\0b\0f\0e\0"
    word = btf_type(1, 1, 0, 4, struct.pack("<I", 1 << 24 | 32))
    struct_ = btf_type(5, 4, 2, 8, struct.pack("<IIIIII", 7, 1, 0, 9, 1, 32))
    cases = {
        "int": word,
        "struct": word + struct_,
        "pointer": word + btf_type(0, 2, 0, 1),
        "array": word + btf_type(0, 3, 0, 0, struct.pack("<III", 1, 1, 4)),
        "func": word + btf_type(0, 13, 1, 1, struct.pack("<II", 7, 1)) + btf_type(11, 12, 0, 2),
        "enum": btf_type(13, 6, 2, 4, struct.pack("<IiIi", 7, 0, 9, -1)),
        "enum64": btf_type(13, 19, 1, 8, struct.pack("<III", 7, 1, 2)),
        "typedef": word + btf_type(5, 8, 0, 1) + btf_type(0, 10, 0, 2) + btf_type(0, 9, 0, 3),
        "loop": btf_type(0, 10, 0, 2) + btf_type(0, 9, 0, 1),
        "self": word + btf_type(5, 4, 1, 8, struct.pack("<III", 7, 3, 0)) + btf_type(0, 2, 0, 2),
        "var": word + btf_type(7, 14, 0, 1, struct.pack("<I", 1)) +
               btf_type(5, 15, 1, 4, struct.pack("<III", 2, 0, 4)),
        "float": btf_type(7, 16, 0, 8),
        "tags": word + btf_type(7, 18, 0, 1) + btf_type(7, 17, 0, 1, struct.pack("<i", -1)),
        "fwd": btf_type(5, 7, 0, 0),
    }
    for name, types in cases.items():
        write(folder, "fuzz_btf", name, btf_blob(types, strings))
    write(folder, "fuzz_btf", "short", btf_blob(word, strings)[:-5])
    write(folder, "fuzz_btf", "no-strings", btf_blob(word, b""))


def prog_corpus(folder, diff):
    for seed in range(1, 200):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([diff, "--seed", str(seed), "--save", out.name], check=True)
            with open(out.name, "rb") as handle:
                data = handle.read()
        if len(data) < 700 and len(os.listdir(os.path.join(folder, "fuzz_insn"))) < 24:
            write(folder, "fuzz_prog", f"seed-{seed}", data)
            write(folder, "fuzz_insn", f"seed-{seed}", data[2:])


def main():
    folder = sys.argv[1]
    attr_corpus(folder)
    map_ops_corpus(folder)
    btf_corpus(folder)
    every = b"".join(insn(code, 1, 2, 0, 0) for code in range(256))
    write(folder, "fuzz_insn", "every-opcode", every)
    write(folder, "fuzz_insn", "every-opcode-imm", every.replace(b"\0\0\0\0", b"\x10\0\0\0"))
    write(folder, "fuzz_prog", "return", bytes([1, 0]) + mov(0, 2) + EXIT)
    if len(sys.argv) > 2:
        prog_corpus(folder, sys.argv[2])


if __name__ == "__main__":
    main()
