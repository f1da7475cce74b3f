#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of bpf(2) on kernels of the store, each in a guest: those of tests/api and tests/verifier, which hold
# a kernel against what libbpfu answers, and those of tests/probe. Tests that fail on a kernel have to be
# in the table "By kernel version" of docs/differences.md, and those in it have to fail.
#
# For kernels of arm64 the tests are cross-built (scripts/build-guests); libbpfu's side of them runs in the
# guest, too, since nothing else runs it on such a kernel.
#
# usage: tests/vm/run.sh BUILD [KERNEL[,OPTION=VALUE]...]...     default: every kernel that is here
# TESTS="PATTERN" in the environment: only tests whose name matches, and only they are compared.
set -u

src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
bpflab=$build/bench/bpflab
only=${TESTS:-*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
	mapfile -t kernels < <("$bpflab" kernel list --json | python3 -c 'import json, sys
for k in json.load(sys.stdin): print(k["name"] + ("" if k["arch"] == "x86_64" else ",arch=" + k["arch"]))')
	set -- "${kernels[@]}"
fi
if [ $# -eq 0 ]; then
	echo "no kernel is here: bpflab kernel fetch 6.12" >&2
	exit 77
fi

machine_of() { # KERNEL[,OPTION=VALUE]...
	case ",$1," in
	*,arch=arm64,* | *,arch=aarch64,*) echo arm64 ;;
	*) echo x86-64 ;;
	esac
}

# ---- what is packed ----

files=() # --file PATH=NAME
pack() { # PATH [NAME]
	files+=(--file "$1=${2:-$(basename "$1")}")
}
program() { # PATH: without debug information, which is most of it
	"$strip" -o "$dir/$(basename "$1")" "$1" && pack "$dir/$(basename "$1")"
}
line() { # NAME SECONDS PROGRAM [ARG]...
	# shellcheck disable=SC2254 # a pattern is what it is
	case $1 in
	$only) echo "$*" >>"$dir/list" ;;
	esac
}

# The tests of one machine: their programs in $tests, the loader and the libraries in $1, a list of paths.
pack_tests() {
	local exe object name side sides=(kernel)
	# as tests/verifier/meson.build
	local verifier="BPFU_OPTIONS=jit=off BPFU_DIFFERENCES=/bpflab/files/differences.md"

	[ "$machine" = x86-64 ] || sides=(kernel user)
	for name in $1; do
		pack "$(realpath "$name")" "$(basename "$name")"
	done
	for exe in "$tests"/tests/api/api-*; do
		[ -f "$exe" ] && [ -x "$exe" ] || continue
		program "$exe"
		name=$(basename "$exe")
		for side in "${sides[@]}"; do
			line "$name$([ $side = kernel ] || echo "@$side")" 60 "$name" $side
		done
	done
	program "$tests/tests/verifier/run_objects"
	program "$tests/tests/verifier/insn_cases"
	# shellcheck disable=SC2086 # words
	line verifier-insns 120 $verifier insn_cases
	for object in "$build"/tests/verifier/verifier_*.o; do # the same for all machines
		name=$(basename "$object" .o)
		[ "$name" != verifier_loops ] || continue # long ones: many minutes of the verifier under emulation
		pack "$object"
		# shellcheck disable=SC2086
		line "${name/_/-}" 400 $verifier run_objects "/bpflab/files/$(basename "$object")"
	done
	for exe in probe_kprobe probe_session probe_stack probe_tramp probe_tracepoint probe_uprobe probe_usdt probe_steps; do # of libbpfu
		program "$tests/tests/probe/$exe"
		line "${exe/_/-}" 120 $exe jit
	done
	program "$tests/tests/probe/probe_ext"
	for side in "${sides[@]}"; do
		line "probe-ext$([ $side = kernel ] || echo "@$side")" 120 probe_ext $side
	done
	program "$tests/tests/probe/probe_sides"
	for side in kernel user; do
		for name in $(sed -n "/^foreach kind/,/^]/s/^  '\(.*\)',/\1/p" "$src/tests/probe/meson.build"); do
			line "sides-$name$([ $side = kernel ] || echo "@$side")" 60 probe_sides $side "$name"
		done
	done
	pack "$dir/list"
	pack "$src/docs/differences.md"
	pack "$dir/guest_suite"
}

prepare_x86_64() {
	tests=$build strip=strip
	cc -O1 -static -o "$dir/guest_suite" "$src/tests/vm/guest_suite.c" || return
	pack_tests "$(ldd "$build/tests/api/api-attr" | awk '$1 == "libc.so.6" { print $3 }')
		/lib/x86_64-linux-gnu/libgcc_s.so.1 /lib64/ld-linux-x86-64.so.2"
}

prepare_arm64() {
	local lib=/usr/aarch64-linux-gnu/lib

	"$src/scripts/build-guests" "$build" tests || return
	tests=$build/guest-arm64 strip=aarch64-linux-gnu-strip
	aarch64-linux-gnu-gcc -O1 -static -o "$dir/guest_suite" "$src/tests/vm/guest_suite.c" || return
	pack_tests "$lib/libc.so.6 $lib/libgcc_s.so.1 $lib/ld-linux-aarch64.so.1"
}

declare -A prepared # by machine: the options of kernel exec
prepare() {
	[ -z "${prepared[$machine]+x}" ] || return 0
	files=()
	mkdir -p "$dir"
	: >"$dir/list"
	"prepare_${machine/x86-64/x86_64}" || return
	prepared[$machine]=$(printf '%q ' "${files[@]}")
}

# ---- what is expected ----

# "6.1 api-link" for each row of the table that names the version, for all machines or this one, and a test
known() {
	sed -n '/^## By kernel version/,/^## [^B]/p' "$src/docs/differences.md" |
		awk -F'|' -v m="$machine" '$2 ~ /^ [0-9.]+( (x86-64|arm64))? $/ {
			split($2, of, " ")
			n = split($3, t, "`")
			for (i = 2; i <= n && (of[2] == "" || of[2] == m); i += 2)
				print of[1], t[i]
		}'
}

failed=0
for kernel in "$@"; do
	name=${kernel%%,*}
	machine=$(machine_of "$kernel")
	dir=$work/$machine
	prepare || {
		echo "FAIL $kernel: its tests cannot be built"
		failed=1
		continue
	}
	eval "files=(${prepared[$machine]})"
	"$bpflab" kernel exec "$kernel,mem=1024" --timeout 1800 "${files[@]}" -- \
		"$dir/guest_suite" list >"$work/out" || {
		echo "FAIL $kernel: it did not run"
		failed=1
		continue
	}
	tail -n 1 "$work/out" | grep -qx end || {
		echo "FAIL $kernel: it ended early"
		failed=1
	}
	version=$(cut -d. -f1-2 <<<"$name")
	bad=0
	while read -r word test _; do
		test=${test%:}
		if [ "$word" = FAIL ] && ! known | grep -qx "$version $test"; then
			echo "FAIL $kernel: $test, which docs/differences.md does not know"
			awk -v t="$test:" '/^(ok|skip|FAIL) / { shown = $1 == "FAIL" && $2 == t; next } shown' "$work/out" |
				grep -vE '^# +ok ' | head -n 25
			bad=1
		elif [ "$word" = ok ] && known | grep -qx "$version $test"; then
			echo "FAIL $kernel: $test passes, but docs/differences.md says that it differs"
			bad=1
		fi
	done < <(grep -E '^(ok|skip|FAIL) ' "$work/out")
	while read -r _ test; do # a row that nothing has tested
		# shellcheck disable=SC2254
		case $test in
		$only) ;;
		*) continue ;;
		esac
		grep -qE "^(ok|FAIL) $test:?( |\$)" "$work/out" || {
			echo "FAIL $kernel: docs/differences.md names $test, which did not run"
			bad=1
		}
	done < <(known | grep "^$version ")
	echo "$kernel: $(grep -c '^ok ' "$work/out") ok, $(grep -c '^FAIL ' "$work/out") differ, $(grep -c '^skip ' "$work/out") skipped"
	failed=$((failed | bad))
done
exit $failed
