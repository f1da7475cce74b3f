# SPDX-License-Identifier: BSD-2-Clause
# A command beside instances: its time, what the instances ran, and nothing left behind.
beside() {
	"$BPFLAB" run --on "$TARGET" -q prog-pack "$@"
}

expect 0 beside --instances 2 --rounds 2 --prepare 'touch prepared' --json r.json -- sh -c 'echo x >>ran'
json r.json "[(x['schema'], x['instances'], len(x['runs'])) for x in r] == [('bpflab.beside/1', 2, 2)]"
json r.json "r[0]['events'] > 0 and r[0]['seconds'] > 0 and r[0]['command'][0] == 'sh'"
[ "$(wc -l <ran)" = 2 ] || die "the command ran $(wc -l <ran) times, not 2"
[ -e prepared ] || die "--prepare was not run"

# No instances: the command alone.
expect 0 beside --instances 0 --rounds 1 --json r.json -- true
json r.json "r[0]['events'] == 0 and len(r[0]['runs']) == 1"
expect 0 beside --instances 0 --rounds 1 -- true
in_out "$TARGET * 1 *.*  -" # an interval takes two

# What cannot be measured, in one line each.
usage_error "--instances: no command after '--', as in *" run prog-pack --instances 2
usage_error "--instances: no command after '--', as in *" run prog-pack --instances 2 --
usage_error "--instances is for the bench prog-pack alone, *" run arr-inc --instances 2 -- true
usage_error "--instances: 'x' is not a whole number from 0 to 1000" run prog-pack --instances x -- true
usage_error "--instances: '1001' is not a whole number from 0 to 1000" run prog-pack --instances 1001 -- true
usage_error "--prepare is for --instances, *" run prog-pack --prepare true
expect 1 beside --instances 1 -- ./no-such-command
one_line_error "cannot run './no-such-command': no such command"
expect 1 beside --instances 1 -- sh -c 'exit 3'
one_line_error "'sh' failed with exit status 3: *"
expect 1 beside --instances 1 --prepare false -- true
one_line_error "--prepare: 'sh' failed with exit status 1: *"

# A signal ends the command, its children and the instances.
"$BPFLAB" run --on "$TARGET" -q prog-pack --instances 3 --rounds 1 -- \
	sh -c 'echo $$ >pid; sleep 987 & wait' >out 2>err &
lab=$!
for _ in $(seq 300); do
	[ -s pid ] && break
	sleep 0.1
done
[ -s pid ] || die "the command does not start"
children=$(ps -o pid= --ppid $lab)
kill -TERM $lab
status=0
wait $lab || status=$?
[ $status = 143 ] || die "not ended by the signal: $status"
for pid in $children $(cat pid); do
	kill -0 "$pid" 2>/dev/null && die "process $pid is left"
done
exit 0
