# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" run --on "$TARGET" -q -d 0.05 --rounds 8 -w 0 arr-inc --json r.json
json r.json "r[0]['batch']['warmup'] == 0"
expect 0 "$BPFLAB" run --on "$TARGET" -q -d 0.05 --rounds 8 -w 0.02 arr-inc --json r.json
json r.json "r[0]['batch']['warmup'] >= 10"
