#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for QEMU that boots images of fake_kernel (fake_kernels.sh): what they say about themselves is what a
guest would have answered and the plugin have counted. Each boot is a line in $FAKE_LOG."""
import json
import os
import re
import sys

OPS = 64
ROUND = [("full", "N", OPS), ("full", "N/2", OPS // 2), ("full", "N/8", OPS // 8), ("null", "N", OPS),
         ("null", "N/8", OPS // 8)]


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def port(name):
    for word in sys.argv:
        match = re.fullmatch(f"file,id={name},path=(.*)", word)
        if match:
            return open(match.group(1), "w", encoding="ascii")
    raise SystemExit(f"no port {name}")


def words_of(image):
    with open(image, "rb") as f:
        return dict(w.split("=", 1) for w in f.read()[4096:].decode().split())


def boots_of(image):
    with open(os.environ["FAKE_LOG"], "a+", encoding="utf-8") as f:
        f.write(image + "\n")
        f.seek(0)
        return f.read().splitlines().count(image)


def main():
    image = option("-kernel")
    words, boots = words_of(image), boots_of(image)
    if words.get("qemu") == "fails":
        raise SystemExit("qemu-system: cannot allocate memory")
    if words.get("boot") == "no":
        with open(option("-serial")[len("file:"):], "w", encoding="ascii") as console:
            console.write("[    0.1] Kernel panic - not syncing: no working init found\n")
        return
    costs = words.get("cost", "0").split(",")
    cost = int(costs[(boots - 1) % len(costs)])
    failed = words.get("failed", "").replace("_", " ")
    windows = [] if failed else ROUND
    point = {"bench": "arr-inc", "label": "arr-inc", "ops": OPS, "events_per_op": 1, "windows": [
        {"arm": a, "size": s, "ops": n} for a, s, n in windows], "failed": failed or None,
        "unavailable": bool(failed)}
    with port("out") as out:
        out.write(json.dumps(point) + "\n" + json.dumps({"total": len(windows)}) + "\n")
    with open(re.search(",out=([^,]*)", option("-plugin")).group(1), "w", encoding="ascii") as counts:
        counts.write("v 1\n")
        for i, (arm, _, ops) in enumerate(windows):
            counts.write(f"w {i + 1} {1000 + ops * (20 + (cost if arm == 'full' else 0))} 1\n")
        counts.write(f"q {len(windows)}\n")
    with port("control") as control:
        control.write("ready fake\nexit 0\n")


main()
