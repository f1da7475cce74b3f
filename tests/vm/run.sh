#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of bpf(2) on kernels of the store, each in a guest: those of tests/api and tests/verifier, which hold
# a kernel against what libbpfu answers, and those of tests/probe. Tests that fail on a kernel have to be
# in the table "By kernel version" of docs/differences.md, and those in it have to fail.
#
# usage: tests/vm/run.sh BUILD [KERNEL[,OPTION=VALUE]...]...     default: every x86-64 kernel that is here
set -u

src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
bpflab=$build/bench/bpflab
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
	mapfile -t kernels < <("$bpflab" kernel list --json |
		python3 -c 'import json, sys; [print(k["name"]) for k in json.load(sys.stdin) if k["arch"] == "x86_64"]')
	set -- "${kernels[@]}"
fi
if [ $# -eq 0 ]; then
	echo "no x86-64 kernel is here: bpflab kernel fetch 6.12" >&2
	exit 77
fi

files=() # --file PATH=NAME
pack() { # PATH [NAME]
	files+=(--file "$1=${2:-$(basename "$1")}")
}
program() { # PATH: without debug information, which is most of it
	strip -o "$work/$(basename "$1")" "$1" && pack "$work/$(basename "$1")"
}
line() { # NAME SECONDS PROGRAM [ARG]...
	echo "$*" >>"$work/list"
}

pack "$(ldd "$build/tests/api/api-attr" | awk '$1 == "libc.so.6" { print $3 }')" libc.so.6
pack "$(realpath /lib/x86_64-linux-gnu/libgcc_s.so.1)" libgcc_s.so.1
pack "$(realpath /lib64/ld-linux-x86-64.so.2)" ld-linux-x86-64.so.2
for exe in "$build"/tests/api/api-*; do
	[ -f "$exe" ] && [ -x "$exe" ] || continue
	program "$exe"
	line "$(basename "$exe")" 60 "$(basename "$exe")" kernel
done
program "$build/tests/verifier/run_objects"
program "$build/tests/verifier/insn_cases"
line verifier-insns 120 insn_cases
for object in "$build"/tests/verifier/verifier_*.o; do
	name=$(basename "$object" .o)
	[ "$name" != verifier_loops ] || continue # long ones: many minutes of the verifier under emulation
	pack "$object"
	line "${name/_/-}" 400 run_objects "/bpflab/files/$(basename "$object")"
done
for exe in probe_kprobe probe_tramp; do
	program "$build/tests/probe/$exe"
	line "${exe/_/-}" 120 $exe jit
done
pack "$work/list"
pack "$src/docs/differences.md"
cc -O1 -static -o "$work/guest_suite" "$src/tests/vm/guest_suite.c" || exit 1

# "6.1 api-link" for each row of the table that names a version and a test
known() {
	sed -n '/^## By kernel version/,/^## [^B]/p' "$src/docs/differences.md" |
		awk -F'|' '$2 ~ /^ [0-9.]+ $/ { n = split($3, t, "`"); for (i = 2; i <= n; i += 2) print $2 t[i] }' |
		sed 's/^ *//'
}

failed=0
for kernel in "$@"; do
	name=${kernel%%,*}
	"$bpflab" kernel exec "$kernel,mem=1024" --timeout 1800 "${files[@]}" -- \
		"$work/guest_suite" list >"$work/out" || {
		echo "FAIL $kernel: it did not run"
		failed=1
		continue
	}
	tail -n 1 "$work/out" | grep -qx end || {
		echo "FAIL $kernel: it ended early"
		failed=1
	}
	line=$(cut -d. -f1-2 <<<"$name")
	bad=0
	while read -r word test _; do
		test=${test%:}
		if [ "$word" = FAIL ] && ! known | grep -qx "$line $test"; then
			echo "FAIL $kernel: $test, which docs/differences.md does not know"
			awk -v t="$test:" '/^(ok|skip|FAIL) / { shown = $1 == "FAIL" && $2 == t; next } shown' "$work/out" |
				grep -vE '^# +ok ' | head -n 25
			bad=1
		elif [ "$word" = ok ] && known | grep -qx "$line $test"; then
			echo "FAIL $kernel: $test passes, but docs/differences.md says that it differs"
			bad=1
		fi
	done < <(grep -E '^(ok|skip|FAIL) ' "$work/out")
	echo "$kernel: $(grep -c '^ok ' "$work/out") ok, $(grep -c '^FAIL ' "$work/out") differ, $(grep -c '^skip ' "$work/out") skipped"
	failed=$((failed | bad))
done
exit $failed
