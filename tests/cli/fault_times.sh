# SPDX-License-Identifier: BSD-2-Clause
# A machine that drifts, a program that does not settle, and a cost that is not proportional to the
# events are all said, in the table and in the result.
faulty() { BPFLAB_FAULT=$1 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.3 --rounds 60 bpf-loop --json r.json; }
expect 0 faulty drift
in_out "*machine speed drifted * % during the run*"
json r.json "any('drifted' in w for w in r[0]['warnings'])"
expect 0 faulty warm-up
in_out "*no steady state: the first quarter of the run was +* % off*"
expect 0 faulty nonlinear
in_out "*not linear in N*nothing subtracted*"
json r.json "r[0]['gross_only'] and r[0]['linearity'] < 0.8"
# and they are kept
expect 0 "$BPFLAB" report r.json --markdown -
in_out "- *not linear in N*"
