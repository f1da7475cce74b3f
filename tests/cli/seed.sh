# SPDX-License-Identifier: BSD-2-Clause
# The seed decides all orders: the same one replays them, another does not.
for i in 1 1 2; do
	quick arr-inc count-local --seed $i --json - >>all.json
done
cat >orders.py <<'PY'
import json
r = [json.loads(l) for l in open('all.json')]
orders = [[(s['arm'], s['size']) for s in x['samples']] for x in r if x['bench'] == 'arr-inc']
assert [x['seed'][-1] for x in r] == list('111122'), r
assert orders[0] == orders[1]
assert orders[0] != orders[2]
PY
python3 orders.py
quick count-local --json - >a.json
quick count-local --json - >b.json
[ "$(grep -o '"seed":"[^"]*"' a.json)" != "$(grep -o '"seed":"[^"]*"' b.json)" ] || die "same seed"
