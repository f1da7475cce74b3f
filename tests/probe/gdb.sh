#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# With the option gdb a debugger names the functions of programs and their lines, and finds its way from a helper
# through programs of every kind of frame, and what is between them and the probed function, to main(): from where a
# helper is called, and from each instruction. Without it it knows nothing of them, nor after they are unloaded.
#
# usage: gdb.sh PROGRAM
set -u

program=$1
source=$(dirname "$0")/progs/gdb.bpf.c
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

command -v gdb >/dev/null || { echo "skipped: no gdb; install the package gdb" && exit 77; }

fail() {
	failed=1
	echo "FAIL: $*"
	sed 's/^/  /' "$out"
}

debug() { # on|off KIND COMMAND...: what gdb prints, in $out
	local args=(-ex 'set pagination off' -ex 'set confirm off' -ex 'set width 0' -ex 'set debuginfod enabled off')
	local gdb=$1 kind=$2 command
	shift 2
	for command in "$@"; do args+=(-ex "$command"); done
	gdb -nx -batch "${args[@]}" --args "$program" "$gdb" "$kind" </dev/null >"$out" 2>&1
}

debug off on_stack 'break gdb_unloaded' run
if ! grep -q '^Breakpoint 1, gdb_unloaded' "$out"; then
	if grep -qi 'ptrace\|not permitted' "$out"; then
		echo "skipped: gdb may not trace processes here" && exit 77
	fi
	fail "the program does not run under gdb"
	exit 1
fi

line_of() { # the line of the source with /* NAME */
	grep -n "/\* $1 \*/" "$source" | cut -d: -f1
}

# expect_frames NAME...: of the backtrace in $out, in this order, from the innermost on; NAME@ is a function of a
# program, whose line has its name in a comment
expect_frames() {
	local from=0 name pattern at
	for name in "$@"; do
		case $name in
		*@) pattern="in bpf_prog_[0-9a-f]\{16\}_${name%@} () at .*progs/gdb.bpf.c:$(line_of "${name%@}")\$" ;;
		*) pattern="\<$name (" ;;
		esac
		at=$(grep '^#' "$out" | grep -n "$pattern" | cut -d: -f1 | while read -r n; do
			[ "$n" -gt "$from" ] && echo "$n" && break
		done)
		[ -n "$at" ] || { fail "no frame of $name where it should be" && return; }
		from=$at
	done
}

helper=bpfu_helper_get_numa_node_id
for case in on_stack: on_stack:private_stack=off on_stack:harden=on on_loop: on_loop:inline_loop=off \
	on_jump: on_jump:harden=on on_kprobe:; do
	kind=${case%%:*}
	case $kind in
	on_stack) frames=(innermost@ with_stack@ on_stack@ bpf_trampoline_gdb_traced) ;;
	on_loop) frames=(innermost@ on_turn@ on_loop@ bpf_trampoline_gdb_traced) ;;
	on_jump) frames=(innermost@ landing@ on_jump@ bpf_trampoline_gdb_traced) ;;
	on_kprobe) frames=(innermost@ on_kprobe@ bpf_trampoline_gdb_probed) ;;
	esac
	BPFU_OPTIONS=${case#*:} debug on "$kind" "break $helper" run bt
	expect_frames $helper "${frames[@]}" gdb_caller main
done

# The probed function itself: its caller is behind what was generated.
debug on on_loop 'break body' run bt
expect_frames body gdb_traced bpf_trampoline_gdb_traced gdb_caller main

# From each instruction of programs, of their prologues and epilogues, of what called them and of the helper.
for kind in on_stack on_loop on_jump on_kprobe; do
	commands=('break gdb_loaded' run "break gdb.bpf.c:$(line_of $kind)" continue)
	commands+=('python
for n in range(3000):
    gdb.execute("stepi", to_string=True)
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        names.append(frame.name() or "?")
        frame = frame.older()
    if names[0] == "gdb_caller":
        print("step back")
        break
    print("step", "found" if names[-2:] == ["gdb_caller", "main"] else "lost", names)
end')
	debug on $kind "${commands[@]}"
	if grep -q '^step lost' "$out" || ! grep -q '^step back' "$out" ||
		! grep -q '^step found.*_innermost' "$out"; then
		fail "$kind: the caller is not found from every instruction"
	fi
done

# On request only, and not longer than programs live.
debug off on_stack "break $helper" run bt
! grep -q 'bpf_prog_[0-9a-f]*_innermost' "$out" || fail "gdb=off, and gdb knows names"
debug on on_stack 'break gdb_loaded' run 'info functions bpf_prog_[0-9a-f]*_innermost'
grep -q ' bpf_prog_[0-9a-f]*_innermost' "$out" || fail "no functions while programs are loaded"
debug on on_stack 'break gdb_unloaded' run 'info functions bpf_prog_[0-9a-f]*_innermost'
! grep -q ' bpf_prog_[0-9a-f]*_innermost' "$out" || fail "functions of programs that are gone"

[ $failed -eq 0 ] && echo ok
exit $failed
