# SPDX-License-Identifier: BSD-2-Clause
# A control that reads four times as much: no verdict can be trusted.
side() {
	BPFLAB_FAULT=bias-control "$BPFLAB" compare "$TARGET" "$TARGET" count-local -w 0 --quads 40 "$@"
}
expect 4 side --json c.json
in_out "count-local: no verdict can be trusted; control FAILED: *"
in_out "control A/A *FAILED *"
json c.json "r[0]['verdict'] == 'untrusted' and not r[0]['control']['ok']"
# an untrusted row is no regression, whatever it reads
expect 4 side --fail-above 0
expect 0 side --no-control
