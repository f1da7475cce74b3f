# SPDX-License-Identifier: BSD-2-Clause
# Stored results: no verdict from one run each, a historical one from many.
quick count-local --json one.json
quick count-local --json two.json
# on a busy machine it may not be told apart from its null program
sed -i -E 's/"estimate":[^,]+/"estimate":2.05/; s/"distinguishable":false/"distinguishable":true/' one.json two.json
expect 0 "$BPFLAB" compare one.json two.json --json c.json
in_out "count-local: cannot tell A and B apart, nor call them the same, from 2 runs: *; measured at other times, not side by side."
in_out "count-local on $TARGET*inconclusive*1/1 runs*too few runs*"
json c.json "r[0]['historical'] and r[0]['verdict'] == 'inconclusive' and r[0]['ci'] is None"
expect 5 "$BPFLAB" compare one.json two.json --strict
# six runs as they come out on a quiet machine, and one in which B took far longer
for i in 1 2 3 4 5 6; do
	sed -E 's/"estimate":[^,]+/"estimate":2.0'$i'/; s/"seed":"[^"]+"/"seed":"0x00000000000000a'$i'"/' two.json >>many.json
done
sed -E 's/"estimate":[^,]+/"estimate":1000/' two.json >slow.json
expect 0 "$BPFLAB" compare many.json slow.json --csv c.csv
in_out "count-local on $TARGET*slower (historical)*6/1 runs*"
in_out "count-local is * times slower on B, 95 % interval *; measured at other times, not side by side."
[ "$(wc -l <c.csv)" = 2 ] || die "$(cat c.csv)"
python3 -c "import csv; r = list(csv.reader(open('c.csv'))); assert len({len(x) for x in r}) == 1" || die "ragged"
# the same run five times is one run
for i in 1 2 3 4 5; do cat one.json; done >copies.json
expect 0 "$BPFLAB" compare copies.json two.json
in_out "*1/1 runs*"
# but with --seed five runs have one seed
for i in 1 2 3 4 5; do sed -E 's/"time":"[^"]+"/"time":"2026-01-0'$i'T00:00:00Z"/' one.json; done >seeded.json
expect 0 "$BPFLAB" compare seeded.json two.json
in_out "*5/1 runs*"
# what cannot be
usage_error "*--fail-above needs a fresh measurement*" compare one.json two.json --fail-above 3
usage_error "*result files are not measured*--quads" compare one.json two.json --quads 20
usage_error "*'arr-inc'*" compare one.json two.json arr-inc
quick arr-inc --json other.json
usage_error "*no bench with the same*" compare one.json other.json
echo '{"schema":' >broken.json
usage_error "*'broken.json' line 1 is not JSON*" compare one.json broken.json
: >empty.json
usage_error "*'empty.json' holds no results*" compare one.json empty.json
