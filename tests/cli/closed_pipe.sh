# SPDX-License-Identifier: BSD-2-Clause
# A reader that goes away: an error, not a death by signal or a hang.
("$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 '*' --json - 2>err || echo $? >status) | true
[ "$(cat status)" = 1 ] || die "status $(cat status)"
in_err "bpflab: cannot write standard output: Broken pipe"
# None from the start: what is printed must not end up in a file that got its number.
for command in "list" "run --on $TARGET -q -w 0 -d 0.05 --rounds 8 arr-inc" "dump arr-inc" "doctor"; do
	status=0
	# shellcheck disable=SC2086
	"$BPFLAB" $command >&- 2>err || status=$?
	[ $status = 1 ] || die "status $status without standard output: $command"
	in_err "bpflab: cannot write standard output: Bad file descriptor"
done
expect 0 quick arr-inc --json r.json
quick arr-inc --json r.json >/dev/null <&- 2>&-
json r.json "len(r) == 1"
