# SPDX-License-Identifier: BSD-2-Clause
# Every kernel computes what is expected of it, in every form; and wrong results are found out.
for t in $HAVE native native:vec=off; do
	expect 0 "$BPFLAB" run --on $t -q -w 0 -d 0.01 --rounds 1 'jit-*'
	[ "$(grep -c '^jit-' out)" = 17 ] || die "not 17 figures on $t: $(cat out)"
done
if have user; then
	for b in jit-fnv jit-parse jit-sort; do
		expect 0 "$BPFLAB" run --on user:jit=off -q -w 0 -d 0.01 --rounds 1 $b
	done
fi
expect 2 env BPFLAB_FAULT=wrong-result "$BPFLAB" run --on "$TARGET" --on native -q -w 0 -d 0.05 jit-fnv \
	count-global
in_err "bpflab: jit-fnv on $TARGET: its result is 0x*, not 0x* as expected"
in_err "bpflab: jit-fnv on native: its result is 0x*, not 0x* as expected"
grep -q jit-fnv out && die "a figure all the same: $(cat out)"
in_out "count-global *"
expect 2 env BPFLAB_FAULT=wrong-result "$BPFLAB" compare "$TARGET" native --quads 12 --loads 1 -q jit-fnv
in_err "bpflab: jit-fnv*"

# so are runs that do not take place
for t in "$TARGET" native; do
	expect 2 env BPFLAB_FAULT=drop-event "$BPFLAB" run --on $t -q -w 0 -d 0.05 jit-fnv
	in_err "bpflab: jit-fnv on $t: the program executed * events of * asked for"
done
