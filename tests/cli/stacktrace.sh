# SPDX-License-Identifier: BSD-2-Clause
# --stacktrace: the programs of the trigger benches take a stack, and the rows say so.
names="trig-fentry trig-fexit trig-kprobe trig-kretprobe trig-kprobe-multi trig-kretprobe-multi trig-fmodret \
	trig-rawtp trig-tp"
expect 0 quick $names arr-inc --stacktrace --json r.json --csv r.csv
in_out "trig-fentry/stacktrace *"
json r.json "len(r) == 10 and all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"
json r.json "all(x['params'].get('stacktrace', False) == x['bench'].startswith('trig-') for x in r)"
# What the programs have left in their map: the function, its driver and their callers.
json r.json "all(int(x['note'].split('stacks of up to ')[1].split()[0]) > 6 for x in r if x['bench'] != 'arr-inc')"
grep -q '^trig-tp,.*,1$' r.csv || die "r.csv does not tell stacks"
grep -q '^arr-inc,.*,0$' r.csv || die "r.csv tells stacks of arr-inc"

# Without it there is none, and stored results of the two are not one bench.
expect 0 quick trig-fentry --json plain.json
json plain.json "len(r) == 1 and 'stacktrace' not in r[0]['params'] and not r[0].get('note')"
expect 0 quick trig-fentry -g --json stack.json
json stack.json "r[0]['params']['stacktrace'] is True"
usage_error "'plain.json' and 'stack.json' have no bench with the same parameters and target" \
	compare plain.json stack.json

expect 0 "$BPFLAB" list
in_out "*takes --trig-batch-iters; takes --stacktrace*"
usage_error "--stacktrace: none of the benches chosen takes it" run --on "$TARGET" arr-inc --stacktrace
