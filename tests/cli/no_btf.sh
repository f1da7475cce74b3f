# SPDX-License-Identifier: BSD-2-Clause
# A kernel without BTF is told from other failures; what needs none runs on it.
have host || skip "no host target"
hidden() { unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$@"; }
hidden true 2>err || skip "BTF cannot be hidden here: $(cat err)"
expect 1 hidden "$BPFLAB" run trig-fentry --on host -d 0.1 -w 0
one_line_error "cannot load 'trig-fentry' on host: this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)*"
expect 0 hidden "$BPFLAB" run arr-inc --on host -d 0.1 -w 0 --rounds 8
