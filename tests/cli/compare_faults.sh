# SPDX-License-Identifier: BSD-2-Clause
# A bench that fails its checks has no verdict; the exit status says so.
export BPFLAB_FAULT=drop-event
expect 2 "$BPFLAB" compare "$TARGET" "$TARGET" arr-inc -w 0 --quads 6
in_err "bpflab: arr-inc on $TARGET: the program executed * events of * asked for"
[ ! -s out ] || die "figures of a bench that failed: $(cat out)"
export BPFLAB_FAULT=lose-update
expect 2 "$BPFLAB" compare "$TARGET" "$TARGET" arr-inc -w 0 --quads 6
in_err "bpflab: arr-inc on $TARGET: its counters hold *"
