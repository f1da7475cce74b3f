# SPDX-License-Identifier: BSD-2-Clause
# The rounds fill the run: a longer one has the same number of them, further apart.
expect 0 "$BPFLAB" run --on "$TARGET" -q -w 0 --rounds 8 -d 0.4 count-local --json r.json
json r.json "max(s['t'] for s in r[0]['samples']) >= 0.35e9"
# … and a short one fewer, if nothing else is asked for.
expect 0 "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.001 hash-inc --json r.json
json r.json "8 <= r[0]['rounds'] < 100"
