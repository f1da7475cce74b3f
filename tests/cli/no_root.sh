# SPDX-License-Identifier: BSD-2-Clause
# Without privileges: host is refused with the reason, benches without BPF still run.
[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
command -v setpriv >/dev/null || skip "needs setpriv"
[ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" != 0 ] || skip "anyone may use bpf(2) here"
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}
cp "$BPFLAB" ./bpflab
chmod 755 . bpflab
chmod 777 .
nobody ./bpflab --version >/dev/null || skip "another user cannot run the program from here"
expect 1 nobody ./bpflab run --on host arr-inc
one_line_error "target 'host' does not work here: the kernel refuses bpf(2)*unprivileged_bpf_disabled=*root*CAP_BPF*user*"
expect 0 nobody ./bpflab list --on host
in_out "count-local *"
in_err "bpflab: on 'host' only benches without BPF run: *"
if grep -q '^arr-inc' out; then die "arr-inc is listed"; fi
expect 0 nobody ./bpflab doctor
in_out "*NO *host*does not work"
in_out "*CAP_BPF no*"
if have user; then
	# The default run leaves host out and says why.
	expect 0 nobody ./bpflab run -q -w 0 -d 0.1 --rounds 6
	in_err "bpflab: host is left out: *bpf(2)*"
	in_out "hash-inc *user:jit=on *"
	in_out "hash-inc *user:jit=off *"
	if grep -q 'host' out; then die "host was run"; fi
	# What is loaded while it is measured is loaded on the target too.
	expect 0 nobody ./bpflab run --on "$TARGET" -q -w 0 -d 0.1 --rounds 6 skel-load
	in_out "skel-load *"
fi
