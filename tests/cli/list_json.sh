# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" list --json
tr -d '\n' <out >list.json
json list.json "[b['name'] for b in r[0]][:3] == ['count-global', 'count-local', 'bpf-loop']"
json list.json "all(b['event'] and b['subtracted'] and b['targets'][:2] == ['user', 'host'] for b in r[0])"
json list.json "all('native' in b['targets'] for b in r[0] if b['name'].startswith(('jit-', 'bpf-loop', 'count-')))"
json list.json "not any('native' in b['targets'] for b in r[0] if b['name'].endswith('-inc'))"
json list.json "[b['name'] for b in r[0] if 'nr_loops' in b['params']] == ['bpf-loop', 'bpf-loop-direct']"
json list.json "[b['name'] for b in r[0] if 'nr-batch-iters' in b['params']] == ['private-stack', 'no-private-stack']"
