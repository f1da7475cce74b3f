# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the command-line tests; see run.sh.

# A short run of what the arguments say, on one target.
quick() {
	"$BPFLAB" run --on "$TARGET" -q -w 0 -d 0.05 --rounds 8 "$@"
}

have() {
	case " $HAVE " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

skip() {
	echo "$*"
	exit 77
}

die() {
	echo "$*" >&2
	exit 1
}

# expect STATUS COMMAND...: its standard output is in ./out, its standard error in ./err.
expect() {
	local want=$1 status=0
	shift
	"$@" >out 2>err || status=$?
	[ $status = "$want" ] || die "exit status $status, not $want: $* ($(cat err))"
}

# compared COMMAND...: a comparison. Its control is wrong in 1 % by design, and then the status is 4.
compared() {
	local status=0
	"$@" >out 2>err || status=$?
	[ $status = 0 ] || [ $status = 4 ] || die "exit status $status: $* ($(cat err))"
}

# in_out PATTERN, in_err PATTERN: some line of ./out or ./err matches the shell pattern.
in_file() {
	local line
	while IFS= read -r line; do
		# shellcheck disable=SC2053
		[[ $line == $2 ]] && return 0
	done <"$1"
	die "no line of '$1' matches: $2 (it has: $(cat "$1"))"
}
in_out() { in_file out "$1"; }
in_err() { in_file err "$1"; }

# One line, and no more, on standard error.
one_line_error() {
	[ "$(wc -l <err)" = 1 ] || die "not one line: $(cat err)"
	in_err "bpflab: $1"
	[ ! -s out ] || die "standard output: $(cat out)"
}

# usage_error PATTERN ARGUMENT...: bpflab ARGUMENT... exits 1 with one such line.
usage_error() {
	local pattern=$1
	shift
	expect 1 "$BPFLAB" "$@"
	one_line_error "$pattern"
}

# json FILE EXPRESSION: a Python expression; r is the list of the objects in FILE, one a line, and
# exit is by the truth of the expression.
json() {
	python3 - "$1" "$2" <<'PY' || die "not so in $1: $2"
import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(not eval(sys.argv[2]))
PY
}
