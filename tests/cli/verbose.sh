# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick arr-inc -v
in_err "libbpf: *"
expect 0 quick arr-inc
[ ! -s err ] || die "$(cat err)"
