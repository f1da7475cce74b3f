# SPDX-License-Identifier: BSD-2-Clause
# Ctrl-C in the middle: 130, and nothing is left behind.
status=0
timeout --preserve-status -s INT 1 "$BPFLAB" run --on "$TARGET" -d 60 arr-inc count-local \
	--json r.json --csv r.csv >out 2>err || status=$?
[ $status = 130 ] || die "status $status: $(cat err)"
[ ! -s out ] || die "printed: $(cat out)"
status=0
timeout --preserve-status -s TERM 1 "$BPFLAB" run --on "$TARGET" -d 60 -p 2 arr-inc >out 2>err || status=$?
[ $status = 143 ] || die "status $status: $(cat err)"
status=0
timeout --preserve-status -s INT 1 "$BPFLAB" run --on "$TARGET" --classic -q -d 60 arr-inc >out 2>err ||
	status=$?
[ $status = 130 ] || die "status $status: $(cat err)"
[ "$(ls -A | tr '\n' ' ')" = ".stderr .stdout err out " ] || die "left behind: $(ls -A)"
