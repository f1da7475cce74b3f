# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick arr-inc -p 2 --json r.json
in_out "arr-inc/p=2 *"
json r.json "r[0]['params']['producers'] == 2"
json r.json "all(s['events'] == 2 * s['ops'] for s in r[0]['samples'] if s['arm'] == 'full')"
json r.json "r[0]['events']['left_behind'] == r[0]['events']['counted'] or r[0]['target'] == 'host'"
# More of them than CPUs works, and is said.
expect 0 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.05 --rounds 8 arr-inc -p $(($(nproc) + 1))
in_out "*producers on * CPUs: times include waiting for a CPU"
in_out "*each of them"
# However many, their throughput is what was done in the time that passed: they need not run at the same time.
expect 0 "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 arr-inc -p $((16 * $(nproc))) --json r.json
json r.json "all(s['wall_ns'] >= s['ns'] * .999999 for s in r[0]['samples'])"
rates='[s["events"] / s["wall_ns"] * 1e3 for s in r[0]["samples"] if s["arm"] == "full" and s["size"] == "N"]'
json r.json "min($rates) * .999 <= r[0]['throughput']['mean'] <= max($rates) * 1.001"
expect 0 quick arr-inc --json r.json
json r.json "all(s['wall_ns'] == s['ns'] for s in r[0]['samples'])"
