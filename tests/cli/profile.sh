# SPDX-License-Identifier: BSD-2-Clause
# profile: shares add up, code has its kind, and the samplers agree on where the time goes.
for sampler in timer perf; do
	status=0
	BPFLAB_SAMPLER=$sampler "$BPFLAB" profile --on "$TARGET" -d 1 --json trig-fexit >r.json 2>err ||
		status=$?
	if [ $status != 0 ] && [ $sampler = perf ]; then # refused here
		one_line_error "perf_event_open: *"
		continue
	fi
	[ $status = 0 ] || die "profile: exit $status"
	json r.json "r[0]['schema'] == 'bpflab.profile/1' and r[0]['bench'] == 'trig-fexit'"
	json r.json "r[0]['samples'] == sum(x['samples'] for x in r[0]['rows']) > 20"
	json r.json "abs(sum(x['share'] for x in r[0]['rows']) - 1) < 1e-6"
	json r.json "all(x['ci95'][0] <= x['share'] <= x['ci95'][1] for x in r[0]['rows'])"
	json r.json "{x['kind']: 1 for x in r[0]['rows']}.keys() >= {'program', 'trampoline'}"
	json r.json "any(x['symbol'] == 'trampoline of bpf_get_numa_node_id' for x in r[0]['rows'])"
	json r.json "any(x['symbol'] == 'trigger_fexit' for x in r[0]['rows'])"
	# the clock of the counters and ours tell the same, as far as other batches do
	[ $sampler = timer ] || json r.json "0.4 < r[0]['counters']['task-clock']['per_event'] / r[0]['ns_per_event'] < 2.5"
	json r.json "r[0]['no_pmu'] or r[0]['counters']['instructions']['per_event'] > 10"
done

expect 0 "$BPFLAB" profile --on "$TARGET" -d 0.3 glob-arr-inc
in_out "glob-arr-inc on $TARGET: * ns an event, *"
in_out "*subprogram  glob_arr_inc_chunk*"
grep -q "task-clock" r.json && in_out "* task-clock (ns)"

# an object a line, and no line without one
expect 0 "$BPFLAB" profile --on "$TARGET" -d 0.3 --json glob-arr-inc arr-inc
json out "[x['bench'] for x in r] == ['glob-arr-inc', 'arr-inc']"

usage_error "profile takes a bench, *" profile
usage_error "no bench 'arr-in'; did you mean 'arr-inc'?*" profile arr-in
usage_error "--diff names the targets; leave --on out" profile --diff user host --on user arr-inc
usage_error "times of a vm are an emulator's: *" profile --on vm:6.12 --on "$TARGET" arr-inc
usage_error "profile runs one producer, *" profile -p 2 arr-inc
usage_error "profile runs one producer, *" profile --on "$TARGET" --sweep producers=1,2 arr-inc
export BPFLAB_SAMPLER=x
usage_error "BPFLAB_SAMPLER: 'x' is not perf or timer" profile -d 0.3 --on "$TARGET" arr-inc
