# SPDX-License-Identifier: BSD-2-Clause
# One run on all targets that work.
args=
for t in $HAVE; do args="$args --on $t"; done
# shellcheck disable=SC2086
expect 0 "$BPFLAB" run $args -q -w 0 -d 0.1 --rounds 8 '*-inc' --json r.json
json r.json "sorted({x['target'] for x in r}) == sorted('$HAVE'.split())"
json r.json "len(r) == 3 * len('$HAVE'.split())"
json r.json "all(x['events']['left_behind'] == x['events']['counted'] == x['events']['expected'] for x in r)"
