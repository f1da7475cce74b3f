# SPDX-License-Identifier: BSD-2-Clause
# bisect over folders of kernels whose costs are known: what is found, what is looked at, what is refused
. "$TESTS/fake_kernels.sh"
[ "$(uname -m)" = x86_64 ] || skip "the fake kernels are for x86-64 hosts"

# ten of them, found in the order of versions: candidates come before what they became
for v in 6.1 6.2 6.9 6.10-rc1 6.10-rc2; do fake_kernel k/vmlinuz-$v cost=339; done
for v in 6.10 6.10.3 6.11 6.12; do fake_kernel k/vmlinuz-$v cost=357; done
fake_kernel k/vmlinuz-7.0 cost=360
echo text >k/config-6.1
expect 0 "$BPFLAB" bisect --kernels k --good 6.1 --bad 7.0 arr-inc
[ "$(head -n 1 out)" = "arr-inc became dearer in 6.10: 339 -> 357 instructions per event (+5.31 %); last good 6.10-rc2." ] ||
	die "headline: $(cat out)"
in_out "7.0 has 360: it became dearer once more; --good 6.10 finds where."
in_out "6.1 *good * 339 * 2 of 2"
in_out "6.10 *bad * 357 *+5.31 %*2 of 2"
in_out "* of 10 kernels were looked at. Counted under qemu-system-x86_64 7.2.22 (-cpu max): emulated."
[ "$(wc -l <boots)" -le 12 ] || die "$(wc -l <boots) boots for ten kernels"
in_err "bpflab: 6.1: 339 instructions per event: said to be good"
in_err "bpflab: 6.1[0-9]*: 3[0-9]* instructions per event: *; * left, about * more"
expect 0 "$BPFLAB" bisect --runs 1 --kernels k --good vmlinuz-6.1 --bad k/vmlinuz-7.0 arr-inc --json -q
[ ! -s err ] || die "not quiet: $(cat err)"
cp out r.json
json r.json "r[0]['outcome'] == 'found' and r[0]['last_good'] == '6.10-rc2' and r[0]['first_bad'] == '6.10'"
json r.json "r[0]['emulated'] is True and r[0]['schema'] == 'bpflab.bisect/1' and r[0]['unit'] == 'insns/event'"
json r.json "[k['kernel'] for k in r[0]['kernels']] == '6.1 6.2 6.9 6.10-rc1 6.10-rc2 6.10 6.10.3 6.11 6.12 7.0'.split()"
json r.json "all(k['fraction'] == [339 if k['verdict'] == 'good' else k['fraction'][0], 1] for k in r[0]['kernels'] if 'fraction' in k)"
expect 0 "$BPFLAB" bisect --runs 1 --kernels k --good 6.10 --bad 7.0 arr-inc -q
in_out "arr-inc became dearer in 7.0: 357 -> 360 *last good 6.12."

# what is dearer by no more than --above is good; --runs boots
forget_boots
expect 0 "$BPFLAB" bisect --kernels k --good 6.1 --bad 7.0 arr-inc -q --above 6% --runs 3
in_out "arr-inc became dearer in 7.0: 357 -> 360 *"
[ "$(boots vmlinuz-7.0)" = 3 ] || die "$(boots vmlinuz-7.0) boots, not 3"
expect 4 "$BPFLAB" bisect --runs 1 --kernels k --good 6.1 --bad 7.0 arr-inc -q --above 7
in_out "arr-inc did not become dearer between 6.1 (good) and 7.0 (bad): 339 -> 360 *, which is within --above."

# ends that do not differ, or the other way round
expect 4 "$BPFLAB" bisect --runs 1 --kernels k --good 6.1 --bad 6.9 arr-inc
in_out "arr-inc did not become dearer between 6.1 (good) and 6.9 (bad): 339 -> 339 instructions per event."
in_out "6.9 *said bad*"
fake_kernel k/vmlinuz-7.1 cost=339
expect 4 "$BPFLAB" bisect --runs 1 --kernels k --good 6.12 --bad 7.1 arr-inc
in_out "*357 -> 339 instructions per event, it became cheaper; add --cheaper."
expect 0 "$BPFLAB" bisect --runs 1 --kernels k --good 6.12 --bad 7.1 arr-inc --cheaper
in_out "arr-inc became cheaper in 7.1: 360 -> 339 *last good 7.0."
rm k/vmlinuz-7.1

# those that do not boot, cannot load it, or are no kernels are skipped with the reason, and no neighbour is said
fake_kernel k/vmlinuz-6.10 boot=no
fake_kernel k/vmlinuz-6.10-rc2 failed=cannot_load_it:_no_such_helper
: >k/vmlinuz-6.10.3
expect 5 "$BPFLAB" bisect --runs 1 --kernels k --good 6.1 --bad 7.0 arr-inc
in_out "arr-inc became dearer in 6.10-rc2, 6.10, 6.10.3 or 6.11: 339 -> 357 *last good 6.10-rc1."
in_out "Which one cannot be said, as those before the last could not be measured."
in_out "[[]*[]] vm:6.10: its kernel panicked before its command started: no working init found"
in_out "[[]*[]] cannot load it: no such helper"
in_out "[[]*[]] 'k/vmlinuz-6.10.3' is empty; *"
expect 1 "$BPFLAB" bisect --runs 1 --kernels k --good 6.1 --bad 6.10 arr-inc -q
in_err "bpflab: '6.10', which is said to be bad, cannot be measured: vm:6.10: its kernel panicked *"
[ ! -s out ] || die "figures: $(cat out)"

# boots that differ: no difference counts that is within
for v in 1 2 3; do fake_kernel s/vmlinuz-$v cost=100,110; done
fake_kernel s/vmlinuz-4 cost=112,120
expect 0 "$BPFLAB" bisect --kernels s --good 1 --bad 4 arr-inc
in_out "arr-inc became dearer in 4: ~100 -> ~112 *last good 3."
in_out "~ 4: 112 to 120"
expect 4 "$BPFLAB" bisect --kernels s --good 1 --bad 3 arr-inc
fake_kernel s/vmlinuz-4 cost=109,120
expect 4 "$BPFLAB" bisect --kernels s --good 1 --bad 4 arr-inc
in_out "*, which is within what boots of one kernel differ by."

# folders of their own; an order of one's own; kernels of the store among them
fake_kernel d/first/vmlinuz cost=1
fake_kernel d/zwei/arch/x86/boot/bzImage cost=1
fake_kernel d/Image-third cost=2
fake_kernel d/arm.img cost=9 arch=arm64
fake_kernel stored cost=2
expect 0 "$BPFLAB" kernel add kept stored
printf '# newest last\nzwei\n\nfirst # a comment\n  third\nkept\n' >order
expect 0 "$BPFLAB" bisect --runs 1 --kernels d --order order --good zwei --bad kept arr-inc -q
in_out "arr-inc became dearer in third: 1 -> 2 *last good first."
expect 0 "$BPFLAB" bisect --runs 1 --kernels d --good first --bad third arr-inc -q # by name: first kept third zwei
in_out "arr-inc became dearer in third: *last good first."
printf 'zwei\nnowhere\n' >order
usage_error "'order' line 2: there is no kernel 'nowhere' for x86_64 in 'd', nor in the store; *" \
	bisect --kernels d --order order --good zwei --bad kept arr-inc
printf 'zwei\nkept\nd/zwei/arch/x86/boot/bzImage\n' >order
usage_error "'order' line 3: 'd/zwei/arch/x86/boot/bzImage' is in the list already" \
	bisect --kernels d --order order --good zwei --bad kept arr-inc
echo third >order
usage_error "'first' is not in the list 'order'" bisect --kernels d --order order --good first --bad kept arr-inc
fake_kernel a/vmlinuz-1 cost=1 arch=arm64
fake_kernel a/vmlinuz-2 cost=2 arch=arm64
expect 0 "$BPFLAB" bisect --runs 1 --kernels a --good 1 --bad 2 arr-inc
in_out "*Counted under qemu-system-aarch64 7.2.22 (-cpu cortex-a57): emulated."
expect 1 "$BPFLAB" bisect --runs 1 --kernels d --good first --bad d/arm.img arr-inc
in_err "bpflab: 'd/arm.img' is a kernel of arm64, not of x86_64; --vm arch=arm64"

# of the machine, not of a kernel: it ends at once, and nothing is claimed
fake_kernel k/vmlinuz-6.2 qemu=fails
fake_kernel k/vmlinuz-6.9 qemu=fails
fake_kernel k/vmlinuz-6.10-rc1 qemu=fails
expect 1 "$BPFLAB" bisect --runs 1 --kernels k --good 6.1 --bad 6.10-rc1 arr-inc -q
in_err "bpflab: vm:6.10-rc1: qemu-system-x86_64 failed: qemu-system: cannot allocate memory"
[ ! -s out ] || die "figures: $(cat out)"

usage_error "bisect takes a bench, *" bisect --good 1 --bad 2
usage_error "bisect takes --good KERNEL, *" bisect --bad 2 arr-inc
usage_error "bisect takes --bad KERNEL, *" bisect --good 2 arr-inc
usage_error "'hash-inc': one bench is bisected at a time" bisect --good 1 --bad 2 arr-inc hash-inc
usage_error "no bench 'arr-ink'; did you mean 'arr-inc'? *" bisect --kernels a --good 1 --bad 2 arr-ink
usage_error "'trig-*' names * benches; one is bisected at a time" bisect --kernels a --good 1 --bad 2 'trig-*'
usage_error "'1' and 'vmlinuz-1' are the same kernel, 1; *" bisect --kernels a --good 1 --bad vmlinuz-1 arr-inc
usage_error "the good kernel, 2, comes after the bad one, 1; *--cheaper" bisect --kernels a --good 2 --bad 1 arr-inc
usage_error "cannot read the folder 'nowhere': *" bisect --kernels nowhere --good 1 --bad 2 arr-inc
usage_error "cannot read 'nowhere': *" bisect --kernels a --order nowhere --good 1 --bad 2 arr-inc
usage_error "--vm 'smp=2': *on one CPU*" bisect --vm smp=2 --good 1 --bad 2 arr-inc
usage_error "*no option 'smb'; did you mean 'smp'?*" bisect --vm smb=2 --good 1 --bad 2 arr-inc
usage_error "--above: 'x' is not a percentage *" bisect --above x --good 1 --bad 2 arr-inc
usage_error "--baseline is for --run, *" bisect --baseline x --good 1 --bad 2 arr-inc
usage_error "no kernel 1 for x86_64 is here yet; *" bisect --good 1 --bad 2 arr-inc
