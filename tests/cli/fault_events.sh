# SPDX-License-Identifier: BSD-2-Clause
# A program that executes less than it was asked for is found out, in every bench and mode.
for bench in count-global bpf-loop bpf-loop-direct glob-arr-inc arr-inc hash-inc skel-load; do
	expect 2 env BPFLAB_FAULT=drop-event "$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 $bench
	in_err "bpflab: $bench on $TARGET: the program executed * events of * asked for"
	[ ! -s out ] || die "a result all the same: $(cat out)"
done
expect 2 env BPFLAB_FAULT=drop-event "$BPFLAB" run --on "$TARGET" --classic -q -w 0 -d 1 arr-inc
in_err "bpflab: arr-inc on $TARGET: the program executed * events of * asked for"
# with nothing left to measure it does not wait for the end of the run
expect 2 env BPFLAB_FAULT=drop-event timeout 60 "$BPFLAB" run --on "$TARGET" -q -w 0 -d 3600 arr-inc
