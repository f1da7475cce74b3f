# SPDX-License-Identifier: BSD-2-Clause
# Without a name: the seven benches on every default target that works, in one run.
expect 0 "$BPFLAB" run -w 0 -d 0.2 --rounds 8 --json r.json
json r.json "len({x['bench'] for x in r}) == 7"
json r.json "len(r) == 7 * len({(x['target'], str(x['variant'])) for x in r})"
json r.json "len({x['seed'] for x in r}) == 1"
if have user; then
	json r.json "{x['variant'].get('jit') for x in r if x['target'] == 'user'} == {'on', 'off'}"
else
	in_err "bpflab: user:jit=on is left out: *"
fi
if have host; then
	json r.json "'host' in {x['target'] for x in r}"
else
	in_err "bpflab: host is left out: *"
fi
