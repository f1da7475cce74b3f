# SPDX-License-Identifier: BSD-2-Clause
# A thousand damaged, truncated, later and hostile result files: one clear line each, exit status 1; or
# a report, where what was damaged is nothing that counts. Always the same thousand.
quick count-local --json r.json
expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" count-local --quick -w 0 --no-control --json c.json
python3 - "$BPFLAB" <<'PY' || die "see above"
import json, random, subprocess, sys
bpflab, rng = sys.argv[1], random.Random(20240718)
good = [open(n, "rb").read() for n in ("r.json", "c.json")]
# short ones, so that damage hits what matters
objects = []
for g in good:
    o = json.loads(g)
    o["samples"] = o["samples"][:3]
    objects.append(o)

def dump(o):
    return json.dumps(o).encode() + b"\n"

def paths(v, at=()):
    yield at
    for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        yield from paths(x, at + (k,))

def change(o, path, value, drop=False):
    o = json.loads(json.dumps(o))
    if not path:
        return value
    v = o
    for k in path[:-1]:
        v = v[k]
    if drop:
        del v[path[-1]]
    else:
        v[path[-1]] = value
    return o

values = [None, True, -1, 0, 1e308, -1e308, 2**62, "", "x" * 5000, "\u0001\u001b[2J\u202e", [], {}, [[]], [None],
          {"a": {"b": 1}}, "../../etc/passwd", "%s%n", "</script>"]
cases = []
for _ in range(250):  # truncated
    d = dump(rng.choice(objects))
    cases.append(("truncated", d[:rng.randrange(1, len(d) - 1)]))
for _ in range(250):  # bytes flipped, removed, repeated
    d = bytearray(dump(rng.choice(objects)))
    for _ in range(rng.randrange(1, 4)):
        i = rng.randrange(len(d))
        what = rng.randrange(3)
        if what == 0:
            d[i] ^= 1 << rng.randrange(8)
        elif what == 1:
            del d[i:i + rng.randrange(1, 30)]
        else:
            d[i:i] = d[i:i + rng.randrange(1, 30)]
    cases.append(("damaged", bytes(d)))
for _ in range(300):  # valid JSON of wrong types, and members gone
    o = rng.choice(objects)
    path = rng.choice([p for p in paths(o) if p])
    cases.append(("wrong type", dump(change(o, path, rng.choice(values), rng.random() < .3))))
for i in range(60):  # of later versions, and of others
    o = rng.choice(objects)
    schema = rng.choice([o["schema"][:-1] + str(rng.randrange(2, 99)), o["schema"] + ".1", "bpflab.other/1", "", "x",
                         o["schema"].upper(), "\u001b[31m" * 9, "bpflab.result/" + "9" * 4000])
    cases.append(("later", dump(dict(o, schema=schema))))
for i in range(60):  # no object at all, or much too deep
    cases.append(("no object", rng.choice([b"[" * rng.randrange(2, 100000), b"{\"a\":" * rng.randrange(2, 50000), b"null\n",
                  b"\"text\"\n", b"17\n", b"[]\n", b"{}\n", b"{\"schema\":{}}\n", b"\x00" * rng.randrange(1, 99),
                  b"{\"schema\":\"a\",\"schema\":\"b\"}\n", b"\xef\xbb\xbf" + good[0], b"\xff\xfe{}", b"\x7fELF\x02\x01",
                  b"{" + b" " * 100000, b"\n" * 1000])))
for i in range(80):  # hostile numbers and sizes
    o = rng.choice(objects)
    path = rng.choice([p for p in paths(o) if p and p[0] in ("samples", "estimate", "ci95", "a", "b", "batch", "ratio")])
    text = json.dumps(change(o, path, "@@")).replace('"@@"', rng.choice(
        ["1e999", "-1e999", "NaN", "9" * 400, "0x10", "1e-320", "01", "+1", "\"\\u0000\"", "\"\\ud800\"", "1." + "0" * 10000]))
    cases.append(("hostile", text.encode() + b"\n"))
assert len(cases) == 1000, len(cases)
bad, accepted = 0, 0
for i, (kind, data) in enumerate(cases):
    with open("case.json", "wb") as f:
        f.write(data)
    run = subprocess.run([bpflab, "report", "case.json", "--text", "-"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=60)
    err = run.stderr.decode("utf-8", "replace")
    ok = run.returncode in (0, 1)
    if run.returncode == 1:
        ok = err.count("\n") == 1 and err.startswith("bpflab: ") and "case.json" in err and not run.stdout
        ok = ok and all(c >= " " or c == "\n" for c in err) and len(err) < 900
    else:
        accepted += 1
        ok = ok and not run.stderr and all(c >= " " or c == "\n" for c in run.stdout.decode("utf-8", "replace"))
    if kind in ("later", "no object", "truncated") and run.returncode != 1:
        ok = False
    if not ok:
        bad += 1
        print(f"case {i}, {kind}: status {run.returncode}, {err[:300]!r}, {data[:120]!r}", file=sys.stderr)
print(f"{accepted} of 1000 were harmless")
sys.exit(bad > 0 or accepted > 500)
PY
# longer than memory should have to hold: a line that never ends
usage_error "*'/dev/zero'*" report /dev/zero
usage_error "*'.' is a folder*" report .
mkfifo pipe
cat r.json >pipe &
expect 0 "$BPFLAB" report pipe --text -
in_out "count-local*"
