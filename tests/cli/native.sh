# SPDX-License-Identifier: BSD-2-Clause
# Native forms run beside the target, and the ratios to them are printed.
expect 0 "$BPFLAB" run --on "$TARGET" --on native --on native:vec=off -w 0 -d 0.3 --rounds 10 \
	--json r.json jit-fnv jit-csum
in_out "time / time *$TARGET / native *$TARGET / native:vec=off*"
in_out "jit-fnv *"
in_out "geometric mean *"
json r.json "[(x['bench'], x['target'], x['variant'].get('vec')) for x in r if x['target'] == 'native'] == [('jit-fnv', 'native', 'on'), ('jit-fnv', 'native', 'off'), ('jit-csum', 'native', 'on'), ('jit-csum', 'native', 'off')]"
json r.json "all(set(x['ratios']) == ({'native', 'native:vec=off'} if x['target'] == '$TARGET' else set()) for x in r)"
json r.json "all(abs(x['ratios'][n] - x['estimate'] / y['estimate']) < 1e-6 for x in r for y in r for n in x['ratios'] if y['bench'] == x['bench'] and y['target'] == 'native' and y['variant']['vec'] == ('off' if 'off' in n else 'on') and x['ratios'][n] is not None)"
# native code is no program
json r.json "all((x['prog'] is None) == (x['target'] == 'native') for x in r)"
# ratios only with native code
expect 0 "$BPFLAB" run --on "$TARGET" -w 0 -d 0.1 --rounds 8 jit-fnv
grep -q 'time / time' out && die "ratios to nothing"

# native alone: no bpf(2), so it runs where nothing else does
expect 0 "$BPFLAB" run --on native -q -w 0 -d 0.1 --rounds 8 bpf-loop count-global jit-map
in_out "bpf-loop/nr_loops=10 *native*"

# (no control: it is wrong in 1 % by design, and then the status is another)
expect 0 "$BPFLAB" compare "$TARGET" native --quads 12 --loads 1 --no-control -q jit-crc32
in_out "jit-crc32 *"
