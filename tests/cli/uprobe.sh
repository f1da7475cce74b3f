# SPDX-License-Identifier: BSD-2-Clause
# Each bench of uprobes runs, and its program sees every call. A kernel may refuse; then it is said why.
have user || skip "the target user does not work yet"
expect 0 "$BPFLAB" run --on user -q -w 0 -d 0.05 --rounds 8 'trig-u*probe*' 'trig-usdt-*' --json r.json
json r.json "all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"
json r.json "len(r) >= 13 and {x['bench'] for x in r} >= {'trig-%s-%s' % (p, f) for p in ('uprobe', 'uretprobe', 'uprobe-multi', 'uretprobe-multi') for f in ('nop', 'push', 'ret')} | {'trig-usdt-nop'}"
# A probe costs something: the call alone is a few nanoseconds.
json r.json "all(x['estimate'] is None or x['estimate'] > x['null_ns'] for x in r if not x['bench'].endswith(('5', '10')))"
