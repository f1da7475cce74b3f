# SPDX-License-Identifier: BSD-2-Clause
# Lengths: looks, fixed numbers, time.
side() {
	"$BPFLAB" compare "$TARGET" "$TARGET" count-local -w 0 --json c.json "$@"
}
compared side
in_out "Looks at 40, 80, 160 and 320 quads, *"
json c.json "r[0]['planned_looks'] == [40, 80, 160, 320] and abs(r[0]['look_level'] - .9818) < 1e-9"
json c.json "r[0]['looks'][-1] == r[0]['quads'] and 1 <= len(r[0]['looks']) <= 4"
compared side --quick
in_out "Quick: 40 quads, *"
json c.json "r[0]['quick'] and r[0]['planned_looks'] == [40] and r[0]['quads'] >= 40 and abs(r[0]['look_level'] - .95) < 1e-9"
compared side --rigorous
json c.json "r[0]['planned_looks'] == [320] and r[0]['quads'] >= 320 and len({s['load'] for s in r[0]['samples']}) >= 3"
compared side --quads 1000000 -d 0.05
in_out "*(out of time)*"
json c.json "r[0]['quads'] < 1000000 and len(r[0]['looks']) == 1"
compared side --quads 40 --margin 50%
json c.json "abs(r[0]['margin'] - .5) < 1e-9"
compared side --quads 20 --loads 4 -p 2 -a
json c.json "r[0]['params']['producers'] == 2"
# too few quads for an interval is inconclusive, and --strict says so
expect 5 side --quads 1000000 -d 1e-12 --strict
json c.json "r[0]['verdict'] == 'inconclusive'"
# without a quad nothing is 0, and no control is fine
in_out "*; no control."
in_out "count-local  -  -  -                 inconclusive  0*"
json c.json "r[0]['quads'] == 0 and r[0]['ratio'] is None and r[0]['a']['ns_per_event'] is None and r[0]['ci'] is None"
