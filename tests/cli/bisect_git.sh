# SPDX-License-Identifier: BSD-2-Clause
# bisect --run as the command of git bisect run: its exit statuses, and a repository in which git finds the commit
. "$TESTS/fake_kernels.sh"
[ "$(uname -m)" = x86_64 ] || skip "the fake kernels are for x86-64 hosts"

step() {
	local want=$1
	shift
	expect "$want" "$BPFLAB" bisect --run --runs 1 "$@"
}

# refused: always 128 and one line, never what git takes for bad
refused() {
	local pattern=$1
	shift
	step 128 "$@"
	one_line_error "$pattern"
}

fake_kernel good cost=339
fake_kernel bad cost=340
fake_kernel better cost=338
fake_kernel panics boot=no
fake_kernel lacks failed=no_such_helper
fake_kernel fails qemu=fails
step 0 --good-value 339 arr-inc good
[ "$(cat out)" = "good: arr-inc: 339 instructions per event, 339 is good: good" ] || die "$(cat out)"
step 1 --good-value 339 arr-inc bad
in_out "bad: arr-inc: 340 instructions per event, 339 is good: bad"
step 0 --good-value 339 arr-inc better
step 1 --good-value 339 --cheaper arr-inc better
step 0 --good-value 339 --above 1% arr-inc bad
step 125 --good-value 339 arr-inc panics
in_out "panics: skipped: vm:panics: its kernel panicked *"
step 125 --good-value 339 arr-inc lacks
in_out "lacks: skipped: no such helper"
step 1 --good-value 339 --json arr-inc bad
cp out r.json
json r.json "r[0]['verdict'] == 'bad' and r[0]['estimate'] == 340 and r[0]['good'] == 339 and r[0]['emulated'] is True"
forget_boots
step 0 --good-value 339 --runs 3 arr-inc good
[ "$(boots good)" = 3 ] || die "$(boots good) boots, not 3"
forget_boots
expect 0 "$BPFLAB" bisect --run --good-value 339 arr-inc good
[ "$(boots good)" = 2 ] || die "$(boots good) boots, not 2"

# the baseline is a result
fake_kernel scattered cost=339,340
expect 0 "$BPFLAB" kernel add scattered scattered
expect 0 "$BPFLAB" run arr-inc --on vm:scattered --count=insns --runs 2 --json base.json
step 0 --baseline base.json arr-inc bad
fake_kernel worse cost=341
step 1 --baseline base.json arr-inc worse
refused "'base.json' has no counts of 'hash-inc'" --baseline base.json hash-inc good
refused "*nowhere*" --baseline nowhere arr-inc good
cat base.json base.json >two.json
refused "'two.json' has more than one result of 'arr-inc' *" --baseline two.json arr-inc good

refused "vm:fails: qemu-system-x86_64 failed: *" --good-value 339 arr-inc fails
refused "--good-value: 'x' is not a number, *" --good-value x arr-inc good
refused "--run takes what a good kernel costs: *" arr-inc good
refused "--run takes one of them: *" --good-value 1 --baseline base.json arr-inc good
refused "--run takes a bench and a kernel's image, *" --good-value 339 arr-inc
refused "cannot read 'nowhere/vmlinuz': *" --good-value 339 arr-inc nowhere/vmlinuz
refused "'base.json' is no kernel image; *" --good-value 339 arr-inc base.json
refused "no bench 'arr-ink'; *" --good-value 339 arr-ink good
refused "no option '--god-value'; did you mean '--good-value'? *" --god-value 339 arr-inc good
refused "--run judges one kernel: leave out --good" --good 6.1 --good-value 339 arr-inc good
refused "'nowhere' is no folder of modules" --good-value 339 --modules nowhere arr-inc good
refused "'good' is a kernel of x86_64, not of arm64" --good-value 339 --vm arch=arm64 arr-inc good
status=0
"$BPFLAB" bisect --run --good-value 339 arr-inc good >/dev/full 2>err || status=$?
[ $status = 128 ] || die "exit status $status with a full disk"

command -v git >/dev/null || skip "no git for the rest"
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q repo
commit() {
	local name=$1
	shift
	fake_kernel repo/bzImage "$@"
	git -C repo add bzImage
	echo "$name" >repo/name
	git -C repo add name
	git -C repo commit -q -m "$name"
}
for i in 1 2 3 4; do commit "ok $i" cost=339; done
commit broken boot=no
commit culprit cost=357
commit "later 1" cost=357
commit "later 2" boot=no
commit "later 3" cost=357
cat >judge.sh <<SH
#!/bin/sh
exec "$BPFLAB" bisect --run --good-value 339 -q --runs 1 arr-inc bzImage
SH
chmod +x judge.sh
git -C repo bisect start HEAD HEAD~8 >/dev/null
status=0
git -C repo bisect run "$PWD/judge.sh" >out 2>&1 || status=$?
# the one before the culprit does not boot: git names both
[ $status = 2 ] || die "git bisect run: $status: $(cat out)"
in_out "There are only 'skip'ped commits left to test."
git -C repo bisect log >log
for name in broken culprit; do
	hash=$(git -C repo log --all --format=%H --grep="^$name\$")
	grep -q "$hash" out || die "git does not name '$name': $(cat out)"
done
git -C repo bisect reset >/dev/null 2>&1
# without the broken one it is one commit
git -C repo checkout -q -b straight HEAD~5
commit "fixed" cost=339
commit "the culprit" cost=357
commit "after" cost=357
git -C repo bisect start HEAD HEAD~6 >/dev/null
git -C repo bisect run "$PWD/judge.sh" >out 2>&1 || die "git bisect run: $(cat out)"
in_out "$(git -C repo log --all --format=%H --grep='^the culprit$') is the first bad commit"
