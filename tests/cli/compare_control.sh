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
# stored, the control of several rows is their mean's, and has failed if that of any row has
compared "$BPFLAB" compare "$TARGET" "$TARGET" count-local arr-inc -w 0 --quads 12 --json two.json
python3 - <<'PY'
import json
r = [json.loads(line) for line in open("two.json")]
r[0]["suite"]["control"] |= {"ratio": 1.25, "ci": [1.2, 1.3]}
for name, ok in ("fine.json", True), ("failed.json", False):
    r[0]["control"]["ok"], r[1]["control"]["ok"] = True, ok
    open(name, "w").writelines(json.dumps(o) + "\n" for o in r)
PY
expect 0 "$BPFLAB" report fine.json --markdown -
in_out "*control A/A +25.0 % *+20.0, +30.0*fine*"
expect 0 "$BPFLAB" report failed.json --markdown -
in_out "*control A/A +25.0 % *+20.0, +30.0*FAILED*"
