#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs one command-line test: run.sh BPFLAB OBJECTS TEST.sh
#
# A test is a shell script that runs in a scratch directory of its own, with lib.sh sourced and
#	$BPFLAB   the program under test
#	$OBJECTS  the folder of compiled test objects
#	$TESTS    this folder
#	$TARGET   a target that works here (user, or else host)
#	$HAVE     all that work, blank-separated
# Beside TEST.sh there may be
#	TEST.exit          the exit status it must have (default 0)
#	TEST.stdout.glob   what it must print: one shell pattern a line, "..." for any lines
#	TEST.stderr.glob
# An exit status of 77 skips the test; it prints why.
set -u

here=$(cd "$(dirname "$0")" && pwd)
BPFLAB=$(realpath "$1")
OBJECTS=$(realpath "$2")
test=$(realpath "$3")
base=${test%.sh}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# True if the lines of file $1 match the patterns of file $2.
matches() {
	local -a lines patterns
	mapfile -t lines <"$1"
	mapfile -t patterns <"$2"
	local l=0 p any=0
	for p in "${patterns[@]}"; do
		if [ "$p" = "..." ]; then
			any=1
			continue
		fi
		# shellcheck disable=SC2053
		while [ $any = 1 ] && [ $l -lt ${#lines[@]} ] && [[ ${lines[l]} != $p ]]; do
			l=$((l + 1))
		done
		# shellcheck disable=SC2053
		if [ $l -ge ${#lines[@]} ] || [[ ${lines[l]} != $p ]]; then
			echo "no line for the pattern: $p"
			return 1
		fi
		l=$((l + 1))
		any=0
	done
	[ $any = 1 ] || [ $l = ${#lines[@]} ] || {
		echo "unexpected: ${lines[l]}"
		return 1
	}
}

# Both kinds of target are tried for real; doctor is under test itself.
HAVE=
for t in user host; do
	"$BPFLAB" run --on $t -q -w 0 -d 0.01 --rounds 1 arr-inc >/dev/null 2>&1 && HAVE="$HAVE $t"
done
HAVE=${HAVE# }
if [ -z "$HAVE" ]; then
	echo "no target works here"
	exit 77
fi
TARGET=${HAVE%% *}
TESTS=$here
export BPFLAB OBJECTS TESTS TARGET HAVE

cd "$scratch" || exit 1
bash -eu -c '. "$1"; . "$2"' "$test" "$here/lib.sh" "$test" >"$scratch/.stdout" 2>"$scratch/.stderr" \
	</dev/null
status=$?
want=0
[ -f "$base.exit" ] && want=$(cat "$base.exit")

fail() {
	echo "FAILED: $*"
	echo "--- standard output"
	cat "$scratch/.stdout"
	echo "--- standard error"
	cat "$scratch/.stderr"
	exit 1
}

if [ $status = 77 ] && [ "$want" != 77 ]; then
	cat "$scratch/.stdout"
	exit 77
fi
[ $status = "$want" ] || fail "exit status $status, not $want"
for stream in stdout stderr; do
	[ -f "$base.$stream.glob" ] || continue
	why=$(matches "$scratch/.$stream" "$base.$stream.glob") || fail "$stream: $why"
done
exit 0
