#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The whole tool against itself, and against a difference that is known:
#
#	live.sh BPFLAB OBJECTS [TARGET [A_A [A_B [SUITES]]]]
#
# A_A comparisons of a program with itself (may differ in 5 %), A_B each of loops of 2000 against
# 2020 and 2060 steps (the latter is to be found in 95 %, and the interval to hold the truth in 93 %), and
# SUITES of twenty programs with themselves (any row of one may be judged different in 5 %). Limits
# are those of a binomial at three standard errors. With fewer than 20 of them nothing about rates is
# asserted, but what comes out is looked at all the same.
set -eu

BPFLAB=$1
OBJECTS=$2
TARGET=${3:-}
AA=${4:-400}
AB=${5:-100}
SUITES=${6:-200}

if [ -z "$TARGET" ]; then
	for t in user host; do
		if "$BPFLAB" run --on $t -q -w 0 -d 0.01 --rounds 1 arr-inc >/dev/null 2>&1; then
			TARGET=$t
			break
		fi
	done
fi
[ -n "$TARGET" ] || {
	echo "no target works here"
	exit 77
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "on $TARGET, load $(cut -d' ' -f1 /proc/loadavg)"

# series FILE COUNT A B: so many comparisons, a line each in FILE. Exit 4, a failed control, is counted.
series() {
	local file=$1 count=$2 i status
	for ((i = 1; i <= count; i++)); do
		status=0
		"$BPFLAB" compare "$3" "$4" --on "$TARGET" -w 0.05 --seed $i --json - >>"$file" || status=$?
		[ $status = 0 ] || [ $status = 4 ] || {
			echo "exit status $status: compare $3 $4 --seed $i"
			exit 1
		}
	done
}

series "$scratch/aa" "$AA" "$OBJECTS/loop2000.bpf.o" "$OBJECTS/loop2000.bpf.o"
series "$scratch/2020" "$AB" "$OBJECTS/loop2000.bpf.o" "$OBJECTS/loop2020.bpf.o"
series "$scratch/2060" "$AB" "$OBJECTS/loop2000.bpf.o" "$OBJECTS/loop2060.bpf.o"
series "$scratch/suite" "$SUITES" "$OBJECTS/suite.bpf.o" "$OBJECTS/suite.bpf.o"

python3 - "$scratch" <<'PY'
import json, math, statistics, sys

failed = False

def load(name):
    rows = [json.loads(line) for line in open(f"{sys.argv[1]}/{name}")]
    for r in rows:
        lo, hi = r["effect"]["ci"]
        assert r["schema"] == "bpflab.compare/1" and lo <= r["effect"]["ratio"] <= hi
        assert len({s["ops"] for s in r["samples"]}) == 1, "arms of different sizes"
        assert r["quads"] >= 40 and r["events"]["expected"] == r["events"]["counted"] > 0
    return rows

def check(what, hits, n, rate, at_most):
    global failed
    slack = 3 * math.sqrt(rate * (1 - rate) / n)
    limit = rate + slack if at_most else rate - slack
    ok = n < 20 or (hits / n <= limit if at_most else hits / n >= limit)
    failed |= not ok
    print(f"{'ok' if ok else 'FAILED':7} {what:34} {hits:4} of {n:4}  {'<=' if at_most else '>='} {limit:.1%}")

def differs(r):
    return r["effect"]["ci"][0] > 1 or r["effect"]["ci"][1] < 1

aa = load("aa")
check("A/A differs", sum(map(differs, aa)), len(aa), 0.05, True)
check("control fails", sum(not r["control"]["ok"] for r in aa), len(aa), 0.01, True)
for name, truth in (("2020", 1.01), ("2060", 1.03)):
    ab = load(name)
    found = sum(r["effect"]["ci"][0] > 1 for r in ab)
    if truth == 1.03:
        check("+3 % found", found, len(ab), 0.95, False)
        check("+3 % in the interval",
              sum(r["effect"]["ci"][0] <= truth <= r["effect"]["ci"][1] for r in ab), len(ab), 0.93, False)
    else:
        print(f"        +1 % found                         {found:4} of {len(ab):4}")
    print(f"        median ratio {statistics.median(r['effect']['ratio'] for r in ab):.4f} for {truth}, "
          f"mean quads {statistics.mean(r['quads'] for r in ab):.0f}, "
          f"median time of measuring {statistics.median(r['seconds'] for r in ab):.2f} s")

rows = load("suite")
suites = [rows[i:i + 20] for i in range(0, len(rows), 20)]
assert all(len({r["bench"] for r in s}) == 20 and len({r["seed"] for r in s}) == 1 for s in suites)
check("any of 20 equal rows is judged",
      sum(any(r["verdict"] in ("faster", "slower", "trivial") for r in s) for s in suites), len(suites), 0.05, True)
print(f"        rows whose own interval leaves 1   {sum(map(differs, rows)):4} of {len(rows):4}, "
      f"median time of a suite {statistics.median(s[0]['seconds'] for s in suites):.1f} s")
sys.exit(failed)
PY
