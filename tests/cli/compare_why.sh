# SPDX-License-Identifier: BSD-2-Clause
# What differs in the code is under the verdict, in the result and on the page; nothing without --why.
have user || skip "needs two variants of user"
side() { "$BPFLAB" compare user:inline_percpu=off user:inline_percpu=on glob-arr-inc --quads 6 --loads 2 -w 0 --no-control "$@"; }
expect 0 side --why --json r.json
in_out "What differs in glob-arr-inc:"
in_out "instructions *"
in_out "ns an event; *"
in_out "*helper      bpf_get_smp_processor_id*"
! grep -q "perf_event on" out || in_out "* *  *  [-+]*task-clock (ns)"
grep -q "^+ .*fs:\|^+ .*mrs\|^[+].*per CPU" out || in_out "+ *"
json r.json "'instructions' in r[0]['why']['Difference of the code']"
expect 0 "$BPFLAB" report r.json -o page.html
grep -q "<summary>Difference of the code</summary>" page.html || die "not on the page"
expect 0 side --json plain.json
grep -q "What differs" out && die "--why was not asked for"
json plain.json "'why' not in r[0]"
# the same code differs in nothing; without machine code it is BPF instructions
expect 0 "$BPFLAB" compare user:jit=off user:jit=off arr-inc --quads 6 --loads 1 -w 0 --no-control --why
in_out "*, xlated"
in_out "* 0 only in A, 0 only in B"
# a bench without a program
expect 0 "$BPFLAB" compare user user count-local --quads 6 --loads 1 -w 0 --no-control --why
in_out "no program: nothing to show"
usage_error "*--why*" compare r.json plain.json --why
