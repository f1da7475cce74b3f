# SPDX-License-Identifier: BSD-2-Clause
# Instructions are counted: the same number in every run, and the one that the code says.
have user || skip "no user target"
command -v qemu-"$(uname -m)" >/dev/null || skip "no qemu-$(uname -m) (Debian: qemu-user)"

# Programs without branches take as many instructions more as their code is longer.
insns() {
	"$BPFLAB" dump --jited --json --on user "$OBJECTS/straight.bpf.o" "$1" >d.json
	python3 -c 'import json; print(sum(len(f["instructions"])
		for f in json.load(open("d.json"))["functions"]))'
}
more=$(($(insns longer) - $(insns shorter)))
[ $more -gt 0 ] || die "the code of both is of the same length"
expect 0 "$BPFLAB" run "$OBJECTS/straight.bpf.o" --count=insns --runs 2 --json r.json
json r.json "{x['bench']: x['fraction'][0] / x['fraction'][1] for x in r} == {'straight.bpf.o:' + n: v
	for n, v in zip(('shorter', 'longer'), (r[0]['estimate'], r[0]['estimate'] + $more))}"
json r.json "all(x['schema'] == 'bpflab.count/1' and x['unit'] == 'insns/event' and x['emulated'] and
	x['exact'] and x['linear'] and x['runs'] == x['runs_equal'] == 2 and x['fraction'][1] == 1 for x in r)"
json r.json "all(w['insns'] > 0 and w['events'] == w['ops'] for x in r for w in x['windows'] if w['arm'] == 'full')"
in_out "straight.bpf.o:longer *user:arch=*2 of 2"

# Ten processes agree, and others with other targets; options change what they should.
expect 0 "$BPFLAB" run arr-inc --count=insns --json one.json
json one.json "all(x['exact'] and x['runs_equal'] == 10 for x in r)"
expect 0 "$BPFLAB" run arr-inc --count=insns --runs 1 --on user --on user:jit=off --json two.json
json two.json "r[0]['fraction'] == $(python3 -c 'import json
print([json.loads(l) for l in open("one.json")][0]["fraction"])') and r[1]['estimate'] > 10 * r[0]['estimate']"

# A comparison is exact, in both directions, and a gate.
expect 0 "$BPFLAB" compare user:inline_percpu=off user:inline_percpu=on arr-inc --count=insns --runs 1 \
	--fail-above 0 --json c.json
in_out "arr-inc: * instructions fewer per event on B, exactly (*, *); 1 of 1 runs equal."
json c.json "r[0]['verdict'] == 'fewer' and r[0]['difference'][0] < 0"
expect 3 "$BPFLAB" compare user:inline_percpu=on user:inline_percpu=off arr-inc --count=insns --runs 1 \
	--fail-above 5 --csv -
in_out "\"arr-inc\",*,more,1,1,1,1"
expect 0 "$BPFLAB" compare user user arr-inc --count=insns --runs 1 -q
in_out "arr-inc: the same, exactly: * instructions per event; 1 of 1 runs equal."
expect 0 "$BPFLAB" compare "$OBJECTS/straight.bpf.o:shorter" "$OBJECTS/straight.bpf.o:longer" \
	--count=insns --runs 1 -q
in_out "*: $more instructions more per event on B, exactly (*, *); 1 of 1 runs equal."

# Stored counts are compared as well, and never with times.
expect 0 "$BPFLAB" compare one.json two.json
in_out "arr-inc: the same, exactly: *"
quick arr-inc --json time.json >/dev/null
for pair in "one.json time.json" "time.json one.json"; do
	# shellcheck disable=SC2086
	usage_error "'*.json' line 1 is *: counts and times are not mixed" compare $pair
done
usage_error "'one.json' line 1 is a count of instructions, *" report one.json
usage_error "'one.json' line 1 is a count of instructions, *" history add one.json --db x.db
[ ! -e x.db ] || rm x.db

# Functions are changed under the emulator, too: their programs run (their events are checked), at a cost.
expect 0 "$BPFLAB" run trig-fentry trig-kretprobe-multi trig-uprobe-nop --count=insns --runs 2 --json t.json
json t.json "len(r) == 3 and all(x['exact'] and 10 < x['estimate'] < 2000 for x in r)"
