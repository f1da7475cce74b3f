#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The other machine of bpfu-diff: what it answers counts, and what it does instead of answering too.
#
# usage: with.sh BPFU-DIFF
set -u

# Servers of the tests below: one stops after the greeting, one never answers, one changes the last byte
# of all that follows it, which belongs to a map.
if [ "$1" = --dying ]; then
	exec perl -MPOSIX=_exit -e 'open(my $s, "-|", @ARGV); sysread($s, my $b, 65536);
		syswrite(STDOUT, $b); _exit(3)' "$2" --serve
elif [ "$1" = --sleeping ]; then
	"$2" --serve </dev/null
	exec sleep 600
elif [ "$1" = --liar ]; then
	"$2" --serve | perl -e '$| = 1; my $n = 0;
		while (sysread(STDIN, my $b, 65536)) { substr($b, -1) ^= "@" if $n++; syswrite(STDOUT, $b) }'
	exit
fi
self=$(realpath "$0")
diff=$1
failures=0

# run NAME STATUS PATTERN COMMAND ARGUMENT…: with COMMAND as the other machine
run() {
	local out status
	out=$("$diff" --count 40 --no-kernel --default-options --with "$4" "${@:5}" 2>&1)
	status=$?
	if [ $status -ne "$2" ] || ! grep -q -- "$3" <<<"$out"; then
		echo "not ok $1: status $status, wanted $2 and '$3' in:"
		tail -n 5 <<<"$out"
		failures=$((failures + 1))
	else
		echo "ok $1"
	fi
}

run "a server of the same build" 0 "40 run on all sides" "$diff"
run "one that answers something else" 1 "results differ: jit and the other machine's jit" "$self --liar $diff"
run "one that ends" 1 "the other machine: exit status 3" "$self --dying $diff"
run "one that hangs" 1 "FAIL seed 0x1: hangs" "$self --sleeping $diff" --limit 1
run "no server" 1 "does not answer as bpfu-diff --serve does" "echo hello #"

# A server gives up by itself, too: here on a request of 257 bytes that never come.
dir=$(mktemp -d) && mkfifo "$dir/pipe" && exec 3<>"$dir/pipe" && rm -r "$dir"
printf '\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >&3
"$diff" --serve --limit 1 <&3 >/dev/null
if [ $? -eq $((128 + 14)) ]; then
	echo "ok a server that takes too long"
else
	echo "not ok a server that takes too long: it was not ended by SIGALRM"
	failures=$((failures + 1))
fi
exit $((failures > 0))
