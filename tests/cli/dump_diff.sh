# SPDX-License-Identifier: BSD-2-Clause
# what a switch changes in the code, and the difference of two objects
have user || skip "user does not work here"
expect 0 "$BPFLAB" dump --diff user:inline_loop=off user bpf-loop
in_out "- A: bpf_loop_driver on user:inline_loop=off, xlated"
in_out "+ B: bpf_loop_driver on user, xlated"
in_out "-*call bpf_loop#181"
in_out "+*call empty_callback"
in_out "empty_callback: the same"
in_out "functions * 3 * 3 * +0"
in_out "call * 3 * 3 * +0"
expect 0 "$BPFLAB" dump --diff user:inline_helpers=off user kptr-xchg
in_out "-*call bpf_kptr_xchg#194"
in_out "+*r0 = r2"
in_out "+*r0 = atomic64_xchg((u64 \*)(r1 +0), r0)"
for form in --xlated --jited; do
	"$BPFLAB" dump $form --json --diff user:inline_percpu=off user arr-inc >d.json
	json d.json "r[0]['schema'] == 'bpflab.dump-diff/1' and r[0]['summary']['call']['a'] == r[0]['summary']['call']['b'] + 2"
	json d.json "r[0]['summary']['same'] == sum(i['in'] == 'both' for f in r[0]['functions'] for i in f['instructions'])"
	# the same code is the same, wherever it lies
	"$BPFLAB" dump $form --json --diff user user:inline_loop=on arr-inc >d.json
	json d.json "r[0]['summary']['only_a'] == r[0]['summary']['only_b'] == 0 < r[0]['summary']['same']"
done
# both sides of a difference are the listings
"$BPFLAB" dump --json --diff user:inline_loop=off user bpf-loop >d.json
for side in "a user:inline_loop=off" "b user"; do
	set -- $side
	"$BPFLAB" dump --json --on "$2" bpf-loop >>d.json
done
json d.json "all([i[s + '_offset'] for f in r[0]['functions'] for i in f['instructions'] if i['in'] in (s, 'both')] == [i['offset'] for f in r[n]['functions'] for i in f['instructions']] for n, s in ((1, 'a'), (2, 'b')))"
# two files: programs of the same name, or two named ones
expect 0 "$BPFLAB" dump --diff "$OBJECTS/types.bpf.o" "$OBJECTS/types.bpf.o" my_tc
in_out "5 instructions the same, 0 only in A, 0 only in B"
expect 0 "$BPFLAB" dump --diff "$OBJECTS/types.bpf.o:my_tc" "$OBJECTS/types.bpf.o:my_raw_tp"
in_out "instructions * 5 * 2 * -3"
expect 0 "$BPFLAB" dump --jited --arch arm64 --diff "$OBJECTS/types.bpf.o" "$OBJECTS/types.bpf.o"
