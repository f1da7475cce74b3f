# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" noise count-local --on "$TARGET" -d 2 -w 0 --json n.json
in_out "The smallest difference that a comparison finds here nine times in ten:"
in_out "bench *target *in 1 s *10 s *60 s *"
in_out "count-local *$TARGET*%*%*%*"
json n.json "r[0]['schema'] == 'bpflab.noise/1' and r[0]['bench'] == 'count-local' and r[0]['target'] == '$TARGET'"
json n.json "0 < r[0]['smallest_difference']['60'] < r[0]['smallest_difference']['10'] < r[0]['smallest_difference']['1']"
json n.json "r[0]['sigma_quad'] > 0 and r[0]['quads_per_second'] > 0 and r[0]['quads'] >= 20"
json n.json "all(-1 <= r[0][k] <= 1 for k in ('acf_quads', 'acf_times')) and r[0]['drift'] >= 0 and r[0]['steal_percent'] >= 0"
# every target that works, without being told
expect 0 "$BPFLAB" noise -d 8 -w 0 --json -
json out "len(r) == len('$HAVE'.split()) and all(x['bench'] == 'arr-inc' for x in r)"
usage_error "*no bench 'arr-incc'*" noise arr-incc
usage_error "*are too few*-d*" noise count-local --on "$TARGET" -d 0.000001 -w 0
usage_error "-d*" noise -d
export BPFLAB_FAULT=drop-event
expect 2 "$BPFLAB" noise arr-inc --on "$TARGET" -d 1 -w 0
