# SPDX-License-Identifier: BSD-2-Clause
# what programs cost on a kernel, by instruction and by function; object files of one's own there
[ -e "$(dirname "$BPFLAB")/bpflab-guest-x86_64" ] || skip "no bpflab-guest-x86_64 was built"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (Debian: qemu-system-x86)"
expect 0 "$BPFLAB" kernel list --json
kernel=$(python3 -c 'import json; print(([k["name"] for k in json.load(open("out")) if k["arch"] == "x86_64"] or [""])[-1])')
[ -n "$kernel" ] || skip "no kernel is here (bpflab kernel fetch 6.12)"

# straight code: the null program's two instructions, and those that it has more
expect 0 "$BPFLAB" run "$OBJECTS/straight.bpf.o" --on "vm:$kernel" --count=insns --runs 1 --json r.json
json r.json "[x['bench'] for x in r] == ['straight.bpf.o:shorter', 'straight.bpf.o:longer']"
json r.json "r[1]['estimate'] - r[0]['estimate'] == 4 and r[0]['estimate'] >= 0"
expect 0 "$BPFLAB" dump --counts --json --on "vm:$kernel" "$OBJECTS/straight.bpf.o:longer"
cp out r.json
json r.json "r[0]['emulated'] is True and r[0]['target'] == 'vm:$kernel'"
json r.json "{tuple(i['times']) for f in r[0]['functions'] for i in f['instructions']} <= {(1, 1), (0, 1)}"
json r.json "sum(i['times'] == [1, 1] for f in r[0]['functions'] for i in f['instructions']) > 4"

# a program on a function: it, the trampoline, what the kernel does around it; nothing is left over
expect 0 "$BPFLAB" dump --counts --json --on "vm:$kernel" trig-fentry
cp out r.json
json r.json "abs(sum(i['times'][0] / i['times'][1] for f in r[0]['functions'] for i in f['instructions']) +
	sum(o['times'][0] / o['times'][1] for o in r[0]['outside']) - r[0]['insns'] / r[0]['events']) < 1e-9"
json r.json "{o['function'] for o in r[0]['outside']} >= {'bpf_trampoline', 'bpf_get_numa_node_id'}"
json r.json "not any(o['function'].startswith('(') for o in r[0]['outside'])"
json r.json "r[0]['functions'][0]['instructions'][0]['times'] == [1, 1]"

expect 0 "$BPFLAB" profile --on "vm:$kernel" -d 1 trig-fentry --json
cp out r.json
json r.json "r[0]['schema'] == 'bpflab.profile/1' and r[0]['target'] == 'vm:$kernel' and r[0]['emulated'] is True"
json r.json "r[0]['samples'] == sum(x['samples'] for x in r[0]['rows']) > 100 and r[0]['vm']['kernel'] == '$kernel'"
json r.json "{x['kind'] for x in r[0]['rows']} >= {'program', 'trampoline', 'kernel'}"
json r.json "{x['symbol'] for x in r[0]['rows']} >= {'trigger_fentry', 'bpf_trampoline', 'bpf_get_numa_node_id'}"
expect 0 "$BPFLAB" profile --diff "vm:$kernel" "vm:$kernel,mem=600" -d 0.5 trig-fentry
in_out "A: trig-fentry on vm:$kernel, EMULATED: * ns an event, *"
in_out "B: trig-fentry on vm:$kernel,mem=600, EMULATED: * ns an event, *"
in_out "*trampoline  bpf_trampoline"
usage_error "vm:$kernel: *no bench 'arr-ink'*" profile --on "vm:$kernel" arr-ink

# the verifier of the kernel beside ours
expect 2 "$BPFLAB" verify --on user --on "vm:$kernel" "$OBJECTS/rejected.bpf.o" "$OBJECTS/straight.bpf.o" --json
cp out r.json
json r.json "[x['target'] for x in r] == ['user'] * 3 + ['vm:$kernel'] * 3"
json r.json "[x['accepted'] for x in r] == [False, True, True] * 2 and r[0]['reason'] == r[3]['reason']"
json r.json "all(x['emulated'] is True and x['vm']['kernel'] == '$kernel' for x in r[3:])"
