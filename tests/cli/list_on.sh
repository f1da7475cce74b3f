# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" list --on "$TARGET"
in_out "hash-inc *"
usage_error "list takes one target, not 'user' and 'host'" list --on user --on host
usage_error "no target 'hots'; did you mean 'host'?*" list --on hots
