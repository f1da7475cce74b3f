# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick bpf-loop --nr_loops 7 --json r.json
in_out "bpf-loop/nr_loops=7 *"
json r.json "len(r) == 1 and r[0]['schema'] == 'bpflab.result/1' and r[0]['bench'] == 'bpf-loop'"
json r.json "r[0]['target'] == '$TARGET' and r[0]['params'] == {'nr_loops': 7, 'producers': 1}"
json r.json "r[0]['unit'] == 'ns/op' and r[0]['estimate'] >= 0 and len(r[0]['ci95']) == 2"
json r.json "r[0]['ci95'][0] <= r[0]['estimate'] <= r[0]['ci95'][1]"
json r.json "r[0]['trigger_ns'] > 0 and r[0]['null_ns'] >= 0 and r[0]['throughput']['unit'] == 'M/s'"
json r.json "r[0]['events']['expected'] == r[0]['events']['counted'] > 0"
json r.json "r[0]['rounds'] == 8 and isinstance(r[0]['warnings'], list) and r[0]['seed'].startswith('0x')"
json r.json "all(r[0]['env'][k] for k in ('kernel', 'arch', 'tool', 'time', 'libbpf', 'clang', 'mitigations'))"
# every batch of every round, in time order
json r.json "[s['t'] for s in r[0]['samples']] == sorted(s['t'] for s in r[0]['samples'])"
json r.json "all(sorted((s['arm'], s['size']) for s in r[0]['samples'] if s['round'] == n and s['size'] != 'N/2') == [('full', 'N'), ('full', 'N/8'), ('null', 'N'), ('null', 'N/8'), ('trigger', 'N')] for n in range(8))"
json r.json "[s['round'] for s in r[0]['samples'] if s['size'] == 'N/2'] == [0, 4]"
# the measured loop is twice as long as the null's
json r.json "all(s['events'] == {'full': 14, 'null': 7, 'trigger': 0}[s['arm']] * s['ops'] for s in r[0]['samples'])"
json r.json "all(k in s for s in r[0]['samples'] for k in ('ns', 'cpu', 'migrated', 'nvcsw', 'nivcsw', 'steal'))"
# standard output carries the JSON and nothing else
expect 0 quick arr-inc count-local --json -
json out "[x['bench'] for x in r] == ['arr-inc', 'count-local']"
json out "r[0]['events']['left_behind'] == r[0]['events']['counted']"
[ "$(ls)" = "$(printf 'err\nout\nr.json')" ] || die "left behind: $(ls)"
