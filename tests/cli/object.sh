# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick "$OBJECTS/types.bpf.o" --json r.json
json r.json "sorted(x['bench'] for x in r) == ['types.bpf.o:my_' + p for p in ('raw_tp', 'socket', 'syscall', 'tc', 'xdp')]"
json r.json "{x['bench'].split(':')[1]: x['note'].split(' ')[3] for x in r} == {'my_raw_tp': '11', 'my_socket': '12', 'my_syscall': '13', 'my_tc': '14', 'my_xdp': '2'}"
json r.json "all(x['trigger_ns'] is None for x in r if x['bench'].endswith(('raw_tp', 'syscall')))"
# one of its programs
expect 0 quick "$OBJECTS/types.bpf.o:my_tc" arr-inc --json r.json
json r.json "[x['bench'] for x in r] == ['types.bpf.o:my_tc', 'arr-inc']"
usage_error "'*types.bpf.o' has no program 'my_kprobe' that can be measured" \
	run --on "$TARGET" "$OBJECTS/types.bpf.o:my_kprobe"
# a program whose result changes is not doing the same each time
expect 0 quick "$OBJECTS/counter.bpf.o" --json r.json
json r.json "'returned different values' in r[0]['note']"
expect 0 "$BPFLAB" run --on "$TARGET" --classic -q -d 1 -w 0 "$OBJECTS/types.bpf.o:my_socket"
in_out "Summary: hits *"
# results go by the name of the file: two files of one name would be one bench to a history
mkdir other
cp "$OBJECTS/types.bpf.o" other/
usage_error "'*types.bpf.o' and 'other/types.bpf.o' have one name in results, 'types.bpf.o:my_tc'; *bpflab compare *" \
	run --on "$TARGET" "$OBJECTS/types.bpf.o:my_tc" other/types.bpf.o:my_tc
compared "$BPFLAB" compare "$OBJECTS/types.bpf.o:my_tc" other/types.bpf.o:my_tc --on "$TARGET" --quads 6 -w 0
# one that is named twice is one
ln -s "$PWD/other/types.bpf.o" types.bpf.o
expect 0 quick ./types.bpf.o:my_tc other/types.bpf.o types.bpf.o:my_tc --json r.json
json r.json "len(r) == 5 and r[0]['bench'] == 'types.bpf.o:my_tc'"
