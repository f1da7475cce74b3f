# SPDX-License-Identifier: BSD-2-Clause
# Markdown, mail and Go's benchmark format say what the JSON says.
quick count-local --json r.json --markdown r.md --text r.txt --benchfmt r.bench --ascii
in_file r.md "| count-local | $TARGET* |*"
in_file r.txt "count-local  $TARGET*"
in_file r.bench "BenchmarkCount-local/target=$TARGET*-1	*	* ns/op"
LC_ALL=C grep -q '[^ -~]' r.txt r.md && die "not ASCII: $(cat r.txt r.md)"
grep -q " +- " r.md || die "the sign is gone: $(cat r.md)"
quick count-local --markdown r2.md
grep -q " ± " r2.md || die "ASCII though not asked for: $(cat r2.md)"
awk 'length > 72' r.txt | grep -q . && die "wider than 72 columns: $(cat r.txt)"
# the command that repeats it is in the result, with the seed
json r.json "r[0]['command'].startswith('bpflab run --on') and r[0]['seed'].lstrip('0x').lstrip('0') in r[0]['command']"

# known truth: a program of 10 ns an operation, a null program of 2, triggers of 500 and 200 ns; 4 events
python3 - <<'PY'
import json
s = []
for r in range(6):
    for arm, a, b in (("full", 500, 10 + r), ("null", 200, 2)):
        for size, ops in (("N", 800), ("N/8", 100), ("N/2", 400)):
            s.append({"t": len(s) * 1000, "round": r, "arm": arm, "size": size, "ops": ops,
                      "events": 4 * ops, "ns": a + b * ops})
o = {"schema": "bpflab.result/1", "bench": "known-8", "target": "user", "variant": {"jit": "on"},
     "params": {"nr_loops": 7, "producers": 1}, "estimate": 2.625, "ci95": [2, 3.25], "distinguishable": True,
     "batch": {"events_per_op": 4}, "samples": s, "seed": "0x1", "env": {"arch": "x86_64", "cpu": "c", "kernel": "k"}}
open("known.json", "w").write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report known.json --benchfmt -
in_out "goarch: amd64"
# (10 - 2) / 4, (11 - 2) / 4, …: a line a round, and the 8 of the name is not taken for a number of CPUs
for ns in 2 2.25 2.5 2.75 3 3.25; do
	in_out "BenchmarkKnown-8/nr_loops=7/target=user:jit=on-1	3200	$ns ns/op"
done
[ "$(grep -c ^Benchmark out)" = 6 ] || die "$(cat out)"
expect 0 "$BPFLAB" report known.json --markdown - --csv r.csv --json again.json
in_out "| known-8/nr\\\\_loops=7 | user:jit=on | 2.625 | *"
in_file r.csv "result,known-8/nr_loops=7,user:jit=on,2.625,2,3.25,*"
cmp -s <(python3 -m json.tool known.json) <(python3 -m json.tool again.json) || die "JSON differs"
# a word of a file cannot make a line, or a field, of its own
echo '{"schema":"bpflab.compare/1","bench":"b","verdict":"x,\n\"y","a":{},"b":{}}' >hostile.json
expect 0 "$BPFLAB" report hostile.json --csv r.csv
python3 -c "import csv; r = list(csv.reader(open('r.csv'))); assert len(r) == 2 and r[1][11] == 'x,\n\"y', r" || die "CSV"
rm -f bpflab-report.html
expect 0 "$BPFLAB" report known.json --csv r.csv
[ ! -e bpflab-report.html ] || die "a page that nobody asked for"

# keys of the file that differ from run to run would keep benchstat from comparing runs
expect 0 "$BPFLAB" report known.json --benchfmt -
in_out "# seed: 0x1"
grep -q "^seed:" out && die "the seed is a key: $(cat out)"
# what was imported or lost its environment does not keep that of the record before it
python3 - <<'PY'
import json
o = json.load(open("known.json"))
del o["env"]
o["params"]["producers"] = 3
open("bare.json", "w").write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report known.json bare.json --benchfmt -
[ "$(grep -c '^cpu: c$' out)" = 1 ] && [ "$(grep -c '^cpu: $' out)" = 1 ] || die "$(cat out)"
in_out "BenchmarkKnown-8/nr_loops=7/target=user:jit=on-3	*"

# comparisons
expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" count-local --quick -w 0 --no-control --json c.json --text - --ascii
in_out "*no control*"
in_out "count-local  *40"
awk 'length > 72' out | grep -q . && die "wider than 72 columns: $(cat out)"
# a line for each quad and side; two sides of one target have an arm
expect 0 "$BPFLAB" report c.json --benchfmt -
for arm in A B; do
	[ "$(grep -c "^BenchmarkCount-local/target=$TARGET.*/arm=$arm-1	" out)" -ge 40 ] || die "$(cat out)"
done
python3 - out c.json <<'PY' || die "net costs that are not the comparison's: $(cat out)"
import json, statistics, sys
r = json.load(open(sys.argv[2]))
for arm in "AB":
    ns = [float(l.split()[2]) for l in open(sys.argv[1]) if f"/arm={arm}-1" in l]
    want = r[arm.lower()]["ns_per_event"]
    assert abs(statistics.median(ns) / want - 1) < 0.3, (arm, statistics.median(ns), want)
PY
expect 0 "$BPFLAB" report c.json --markdown -
in_out "| count-local | * ns ±* | * |*| 40 |"
expect 0 "$BPFLAB" compare known.json known.json --text -
in_out "known-8/nr_loops=7 *inconclusive*"

# long names break lines, not the width
python3 - <<'PY'
import json
o = json.load(open("known.json"))
o["bench"], o["variant"] = "b" * 300, {"v" * 70: "±" * 80}
open("long.json", "w").write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report long.json --text - --ascii
awk 'length > 72' out | grep -q . && die "wider than 72 columns: $(cat out)"
# cells and links cannot be made of names
python3 - <<'PY'
import json
o = json.load(open("known.json"))
o["bench"] = "a|b<script>[x](http://e)`\x1b[31m\u202e"
open("hostile.json", "w").write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report hostile.json --markdown -
in_out '| a\\|b&lt;script&gt;\\\[x\\\](http://e)\\`?\\\[31m[?]/*'

usage_error "*--markdown and --text cannot both go to standard output*" run --markdown - --text -
