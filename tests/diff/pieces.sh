#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A long run in pieces: what was run is a range of seeds without holes, and the next piece goes on
# behind it, however many workers there are and however the run ended.
#
# usage: pieces.sh BPFU-DIFF
set -u
diff=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failures=0

# check NAME CONDITION…: as test(1)
check() {
	if [ "${@:2}" ]; then
		echo "ok $1"
	else
		echo "not ok $1: ${*:2}"
		cat "$out"
		failures=$((failures + 1))
	fi
}

# field PATTERN: what it captures of the output
field() {
	sed -n "s/$1/\\1/p" "$out"
}

"$diff" --no-kernel --seed 0x100 --count 33 --jobs 2 >"$out" 2>&1
check "a whole run ends with 0" $? -eq 0
check "its range" "$(field '^seeds \(0x100 to 0x120: 33\) programs.*')" = "0x100 to 0x120: 33"
check "nothing is left to do" -z "$(field '^to go on: \(.*\)')"

"$diff" --no-kernel --seed 0x100 --seconds 600 --jobs 2 >"$out" 2>&1 &
pid=$!
until grep -q seed "$out"; do
	sleep 0.1
done
until workers=$(pgrep -P $pid); do
	sleep 0.1
done
kill -INT $pid
wait $pid
check "an interrupted run ends with 130" $? -eq 130
next=$(field '^to go on: --seed \(.*\)')
count=$(field '^seeds .*: \([0-9]*\) programs.*')
check "it says where to go on" "${next:-none}" = "$(printf '0x%x' $((0x100 + ${count:-0})))"
check "no program is without a result" "$(field '^\([0-9]*\) run on all sides.*')" = "${count:-none}"
for pid in $workers; do
	check "its worker is gone" ! -e "/proc/$pid"
done
check "a file gets no line of progress" -z "$(grep ' programs in ' "$out")"

# A terminal gets one each second.
script -qec "$diff --no-kernel --seconds 3" /dev/null >"$out" </dev/null
check "a terminal does" -n "$(grep -ao '[0-9]* programs in [0-9]* s' "$out")"
exit $((failures > 0))
