# SPDX-License-Identifier: BSD-2-Clause
# A listing with the times that each of its instructions is executed per event.
have user || skip "no user target"
arch=$(uname -m)
command -v "qemu-$arch" >/dev/null || skip "no qemu-$arch (Debian: qemu-user)"

# Without a branch: each instruction once, and the listing is that of dump --jited.
expect 0 "$BPFLAB" dump --counts --json "$OBJECTS/straight.bpf.o:longer"
mv out r.json
"$BPFLAB" dump --jited --json --on user "$OBJECTS/straight.bpf.o" longer >d.json
json r.json "([i['times'] for f in r[0]['functions'] for i in f['instructions']] ==
	[[1, 1]] * sum(len(f['instructions']) for f in json.load(open('d.json'))['functions']))"
json r.json "([i['text'] for f in r[0]['functions'] for i in f['instructions']] ==
	[i['text'] for f in json.load(open('d.json'))['functions'] for i in f['instructions']])"
# What is executed here and outside is all that was executed.
json r.json "r[0]['insns'] / r[0]['events'] > len(r[0]['functions'][0]['instructions'])"

# With a loop: what is in it once an event, what is around it once a piece of 64, the rest never.
expect 0 "$BPFLAB" dump --counts arr-inc --no-source
in_out "arr-inc: arr_inc on user:arch=*, executed per event that the program runs"
in_out "         1 *"
in_out "    0.0156 *"
in_out "         0 *"
in_out "*instructions per event, * of them here and 0 outside (helpers, maps, the test run);"
grep -q '^;' out && die "source lines in spite of --no-source"
expect 0 "$BPFLAB" dump --counts --on user:inline_percpu=off arr-inc
in_out "; inc.bpf.c:*: *"
in_out "outside:"
grep -q "^ *[1-9][0-9]*  [a-z_]*lookup[a-z_]*$" out || die "no helper by its name: $(cat out)"
in_out "*instructions per event, * of them here and 1[0-9]* outside *"

usage_error "--counts goes without --xlated: machine code is executed" dump --counts --xlated arr-inc
usage_error "--counts goes without --diff: *" dump --counts --diff user user:jit=off arr-inc
usage_error "*names 2 benches; one is dumped at a time" dump --counts "$OBJECTS/straight.bpf.o"
usage_error "count-local on user has no program whose code could be shown" dump --counts count-local
usage_error "*" dump --counts --on user:jit=off arr-inc
