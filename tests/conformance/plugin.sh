#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# usage: plugin.sh PLUGIN --interpret|--jit   (PLUGIN may be several words: an emulator in front)
set -u
mode=${!#}
plugin=("${@:1:$#-1}")
# Of a cross build: the emulator, as meson test gives it.
[ -z "${MESON_EXE_WRAPPER-}" ] || read -ra emulator <<<"$MESON_EXE_WRAPPER"
plugin=(${emulator[@]+"${emulator[@]}"} "${plugin[@]}")
failed=0
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# r0 WANT MEMORY PROGRAM: what is printed; all as a suite passes it, options in one argument.
r0() {
	local got
	got=$("${plugin[@]}" "$2" "$mode" <<<"$3" 2>&1) && [ "$got" = "$1" ] && return
	echo "not ok: ${3:0:99} (memory '$2'): '$got', not '$1'"
	failed=1
}

# bad PATTERN MEMORY PROGRAM: exit 1, one such line on standard error, nothing else.
bad() {
	local out err status
	out=$("${plugin[@]}" "$2" "$mode" <<<"$3" 2>"$errors")
	status=$?
	err=$(<"$errors")
	# shellcheck disable=SC2053
	[ $status = 1 ] && [ -z "$out" ] && [[ $err == "bpfu-plugin: "$1 ]] && return
	echo "not ok: ${3:0:99} (memory '$2'): status $status, '$out', '$err'"
	failed=1
}

exit_="95 00 00 00 00 00 00 00"
ret42="b7 00 00 00 2a 00 00 00"

r0 2a "" "$ret42 $exit_"
r0 2a "" "b70000002a0000009500000000000000"
r0 2a "" "b7  00  00  00  2a  00  00  00  95  00  00  00  00  00  00  00 "
r0 2a "" "B7 00 00 00 2A 00 00 00 $exit_"
r0 ffffffffffffffff "" "b7 00 00 00 ff ff ff ff $exit_"
r0 ffffffff "" "b4 00 00 00 ff ff ff ff $exit_"
# r1, r2: memory and its length; r0 = *(u32 *)r1 + r2
r0 44332216 "11 22 33 44 00" "61 10 00 00 00 00 00 00 0f 20 00 00 00 00 00 00 $exit_"
r0 0 "" "bf 10 00 00 00 00 00 00 4f 20 00 00 00 00 00 00 $exit_"
# memory can be written; the stack, too
r0 99 "00 00 00 00 00 00 00 00" "7a 01 00 00 99 00 00 00 79 10 00 00 00 00 00 00 $exit_"
r0 7 "" "7a 0a f8 ff 07 00 00 00 79 a0 f8 ff 00 00 00 00 $exit_"
# a 64-bit constant, a function, a helper that returns (ktime, discarded), a loop back to the start
r0 1122334455667788 "" "18 00 00 00 88 77 66 55 00 00 00 00 44 33 22 11 $exit_"
r0 5 "" "85 10 00 00 01 00 00 00 $exit_ b7 00 00 00 05 00 00 00 $exit_"
r0 3 "" "85 00 00 00 05 00 00 00 b7 00 00 00 03 00 00 00 $exit_"
r0 a "" "07 02 00 00 01 00 00 00 25 02 01 00 09 00 00 00 05 00 fd ff 00 00 00 00 bf 20 00 00 00 00 00 00 $exit_"
# immediate shift counts are masked (RFC 9669)
r0 2 "" "b7 00 00 00 01 00 00 00 67 00 00 00 41 00 00 00 $exit_"
r0 2 "" "b4 00 00 00 01 00 00 00 64 00 00 00 21 00 00 00 $exit_"

bad "a program is a number of instructions of 8 bytes, not 0 bytes" "" ""
bad "a program is a number of instructions of 8 bytes, not 9 bytes" "" "$ret42 95"
bad "program: 'zz 00' at byte 1 is not two hexadecimal digits" "" "b7 zz 00"
bad "program: '5' at byte 15 is not two hexadecimal digits" "" "b700000000000000950000000000005"
bad "memory: 'x' at byte 2 is not two hexadecimal digits" "00 11 x" "$ret42 $exit_"
bad "instruction 0: unknown opcode ff" "" "ff 00 00 00 00 00 00 00 $exit_"
bad "instruction 1: *" "" "$ret42 95 00 00 00 01 00 00 00"
bad "instruction 0: *" "" "18 00 00 00 01 00 00 00"
bad "instruction 0 refers to a map *" "" "18 11 00 00 01 00 00 00 00 00 00 00 00 00 00 00 $exit_"
bad "instruction 0 calls a helper that libbpfu lacks" "" "85 00 00 00 0f 27 00 00 $exit_"
bad "instruction 0 calls a kernel function; *" "" "85 20 00 00 01 00 00 00 $exit_"
bad "instruction 0 loads from a packet; *" "" "30 00 00 00 00 00 00 00 $exit_"
bad "a branch, a call or the end of a function leads nowhere" "" "$ret42"
bad "a branch, a call or the end of a function leads nowhere" "" "05 00 09 00 00 00 00 00 $exit_"
bad "a branch, a call or the end of a function leads nowhere" "" "85 10 00 00 64 00 00 00 $exit_"
bad "a branch, a call or the end of a function leads nowhere" "" "85 10 00 00 fe ff ff ff $exit_"
bad "a branch, a call or the end of a function leads nowhere" "" \
	"18 41 00 00 ff ff ff 7f 00 00 00 00 00 00 00 00 $exit_"
# accesses: no memory, the byte after it, before it, far away
bad "the program accessed memory that is not there" "" "71 10 00 00 00 00 00 00 $exit_"
bad "the program accessed memory that is not there" "00 11 22 33 44 55 66 77" \
	"71 10 08 00 00 00 00 00 $exit_"
bad "the program accessed memory that is not there" "00" \
	"17 01 00 00 00 00 01 00 72 01 00 00 01 00 00 00 $exit_"
bad "the program accessed memory that is not there" "00" \
	"18 01 00 00 00 00 00 00 00 00 00 00 00 00 00 80 79 10 00 00 00 00 00 00 $exit_"

# too long, from the other ways to give a program, and options
head -c 16000000 /dev/zero | tr '\0' '0' | "${plugin[@]}" "" "$mode" 2>&1 |
	grep -q "1000000 instructions are too many; 999999 are the most" ||
	{ echo "not ok: a long program"; failed=1; }
[ "$("${plugin[@]}" --program "$ret42 $exit_" "$mode")" = 2a ] || { echo "not ok: --program"; failed=1; }
[ "$("${plugin[@]}" "" "" <<<"$ret42 $exit_")" = 2a ] || { echo "not ok: no options"; failed=1; }
"${plugin[@]}" "" "$mode --debug" <<<"$ret42 $exit_" 2>&1 >/dev/null | grep -q '0: (b7) r0 = 42' ||
	{ echo "not ok: --debug"; failed=1; }
"${plugin[@]}" "" --jot <<<"$ret42 $exit_" 2>&1 | grep -q "no option '--jot'" ||
	{ echo "not ok: --jot"; failed=1; }
exit $failed
