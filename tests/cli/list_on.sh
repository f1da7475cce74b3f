# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" list --on "$TARGET"
in_out "hash-inc *"
expect 0 "$BPFLAB" list --on native
in_out "jit-sort *"
grep -q '^arr-inc' out && die "arr-inc has no native form"
usage_error "list takes one target, not 'user' and 'host'" list --on user --on host
usage_error "no target 'hots'; did you mean 'host'?*" list --on hots
