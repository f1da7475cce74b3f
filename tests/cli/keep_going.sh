# SPDX-License-Identifier: BSD-2-Clause
# what cannot be loaded ends a run, or with --keep-going is told and left out
expect 1 "$BPFLAB" run --on user -q -w 0 -d 0.05 --rounds 8 "$OBJECTS/rejected.bpf.o" arr-inc
[ ! -s out ] || die "figures beside an error: $(cat out)"
expect 0 "$BPFLAB" run --on user -q -w 0 -d 0.05 --rounds 8 "$OBJECTS/rejected.bpf.o" arr-inc --keep-going --json r.json
in_out "arr-inc *"
in_err "bpflab: *rejected*"
json r.json "[o['schema'] for o in r] == ['bpflab.unavailable/1', 'bpflab.result/1'] and r[0]['reason']"
# a reader of results passes over it
expect 0 "$BPFLAB" report r.json --text -
in_out "*arr-inc*"
# nothing at all is an error
expect 1 "$BPFLAB" run --on user -q -w 0 -d 0.05 --rounds 8 "$OBJECTS/rejected.bpf.o" --keep-going
[ ! -s out ] || die "a table of nothing"
