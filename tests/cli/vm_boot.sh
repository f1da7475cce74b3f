# SPDX-License-Identifier: BSD-2-Clause
# end to end: the newest x86-64 kernel of the store boots, runs a bench and a program, and is gone
[ -e "$(dirname "$BPFLAB")/bpflab-guest-x86_64" ] || skip "no bpflab-guest-x86_64 was built"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (Debian: qemu-system-x86)"
expect 0 "$BPFLAB" kernel list --json
kernel=$(python3 -c 'import json; print(([k["name"] for k in json.load(open("out")) if k["arch"] == "x86_64"] or [""])[-1])')
[ -n "$kernel" ] || skip "no kernel is here (bpflab kernel fetch 6.12)"

expect 0 timeout 110 "$BPFLAB" run arr-inc --on "vm:$kernel" -d 0.3 -w 0 --rounds 8 --json r.json
in_out "EMULATED ns/event*"
in_out "arr-inc * [0-9]*"
json r.json "len(r) == 1 and r[0]['target'] == 'vm:$kernel' and r[0]['emulated'] is True"
json r.json "r[0]['command'].startswith('bpflab run arr-inc --on vm:$kernel -d 0.3')" # not the one of the inside
json r.json "r[0]['events']['expected'] == r[0]['events']['counted'] == r[0]['events']['left_behind'] > 0"
json r.json "r[0]['vm']['release'] == r[0]['env']['kernel'] and r[0]['vm']['kernel'] == '$kernel'"
expect 0 "$BPFLAB" report r.json --markdown -
in_out "*emulated*"

# instructions are the same in each boot; a program on a function is dearer than a loop's step
expect 0 timeout 240 "$BPFLAB" run bpf-loop trig-fentry --on "vm:$kernel" --count=insns --runs 2 --symbols --json c.json
json c.json "[x['bench'] for x in r] == ['bpf-loop', 'trig-fentry']"
json c.json "all(x['exact'] and x['runs_equal'] == 2 and x['emulator']['program'] == 'qemu-system-x86_64' for x in r)"
json c.json "5 < r[0]['estimate'] < 60 < r[1]['estimate'] < 600"
# … and all that other random numbers and a busy machine could change is the same in every window
json c.json "all(len({w['insns'] for w in x['windows'] if (w['arm'], w['size']) == ('full', 'N/8')}) == 1 for x in r)"
# the functions are those that are executed, and add up to the figure
in_out "* bpf_trampoline"
json c.json "all(abs(sum(f['insns'][0] / f['insns'][1] for f in x['functions']) - x['estimate']) < 1e-6 for x in r)"
json c.json "{'bpf_trampoline', 'bpf_prog_trigger_fentry'} < {f['name'] for f in r[1]['functions']}"
json c.json "'bpf_trampoline' not in {f['name'] for f in r[0]['functions']}"
# what a switch of the kernel costs, and in which function
expect 0 timeout 240 "$BPFLAB" compare "vm:$kernel" "vm:$kernel,cmdline=randomize_kstack_offset=on" \
	trig-syscall-count --count=insns --runs 1 --why --json w.json
in_out "trig-syscall-count: * instructions more per event on B, *"
in_out "*+* * do_syscall_64"
json w.json "r[0]['verdict'] == 'more' and all(r[0][k]['functions'] for k in 'ab')"
usage_error "target 'vm:$kernel,smp=2': instructions are counted on one CPU; leave smp= out" \
	run bpf-loop --count=insns --on "vm:$kernel,smp=2"
usage_error "cannot open 'x.bpf.o': *" run x.bpf.o --count=insns --on "vm:$kernel"

# a program's output and status are ours
cat >prog.c <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	FILE *f = fopen("/bpflab/files/data", "r");
	int c = f ? getc(f) : '?';

	printf("%s %c\n", argv[1], c);
	fprintf(stderr, "to err\n");
	return 7;
}
C
cc -static -o prog prog.c 2>/dev/null || skip "the bench ran; no static libc for the rest"
echo x >f
expect 7 timeout 110 "$BPFLAB" kernel exec "$kernel" --file f=data -- ./prog "a b"
[ "$(cat out)" = "a b x" ] || die "output: $(cat out)"
in_err "to err"

# a program beside instances; what the kernel's programs take of memory is seen, and told as a bench's note
cat >work.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status = 1;

	if (argc < 2)
		return 0;
	if (!fork())
		execl("/bpflab/files/work", "work", (char *)0);
	wait(&status);
	return status || argv[1][0] != 'x';
}
C
cc -static -o work work.c
expect 0 timeout 200 "$BPFLAB" run prog-pack --instances 2 --rounds 2 --on "vm:$kernel" --json b.json -- ./work x
in_out "EMULATED seconds*"
in_out "vm:$kernel  *2 *"
json b.json "[(x['schema'], x['target'], x['emulated'], x['instances'], len(x['runs'])) for x in r] == [('bpflab.beside/1', 'vm:$kernel', True, 2, 2)]"
json b.json "r[0]['command'] == ['work', 'x'] and r[0]['events'] > 0 and r[0]['code_bytes'] >= 4096"
expect 1 timeout 200 "$BPFLAB" run prog-pack --instances 1 --rounds 1 --on "vm:$kernel" -- ./work y
in_err "bpflab: vm:$kernel: 'work' failed with exit status 1: *"
[ ! -s out ] || die "a failed run has results"
expect 0 timeout 200 "$BPFLAB" run prog-pack --programs 100 --on "vm:$kernel" -d 0.2 -w 0 --rounds 8
in_out "prog-pack/programs=100 on vm:$kernel: 100 programs of *code memory *"
