# SPDX-License-Identifier: BSD-2-Clause
# Counters that do not hold what was counted are found out; other benches of the run are reported.
for bench in count-local glob-arr-inc arr-inc hash-inc kptr-xchg; do
	expect 2 env BPFLAB_FAULT=lose-update "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 \
		$bench bpf-loop --json r.json
	in_err "bpflab: $bench on $TARGET: its counters hold * events of * executed"
	json r.json "[x['bench'] for x in r] == ['bpf-loop']"
done
# nor is there a summary in the kernel's words
expect 2 env BPFLAB_FAULT=lose-update "$BPFLAB" run --on "$TARGET" --classic -w 0 -d 1 arr-inc
in_err "bpflab: arr-inc on $TARGET: its counters hold * events of * executed"
! grep Summary out || die "a figure all the same"
