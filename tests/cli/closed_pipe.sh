# SPDX-License-Identifier: BSD-2-Clause
# A reader that goes away: an error, not a death by signal or a hang.
("$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 '*' --json - 2>err || echo $? >status) | true
[ "$(cat status)" = 1 ] || die "status $(cat status)"
in_err "bpflab: cannot write standard output: Broken pipe"
