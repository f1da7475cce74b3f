# SPDX-License-Identifier: BSD-2-Clause
# 10,000 maps: one line that names the limit, or a result where it is high enough.
(
	ulimit -n 1024
	usage_error "cannot load '*maps.bpf.o' on $TARGET: its 10000 maps need more descriptors than * (ulimit -n *)" \
		run --on "$TARGET" "$OBJECTS/maps.bpf.o"
)
ulimit -n 11000 2>/dev/null || exit 0
expect 0 quick "$OBJECTS/maps.bpf.o"
in_out "maps.bpf.o:uses_none *"
