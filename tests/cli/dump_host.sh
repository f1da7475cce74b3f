# SPDX-License-Identifier: BSD-2-Clause
# the running kernel's code, where it shows it; a plain line where not
have host || skip "host does not work here"
expect 0 "$BPFLAB" dump --on host hash-inc
in_out "*r1 = {map percpu_hash}"
usage_error "--arch: 'host' compiles for its own machine only; *" dump --on host --arch arm64 hash-inc
status=0
"$BPFLAB" dump --on host --jited --json hash-inc >out 2>err || status=$?
if [ $status = 0 ]; then
	json out "all(sum(len(i['bytes']) // 2 for i in f['instructions']) == f['bytes'] > 0 for f in r[0]['functions'])"
	json out "[f['name'] for f in r[0]['functions']] == ['hash_inc', 'hash_inc_chunk']"
else
	[ $status = 1 ] || die "exit status $status"
	in_err "bpflab: *machine code of 'hash_inc'* (*kptr_restrict=*" ||
		in_err "bpflab: 'hash_inc' has no machine code on host: the kernel's JIT is off*"
fi
