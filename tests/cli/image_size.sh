# SPDX-License-Identifier: BSD-2-Clause
# no program of the benches takes more bytes of machine code than what the running kernel makes of it
have host || skip "host does not work here"

# bytes TARGET BENCH: of all its functions
bytes() {
	expect 0 "$BPFLAB" dump --on "$1" --jited --no-source "$2"
	sed -n '1s/.*, \([0-9]*\) bytes, .*/\1/p' out
}

if ! "$BPFLAB" dump --on host --jited jit-fnv >out 2>err; then
	skip "the kernel does not show its machine code: $(cat err)"
fi
# Those that come closest; lib/jit/x86_64/README.md has them all.
benches="jit-sort jit-divmod jit-fsm jit-csum jit-memcpy jit-sieve private-stack"
larger=
printf '%-16s %6s %6s\n' bench user host
for bench in $benches; do
	user=$(bytes user "$bench") host=$(bytes host "$bench")
	printf '%-16s %6d %6d\n' "$bench" "$user" "$host"
	[ "$user" -gt 0 ] && [ "$host" -gt 0 ] || die "no size of $bench"
	[ "$user" -le "$host" ] || larger="$larger $bench"
done
[ -z "$larger" ] || die "larger than the kernel's:$larger"
