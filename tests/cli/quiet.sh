# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.05 --rounds 5 count-local
in_out "*too few*"
in_out "*seed 0x*"
expect 0 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.05 --rounds 5 count-local -q
[ "$(wc -l <out)" = 2 ] || die "$(cat out)"
# no progress bar without a terminal
[ ! -s err ] || die "$(cat err)"
