# SPDX-License-Identifier: BSD-2-Clause
# A machine that drifts, a program that does not settle, and a cost that is not proportional to the
# events are all said, in the table and in the result.
faulty() { BPFLAB_FAULT=$1 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.3 --rounds 60 bpf-loop --json r.json; }
# On a busy machine too many rounds are left out for a finding: then again, twice at most.
finds() { # FAULT PATTERN
	for _ in 1 2; do
		expect 0 faulty "$1"
		# shellcheck disable=SC2053
		while IFS= read -r line; do [[ $line == $2 ]] && return; done <out
	done
	expect 0 faulty "$1"
	in_out "$2"
}
finds drift "*machine speed drifted * % during the run*"
json r.json "any('drifted' in w for w in r[0]['warnings'])"
finds warm-up "*no steady state: the first quarter of the run was +* % off*"
finds nonlinear "*not linear in N*nothing subtracted*"
json r.json "r[0]['gross_only'] and r[0]['linearity'] < 0.8"
# and they are kept
expect 0 "$BPFLAB" report r.json --markdown -
in_out "- *not linear in N*"
