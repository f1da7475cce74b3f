# SPDX-License-Identifier: BSD-2-Clause
[ -c /dev/full ] || skip "no /dev/full"
expect 1 quick arr-inc --json /dev/full
in_err "bpflab: cannot write '/dev/full': No space left on device"
[ -c /dev/full ] || die "/dev/full was replaced"
expect 1 quick arr-inc --csv /dev/full
in_err "bpflab: cannot write '/dev/full': No space left on device"
for form in markdown text benchfmt; do
	expect 1 quick arr-inc --$form /dev/full
	in_err "bpflab: cannot write '/dev/full': No space left on device"
done
quick arr-inc --json r.json
for arguments in "compare r.json r.json" "report r.json -o -" "report r.json --csv -" \
	"history add r.json --db h.db" "history show --db h.db" "history show --json - --db h.db" \
	"history prune --keep 1 --db h.db"; do
	status=0
	# shellcheck disable=SC2086
	"$BPFLAB" $arguments >/dev/full 2>err || status=$?
	[ $status = 1 ] || die "status $status with '$arguments'"
	in_err "bpflab: cannot write standard output: No space left on device"
done
for view in "" "--json -" "--csv -" "--markdown -" "--text -" "--benchfmt -"; do
	status=0
	# shellcheck disable=SC2086
	quick arr-inc $view >/dev/full 2>err || status=$?
	[ $status = 1 ] || die "status $status with '$view'"
	in_err "bpflab: cannot write standard output: No space left on device"
done
for command in list doctor "doctor --json" "list --json" --help --version; do
	status=0
	# shellcheck disable=SC2086
	"$BPFLAB" $command >/dev/full 2>err || status=$?
	[ $status = 1 ] || die "status $status with '$command'"
done
