# SPDX-License-Identifier: BSD-2-Clause
# The benches count each event once, whatever the size of a batch; --nr-batch-iters sets that.
expect 0 quick private-stack no-private-stack --sweep nr-batch-iters=1,64 --json r.json
json r.json "[(x['bench'], x['params']['trig_batch_iters']) for x in r] == [('private-stack', 1), ('private-stack', 64), ('no-private-stack', 1), ('no-private-stack', 64)]"
json r.json "all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"
json r.json "all(s['events'] == s['ops'] for x in r for s in x['samples'] if s['arm'] != 'trigger')"
in_out "private-stack/iters=64 *"
expect 0 quick private-stack --nr-batch-iters 4096 --json r.json
json r.json "all(s['ops'] % 4096 == 0 for s in r[0]['samples'] if s['arm'] != 'trigger')"
usage_error "--nr-batch-iters: none of the benches chosen takes it" run --on "$TARGET" arr-inc --nr-batch-iters 8
usage_error "--trig-batch-iters: none of the benches chosen takes it" run --on "$TARGET" private-stack --trig-batch-iters 8
usage_error "*nr-batch-iters*'0'*" run --on "$TARGET" private-stack --nr-batch-iters 0
# The switch changes the code of the one program, and not that of the other.
have user || skip "the target user does not work yet"
for bench in private-stack no-private-stack private-stack-fentry no-private-stack-fentry; do
	expect 0 "$BPFLAB" run --on user:private_stack=off --on user:private_stack=auto \
		--on user:private_stack=on -q -w 0 -d 0.1 --rounds 8 $bench --json $bench.json
	json $bench.json "[x['variant']['private_stack'] for x in r] == ['off', 'auto', 'on']"
	json $bench.json "all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"
	json $bench.json "len({x['prog']['xlated_len'] for x in r}) == 1"
done
for kind in "" -fentry; do
	json private-stack$kind.json "r[0]['prog']['jited_len'] != r[1]['prog']['jited_len']"
	json no-private-stack$kind.json "len({x['prog']['jited_len'] for x in r}) == 1"
done
usage_error "*'private_stack' does not take 'perhaps'; it is auto, on or off" run --on user:private_stack=perhaps private-stack
