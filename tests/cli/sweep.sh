# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick bpf-loop arr-inc --sweep nr_loops=1,100 --json r.json
json r.json "[(x['bench'], x['params'].get('nr_loops')) for x in r] == [('bpf-loop', 1), ('bpf-loop', 100), ('arr-inc', None)]"
in_out "bpf-loop/nr_loops=100 *"
expect 0 quick bpf-loop --sweep nr_loops=1,10 --sweep p=1,2 --json r.json
json r.json "[(x['params']['nr_loops'], x['params']['producers']) for x in r] == [(1, 1), (1, 2), (10, 1), (10, 2)]"
expect 0 quick arr-inc --sweep trig-batch-iters=10,20 --json r.json
json r.json "[x['params']['trig_batch_iters'] for x in r] == [10, 20]"
# each value once: two results with the same parameters could not be told apart
usage_error "--sweep 'nr_loops=1,10,01': '01' is given twice" run --on "$TARGET" bpf-loop --sweep nr_loops=1,10,01
usage_error "--sweep 'p=00000000000000000000000000000000002': '0000*...' is not a whole number *" \
	run --on "$TARGET" arr-inc --sweep p=00000000000000000000000000000000002
