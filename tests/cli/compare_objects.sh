# SPDX-License-Identifier: BSD-2-Clause
# Two object files, program by program; or two programs that are named.
cp "$OBJECTS/types.bpf.o" new.bpf.o
compared "$BPFLAB" compare "$OBJECTS/counter.bpf.o" "$OBJECTS/counter.bpf.o" --on "$TARGET" -w 0 --quads 6 --json c.json
in_out "A: *counter.bpf.o   B: *counter.bpf.o"
json c.json "[x['bench'] for x in r] == ['counts'] and r[0]['a']['name'].endswith('counter.bpf.o')"
# one and the same program
json c.json "r[0]['a']['prog']['tag'] == r[0]['b']['prog']['tag']"
compared "$BPFLAB" compare "$OBJECTS/types.bpf.o:my_tc" new.bpf.o:my_socket --on "$TARGET" -w 0 --quads 6 --json d.json
json d.json "[x['bench'] for x in r] == ['my_tc'] and r[0]['b']['bench'] == 'new.bpf.o:my_socket'"
# what is swept is in the name: rows of one name would be one to a history
compared "$BPFLAB" compare "$OBJECTS/types.bpf.o:my_tc" new.bpf.o:my_tc --on "$TARGET" -w 0 --quads 6 --sweep p=1,2 --json d.json
json d.json "[x['bench'] for x in r] == ['my_tc', 'my_tc/p=2']"
in_out "my_tc/p=2 *"
expect 0 "$BPFLAB" history add d.json --db h.db
in_out "added 0 results and 2 comparisons"
# a program that only one of them has is named
compared "$BPFLAB" compare "$OBJECTS/types.bpf.o" new.bpf.o:my_tc --on "$TARGET" -w 0 --quads 6 --json d.json
in_err "bpflab: program 'my_socket' is in '*types.bpf.o' only, and left out"
json d.json "[x['bench'] for x in r] == ['my_tc']"
expect 1 "$BPFLAB" compare "$OBJECTS/counter.bpf.o" new.bpf.o --on "$TARGET"
one_line_error "*have no program of the same name*"
expect 1 "$BPFLAB" compare "$OBJECTS/counter.bpf.o" new.bpf.o arr-inc
one_line_error "*'arr-inc'*program by program*"
expect 1 "$BPFLAB" compare "$OBJECTS/counter.bpf.o" "$TARGET"
one_line_error "*is a file and*a target*"
