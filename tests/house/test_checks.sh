#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each scripts/check-* must find what it is there to find: a tree that is clean but for one fault is
# made per case, and the check has to fail and to name the fault. Output is TAP.
set -u
shopt -s lastpipe # the counters live in this shell, not in that of a pipe's end

scripts=$1
cc=${2:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count=0
failed=0

result() { # ok|not DESCRIPTION
	count=$((count + 1))
	if [ "$1" = ok ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' "$tmp/out"
		failed=1
	fi
}

fresh_tree() {
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree/lib/util" "$tmp/tree/lib/map" "$tmp/tree/lib/jit/x86_64" \
		"$tmp/tree/bench/report" "$tmp/tree/include/bpfu"
	printf '// SPDX-License-Identifier: BSD-2-Clause\n#include "util/a.h"\n\nint bpfu_x(void)\n{\n\treturn 0;\n}\n' \
		>"$tmp/tree/lib/map/x.c"
	printf '/* SPDX-License-Identifier: BSD-2-Clause */\n' >"$tmp/tree/lib/util/a.h"
	cp "$tmp/tree/lib/util/a.h" "$tmp/tree/lib/map/map.h"
	cp "$tmp/tree/lib/util/a.h" "$tmp/tree/bench/report/a.h"
	cp "$tmp/tree/lib/util/a.h" "$tmp/tree/include/bpfu/bpfu.h"
}

accepts() { # CHECK DESCRIPTION
	"$scripts/$1" --root "$tmp/tree" >"$tmp/out" 2>&1 && result ok "$1: $2" || result not "$1: $2"
}

refuses() { # CHECK TEXT-IN-OUTPUT FILE, the content of FILE (after printf) is standard input
	fresh_tree
	mkdir -p "$(dirname "$tmp/tree/$3")"
	cat >"$tmp/tree/$3"
	if "$scripts/$1" --root "$tmp/tree" >"$tmp/out" 2>&1; then
		result not "$1 refuses: $2"
	elif grep -qF -- "$2" "$tmp/out"; then
		result ok "$1 refuses: $2"
	else
		result not "$1 refuses with the wrong reason: $2"
	fi
}

spdx='// SPDX-License-Identifier: BSD-2-Clause\n'

fresh_tree
for check in check-style check-size check-layers; do
	accepts $check "a clean tree"
done

printf "${spdx}int a;\t\n" | refuses check-style "trailing blanks" lib/map/bad.c
printf "${spdx}int a;" | refuses check-style "no newline at the end" lib/map/bad.c
printf "${spdx}int a;\r\n" | refuses check-style "carriage return" lib/map/bad.c
printf "${spdx}int a;\n\n" | refuses check-style "empty line at the end" lib/map/bad.c
printf "${spdx}int f(void)\n{\n        return 0;\n}\n" |
	refuses check-style "indented with blanks" lib/map/bad.c
printf "${spdx}int a;\xe2\x80\x8b\n" | refuses check-style "invisible character U+200B" lib/map/bad.c
printf "${spdx}int a; // \xff\n" | refuses check-style "not UTF-8" lib/map/bad.c
printf "int a;\n" | refuses check-style "SPDX-License-Identifier" lib/map/bad.c
printf "#!/bin/sh\nexit 0\n" | refuses check-style "SPDX-License-Identifier" scripts/bad
printf "${spdx}#pragma once\n" | refuses check-style "include guard" lib/map/bad.h
printf "${spdx}typedef struct { int a; } t;\n" | refuses check-style "no typedef" lib/map/bad.h
printf "${spdx}void f(char *p) { strcpy(p, p); }\n" | refuses check-style "unbounded" lib/map/bad.c
printf "${spdx}/* TO""DO: more */\n" | refuses check-style "unfinished" lib/map/bad.c
printf "${spdx}static u32 a;\n" | refuses check-style "<stdint.h> names" lib/map/bad.c
printf "${spdx}int a = 0x48;\n" | refuses check-style "encode.h" lib/jit/x86_64/lower_alu.c

seq -f 'int a%g;' 1 1600 | sed "1i ${spdx%\\n}" | refuses check-size "file has 1601" lib/map/bad.c
{
	printf "${spdx}int bpfu_long(void)\n{\n"
	seq -f '	call(%g);' 1 160
	printf "}\n"
} | refuses check-size "bpfu_long() has" lib/map/bad.c
{
	printf "${spdx}static int\nsplit_head(int a,\n\t   int b)\n{\n"
	seq -f '	call(%g);' 1 160
	printf "}\n"
} | refuses check-size "split_head() has" lib/map/bad.c

printf "${spdx}#include \"map/map.h\"\n" | refuses check-layers "higher map/" lib/util/bad.c
printf "${spdx}#include \"map/map.h\"\n" | refuses check-layers "no place" lib/other/bad.c
printf "${spdx}#include \"map.h\"\n" | refuses check-layers "by their path" lib/map/bad.c
printf "${spdx}#include \"util/a.h\"\n" | refuses check-layers "only <bpfu/bpfu.h>" bench/bad.c
printf "${spdx}#include \"report/a.h\"\n" | refuses check-layers "higher report/" bench/stats/bad.c
printf "${spdx}#include \"util/a.h\"\n" | refuses check-layers "public header" include/bpfu/bpfu.h

message() { # TEXT-IN-OUTPUT, message on standard input
	cat >"$tmp/message"
	if "$scripts/check-style" --message "$tmp/message" >"$tmp/out" 2>&1; then
		[ -z "$1" ] && result ok "check-style accepts a message" ||
			result not "check-style refuses a message: $1"
	else
		[ -n "$1" ] && grep -qF -- "$1" "$tmp/out" && result ok "check-style refuses a message: $1" ||
			result not "check-style refuses a message: $1"
	fi
}

printf 'map: keep the order of deletions\n\nwhy\n' | message ""
printf 'Keep the order\n' | message "area: imperative"
printf 'map: keep the order.\n' | message "without a period"
printf 'map: keep\nmore\n' | message "second line"
printf 'map: keep\n\nCo-authored-by: x\n' | message "Co-authored-by"

# The tree that the libraries below are checked against: one public function, one intercepted call.
fresh_tree
mkdir -p "$tmp/tree/lib/shim"
printf 'BPFU_API int bpfu_ok(void);\n' >>"$tmp/tree/include/bpfu/bpfu.h"
printf 'ENTRY_API int ENTRY(munmap)(void *addr, size_t len);\n' >"$tmp/tree/lib/shim/entries.def"

library() { # libs.a|libs.so SYMBOL...
	local name=$1 symbol
	shift
	for symbol in "$@"; do
		printf 'int %s(void); int %s(void) { return 0; }\n' "$symbol" "$symbol"
	done >"$tmp/s.c"
	rm -f "$tmp/$name"
	if [ "$name" = libs.a ]; then
		$cc -c -fno-builtin -o "$tmp/s.o" "$tmp/s.c" && ar rc "$tmp/$name" "$tmp/s.o"
	else
		$cc -shared -fPIC -fno-builtin -o "$tmp/$name" "$tmp/s.c"
	fi
	"$scripts/check-symbols" --root "$tmp/tree" "$tmp/$name" >"$tmp/out" 2>&1
}

symbols_accept() { # libs.a|libs.so SYMBOL...
	library "$@" && result ok "check-symbols accepts $*" || result not "check-symbols accepts $*"
}

symbols_refuse() {
	library "$@" && result not "check-symbols refuses $*" || result ok "check-symbols refuses $*"
}

symbols_accept libs.a bpfu_ok bpfu_internal __wrap_munmap
symbols_refuse libs.a bpfu_ok bpf_map_create
symbols_refuse libs.a bpfu_ok __wrap_mmap
symbols_accept libs.so bpfu_ok munmap
symbols_refuse libs.so bpfu_ok munmap bpfu_internal
symbols_refuse libs.so bpfu_ok

echo "1..$count"
exit $failed
