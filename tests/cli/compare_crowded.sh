# SPDX-License-Identifier: BSD-2-Clause
# More producers than CPUs: quads are disturbed, batches are shortened, and there are as many quads as asked for.
for i in 1 2 3 4; do
	expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" arr-inc --quads 6 -p 8 -w 0 -q --no-control --json c$i.json
	json c$i.json "r[0]['quads'] >= 6 and r[0]['looks'] == [r[0]['quads']]"
	json c$i.json "r[0]['a']['ns_per_event'] > 0 and r[0]['b']['ns_per_event'] > 0"
done
# nor are they left out, with nothing to show, when the time is up
for seconds in 0.02 0.1 0.3; do
	expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" arr-inc -d $seconds -p 8 -w 0 -q --no-control --json c.json
	json c.json "2 * r[0]['quads_disturbed'] <= r[0]['quads_measured'] or r[0]['quads'] == r[0]['quads_measured']"
done
