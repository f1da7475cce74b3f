#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The plugin against windows of known length, in a program and with QEMU of this architecture or the
# other.
#
# usage: marks.sh PLUGIN PROGRAM|SOURCE ARCH [COMPILER INCLUDE]
set -u
plugin=$1 program=$2 arch=$3
qemu=qemu-$arch
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

die() {
	echo "$*"
	exit 1
}

command -v "$qemu" >/dev/null || {
	echo "no $qemu (Debian: qemu-user)"
	exit 77
}
if [ $# -gt 3 ]; then
	command -v "$4" >/dev/null || {
		echo "no $4"
		exit 77
	}
	"$4" -O2 -static -I"$5" "$2" -o "$scratch/marks" || die "cannot compile $2"
	program=$scratch/marks
fi
"$qemu" --help | grep -q -- -plugin || {
	echo "$qemu has no plugins"
	exit 77
}

count() { # [OPTIONS] -- [ARGUMENT]
	rm -f "$scratch/out"
	options=$plugin,out=$scratch/out
	[ "$1" = -- ] || {
		options=$options,$1
		shift
	}
	shift
	"$qemu" -plugin "$options" "$program" "$@" >"$scratch/want" || die "$qemu: exit status $?"
}

windows() {
	grep '^w ' "$scratch/out" | cut -d' ' -f3 | tr '\n' ' ' | sed 's/ $//'
}

for i in 1 2 3; do
	count --
	[ "$(windows)" = "$(cat "$scratch/want")" ] || die "run $i: $(windows), not $(cat "$scratch/want")"
	grep -qx "q 4" "$scratch/out" || die "run $i: no end: $(cat "$scratch/out")"
done

# The profile of a window is its count again, by address.
count profile=on --
sums=$(awk '$1 == "w" { if (n++) printf "%d ", sum; sum = 0 } $1 == "p" { sum += $3 }
	END { printf "%d", sum }' "$scratch/out")
[ "$sums" = "$(cat "$scratch/want")" ] || die "profiles: $sums, not $(cat "$scratch/want")"
# the body of the loop: three instructions, ten times each
[ "$(grep -c ' 10$' "$scratch/out")" = 3 ] || die "loop: $(cat "$scratch/out")"

# Instrumented late the windows are the same, by address as well; without the mark there are none.
profile=$(grep '^[wp] ' "$scratch/out" | sort)
count profile=on,from=ready --
[ "$(windows)" = "$(cat "$scratch/want")" ] || die "from=ready: $(windows), not $(cat "$scratch/want")"
[ "$(grep '^[wp] ' "$scratch/out" | sort)" = "$profile" ] || die "from=ready: another profile: $(cat "$scratch/out")"
grep -qx "q 4" "$scratch/out" || die "from=ready: no end: $(cat "$scratch/out")"
count from=ready -- unready
grep -q '^e a window begins before the mark that all is ready' "$scratch/out" || die "unready: $(cat "$scratch/out")"
count -- unready
[ "$(windows)" = "$(cat "$scratch/want")" ] || die "unready: $(windows), not $(cat "$scratch/want")"

# Marks out of order are no windows.
count -- nested
grep -q '^e a window begins in another' "$scratch/out" || die "nested: $(cat "$scratch/out")"
count -- late
grep -q '^e a window ends that did not begin' "$scratch/out" || die "late: $(cat "$scratch/out")"

# Arguments that it does not know are refused, by name.
"$qemu" -plugin "$plugin,ouf=x" "$program" >"$scratch/o" 2>"$scratch/e" && die "ouf= is taken"
grep -q "bpflab-count: no argument 'ouf=x'" "$scratch/e" || die "ouf=: $(cat "$scratch/e")"
exit 0
