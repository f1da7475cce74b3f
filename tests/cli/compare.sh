# SPDX-License-Identifier: BSD-2-Clause
# Two targets: a sentence, the table, the control; the words are those there are.
side() {
	"$BPFLAB" compare "$TARGET" "$TARGET" -w 0 --quads 12 "$@"
}
compared side count-local
in_out "count-local*; control *."
in_out "A: $TARGET*   B: $TARGET*"
in_out "bench *A *B *B vs A *verdict *n *note"
in_out "count-local *ns*%*12*"
in_out "control A/A *"
in_out "A fixed number of quads, *seed 0x*"
# several rows: counts, and all rows in the table
compared side count-local count-global arr-inc
in_out "Of 3 benches on B: *; geometric mean *; control *."
in_out "count-global *"
in_out "arr-inc *"
in_out "* of 3 differ (Holm, *"
# without the control there is none
expect 0 side count-local --no-control
in_out "count-local*; no control."
! grep -q '^control' out || die "a control without one"
# quiet: nothing below the table
compared side count-local -q
! grep -q seed out || die "not quiet"
# the default quick suite
compared side -q
in_out "bpf-loop/nr_loops=10 *"
