# SPDX-License-Identifier: BSD-2-Clause
# The other architecture is counted like this one, in one table, where a bpflab for it is.
have user || skip "no user target"
arch=$(uname -m) other=arm64
[ "$arch" = x86_64 ] || other=x86_64
"$BPFLAB" run count-local --count=insns --runs 1 --on "user:arch=$other" >out 2>err ||
	skip "$(cat err)"
expect 0 "$BPFLAB" run arr-inc --count=insns --runs 2 --on user --on "user:arch=$other" --json r.json
json r.json "([x['variant']['arch'] for x in r] == ['$arch', '$other'] and all(x['exact'] for x in r) and
	r[0]['fraction'] != r[1]['fraction'] and r[0]['emulator']['program'] != r[1]['emulator']['program'])"
expect 0 "$BPFLAB" compare "user:inline_percpu=off,arch=$other" "user:arch=$other" arr-inc --count=insns --runs 1 -q
in_out "arr-inc: * instructions fewer per event on B, exactly *"
expect 0 "$BPFLAB" dump --counts --arch "$other" --no-source arr-inc
in_out "arr-inc: arr_inc on user:arch=$other, executed per event that the program runs"
in_out "         1 *"
