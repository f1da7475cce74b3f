# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick arr-inc --rounds 13 --json r.json
json r.json "r[0]['rounds'] == 13 and {s['round'] for s in r[0]['samples']} == set(range(13))"
expect 0 "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 5 arr-inc --json r.json
json r.json "'too few' in r[0]['warnings'][0] and r[0]['ci_kind'] == 'range'"
# numbers are decimal, whatever they begin with
expect 0 "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 010 arr-inc --json r.json
json r.json "r[0]['rounds'] == 10"
