# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" doctor
in_out "Targets"
in_out "*user:jit=on *"
in_out "*host *"
for name in unprivileged_bpf_disabled capabilities RLIMIT_MEMLOCK bpf_jit_enable membarrier \
	"executable memory" governor turbo SMT "steal time" load bpf_stats_enabled bpf_jit_harden \
	clocksource "virtual machine" "debug kernel" "huge pages" "code of user:jit=on" PMU; do
	in_out "*$name *"
done
for t in $HAVE; do in_out "*ok *$t*works"; done
usage_error "doctor takes no names, and got 'x'" doctor x
expect 0 "$BPFLAB" doctor --json
tr -d '\n' <out >d.json
json d.json "r[0]['schema'] == 'bpflab.doctor/1' and len(r[0]['targets']) == 4"
json d.json "all(f['level'] in ('ok', 'note', 'warning', 'failed') and f['value'] for k in ('targets', 'needs', 'distortions') for f in r[0][k])"
json d.json "r[0]['env']['kernel']"
# It says what it finds, not what it hopes for: a limit that was lowered shows.
(ulimit -l 64 && "$BPFLAB" doctor | grep -q 'RLIMIT_MEMLOCK  *64 KiB') || die "the limit does not show"
# So it is with huge pages: what is set, and what the mapping of code is made of.
set_to=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null) &&
	json d.json "r[0]['env']['thp'] == '$set_to'"
expect 0 "$BPFLAB" doctor
size=$(sed -n "s/.*code of user:jit=on  *\([0-9]*\) KiB of memory for code, .*/\1/p" out)
[ "$size" -ge 500 ] || die "half a megabyte of code does not show: $(cat out)"
