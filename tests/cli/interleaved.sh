# SPDX-License-Identifier: BSD-2-Clause
# Rounds of all benches are interleaved: in time, each round of every bench comes before the next
# round of any, and the order within a round changes.
expect 0 quick arr-inc bpf-loop count-local --rounds 12 --json r.json
cat >check.py <<'PY'
import json
r = [json.loads(l) for l in open('r.json')]
starts = sorted((min(s['t'] for s in x['samples'] if s['round'] == n), n, x['bench']) for x in r for n in range(12))
assert [n for _, n, _ in starts] == sorted(n for _, n, _ in starts)
orders = [tuple(b for _, m, b in starts if m == n) for n in range(12)]
assert all(sorted(o) == sorted(orders[0]) for o in orders)
assert len(set(orders)) > 1, orders
PY
python3 check.py
