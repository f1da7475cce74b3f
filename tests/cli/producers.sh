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
