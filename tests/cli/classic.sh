# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" run --classic --on "$TARGET" arr-inc -d 2 -w 1
in_out "Setting up benchmark 'arr-inc'..."
in_out "Benchmark 'arr-inc' started."
[ "$(grep -c '^Iter ' out)" = 3 ] || die "$(cat out)"
in_out "Iter   0 (*us): hits *M/s (*M/prod), drops    0.000M/s, total operations *M/s"
in_out "Summary: hits *M/s (*M/prod), drops    0.000 ? 0.000M/s, total operations *M/s"
# -q leaves the summary; bpf-loop has the kernel's other one; -w 0 has no interval to leave out
expect 0 "$BPFLAB" run --classic --on "$TARGET" bpf-loop -d 1 -w 0 -q -p 2
[ "$(wc -l <out)" = 1 ] || die "$(cat out)"
in_out "Summary: throughput * M ops/s (*M ops/prod), latency * ns/op"
# with several benches each is named
expect 0 "$BPFLAB" run --classic --on "$TARGET" count-global count-local -d 1 -w 0 -q
in_out "count-global on $TARGET:"
in_out "count-local on $TARGET:"
