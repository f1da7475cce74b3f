# SPDX-License-Identifier: BSD-2-Clause
compared "$BPFLAB" compare "$TARGET" "$TARGET" count-local arr-inc -w 0 --quads 12 --seed 7 --json c.json --csv c.csv
in_out "Of 2 benches *"
python3 - "$TARGET" <<'PY' || die "c.json"
import json, sys
r = [json.loads(line) for line in open('c.json')]
assert [x['bench'] for x in r] == ['count-local', 'arr-inc']
assert all(x['schema'] == 'bpflab.compare/1' and x['seed'] == '0x0000000000000007' for x in r)
assert all(x['verdict'] in ('slower', 'faster', 'trivial', 'same', 'inconclusive', 'untrusted') for x in r)
assert all(x['a']['target'] == x['b']['target'] == sys.argv[1] for x in r)
assert all(x['ci'][0] <= x['ratio'] <= x['ci'][1] for x in r)
assert all(x['effect']['ci'][0] <= x['effect']['ratio'] <= x['effect']['ci'][1] for x in r)
assert all(x['ratio_net'] is None or x['ci_net'][0] <= x['ratio_net'] <= x['ci_net'][1] for x in r)
assert all(0 <= x['p'] <= x['p_holm'] <= 1 and x['basis'] in ('net', 'gross') for x in r)
assert all(x['quads'] >= 12 and x['loads'] >= 1 and x['control']['n'] == x['quads'] for x in r)
assert all(x['events']['expected'] == x['events']['counted'] > 0 for x in r)
assert all(x['env']['kernel'] and x['suite']['rows'] == 2 and not x['historical'] for x in r)
# every batch in time order; all of one size, each arm and null program twice in a quad, and backwards
assert all([s['t'] for s in x['samples']] == sorted(s['t'] for s in x['samples']) for x in r)
assert all(len({s['ops'] for s in x['samples']}) == 1 for x in r)
assert all(len(x['samples']) == 12 * x['quads_measured'] for x in r)
assert all([(s['arm'], s['null']) for s in x['samples'][i:i + 6]] == [(s['arm'], s['null']) for s in reversed(x['samples'][i + 6:i + 12])] for x in r for i in range(0, len(x['samples']), 12))
assert all(len({(s['arm'], s['null']) for s in x['samples'][i:i + 6]}) == 6 for x in r for i in range(0, len(x['samples']), 12))
PY
[ "$(head -1 c.csv | cut -d, -f1-6)" = bench,a,b,a_ns,b_ns,ratio ] || die "header: $(head -1 c.csv)"
[ "$(wc -l <c.csv)" = 3 ] || die "lines: $(cat c.csv)"
python3 -c "import csv; r = list(csv.reader(open('c.csv'))); assert len({len(x) for x in r}) == 1" || die "ragged"
# The same seed, the same order of every quad that both runs have: on a busy machine disturbed quads
# are measured again under other numbers, and two runs may have none in common.
compared "$BPFLAB" compare "$TARGET" "$TARGET" count-local arr-inc -w 0 --quads 12 --seed 7 --json again.json
compared "$BPFLAB" compare "$TARGET" "$TARGET" count-local arr-inc -w 0 --quads 12 --seed 8 --json other.json
python3 - <<'PY' || die "the order is not the seed's"
import json
def orders(name):
    return [{(s["quad"], s["order"]): (s["arm"], s["null"]) for s in json.loads(line)["samples"]}
            for line in open(name)]
first, again, other = orders("c.json"), orders("again.json"), orders("other.json")
for a, b, c in zip(first, again, other):
    both = a.keys() & b.keys()
    assert all(a[k] == b[k] for k in both)
    both = a.keys() & c.keys()
    assert not both or any(a[k] != c[k] for k in both)
PY
# standard output carries the JSON and nothing else
expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" count-local -w 0 --quads 6 --no-control --json -
json out "len(r) == 1 and r[0]['control'] is None and len(r[0]['samples']) == 8 * r[0]['quads_measured']"
