# SPDX-License-Identifier: BSD-2-Clause
# The trigger benches: the attached program sees every call, whoever else is attached in the same run.
names="trig-kernel-count trig-fentry trig-fexit trig-kprobe trig-kretprobe trig-kprobe-multi \
	trig-kretprobe-multi trig-fmodret trig-rawtp trig-tp"
expect 0 quick $names trig-usermode-count trig-syscall-count --json r.json
json r.json "len(r) == 12 and all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"

# Ten thousand other functions have a program, too; it is not run.
expect 0 quick trig-kprobe-multi-all trig-kretprobe-multi-all --json r.json
json r.json "len(r) == 2 and all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"
json r.json "all(' other functions had a program' in x['note'] and int(x['note'].split()[0]) >= 10000 for x in r)"

# What a thread does anyway, with a program on it.
expect 0 quick rename-base rename-kprobe rename-kretprobe rename-rawtp rename-fentry rename-fexit \
	--json r.json
json r.json "len(r) == 6 and all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"

# Two producers call the function at the same time.
expect 0 quick -p 2 trig-fexit trig-kretprobe --json r.json
json r.json "len(r) == 2 and all(x['events']['counted'] == x['events']['expected'] > 0 for x in r)"

# The counters of the attached program are what is compared.
expect 2 env BPFLAB_FAULT=lose-update "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 \
	trig-fentry
in_err "bpflab: trig-fentry on $TARGET: its counters hold * events of * executed"

expect 0 "$BPFLAB" run --on "$TARGET" -q --classic -d 1 -w 0 trig-fexit
in_out "Summary: hits *"

# A kernel that refuses says so in one line; one that does not measures.
if have host; then
	status=0
	"$BPFLAB" run --on host -q -w 0 -d 0.05 --rounds 8 trig-fentry >out 2>err || status=$?
	[ $status = 0 ] || one_line_error "cannot *'trig-fentry' on host: *--on user"
fi
