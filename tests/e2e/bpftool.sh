#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bpftool on libbpfu: loads an object, lists, runs and dumps what it loaded, all in one batch, since
# objects of libbpfu live in the process that made them. Exits 77 if it cannot be preloaded into.
bpftool=$1 object=$2 preload=$3
pins=/sys/fs/bpf/bpfu_bpftool_$$
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

head -c 64 /dev/zero >"$tmp/packet"
cat >"$tmp/batch" <<EOF
prog loadall $object $pins
prog show
map show
prog run pinned $pins/xdp_swap data_in $tmp/packet data_out $tmp/packet_out repeat 10
prog dump xlated pinned $pins/loops
prog dump xlated pinned $pins/for_each opcodes
map dump name array
map update name array key 3 0 0 0 value 42 0 0 0 0 0 0 0
map lookup name array key 3 0 0 0
btf list
EOF
LD_PRELOAD=$preload BPFU_ROUTE=user "$bpftool" batch file "$tmp/batch" >"$tmp/out" 2>"$tmp/err"
status=$?

fail() {
	echo "FAIL: $*"
	echo "--- exit status $status, output:"
	cat "$tmp/out" "$tmp/err"
	exit 1
}

grep -q "cannot be preloaded" "$tmp/err" && { cat "$tmp/err"; exit 77; }
[ $status = 0 ] || fail "bpftool failed"
grep -q "name tail_entry" "$tmp/out" || fail "the program is not listed"
grep -q "hash *name hash" "$tmp/out" || fail "the map is not listed"
grep -q "Return value: 2," "$tmp/out" || fail "the program did not run"
grep -q "call pc+.*#bpf_prog_\|call pc+" "$tmp/out" || fail "no listing of instructions"
cmp -s "$tmp/packet" "$tmp/packet_out" || fail "the packet came back different"
grep -q "subprog\[+" "$tmp/out" || fail "no callback in the listing"
grep -q "error in processing bpf_line_info" "$tmp/err" && fail "bad line info"
[ -e "$pins" ] && fail "a real file was pinned"
echo ok
