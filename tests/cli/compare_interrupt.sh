# SPDX-License-Identifier: BSD-2-Clause
# Interrupted: the status says by what, and nothing is left behind.
status=0
timeout --preserve-status -s INT 1 "$BPFLAB" compare "$TARGET" "$TARGET" count-local --quads 1000000 \
	--json c.json --csv c.csv >out 2>err || status=$?
[ $status = 130 ] || die "status $status: $(cat err)"
[ ! -s out ] || die "printed: $(cat out)"
status=0
timeout --preserve-status -s TERM 1 "$BPFLAB" noise --on "$TARGET" -d 60 >out 2>err || status=$?
[ $status = 143 ] || die "status $status: $(cat err)"
[ "$(ls -A | tr '\n' ' ')" = ".stderr .stdout err out " ] || die "left behind: $(ls -A)"
