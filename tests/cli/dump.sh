# SPDX-License-Identifier: BSD-2-Clause
# BPF instructions: of all programs of an object, of one, of those that match, and of a bench
expect 0 "$BPFLAB" dump --on "$TARGET" "$OBJECTS/types.bpf.o" my_tc
in_out "my_tc on $TARGET*, xlated: 1 function, 5 instructions, 40 bytes, tag *"
in_out "; types.bpf.c:29: return skb->len == 64 ? 14 : 0;"
in_out "     2:  if w1 == 0x40 goto L1"
in_out "L1:"
[ "$(grep -c ' on ' out)" = 1 ] || die "one program was asked for"
expect 0 "$BPFLAB" dump --on "$TARGET" "$OBJECTS/types.bpf.o:my_xdp"
in_out "my_xdp on *"
expect 0 "$BPFLAB" dump --on "$TARGET" --no-source --bytes "$OBJECTS/types.bpf.o" 'my_[rx]*'
in_out "my_raw_tp on *"
in_out "my_xdp on *"
in_out "     0:  b4 00 00 00 0b 00 00 00  w0 = 11"
! grep -q '^;' out || die "--no-source shows source lines"
! grep -q my_tc out || die "my_tc was not asked for"
# a bench: the measured program, or others by name; maps, helpers and functions by name
expect 0 "$BPFLAB" dump --on "$TARGET" hash-inc
in_out "hash_inc on *"
in_out "*r1 = {map percpu_hash}"
in_out "; inc.bpf.c:*:*value = bpf_map_lookup_elem(&percpu_hash, &key);"
in_out "*call bpf_map_update_elem*"
in_out "*r2 = {hash_inc_chunk}"
! grep -q inc_null out || die "only the measured program was asked for"
expect 0 "$BPFLAB" dump --on "$TARGET" hash-inc 'inc_n*'
in_out "inc_null on *"
# the same text each time
"$BPFLAB" dump hash-inc '*' --xlated --jited --bytes >a
"$BPFLAB" dump hash-inc '*' --xlated --jited --bytes >b
cmp a b
