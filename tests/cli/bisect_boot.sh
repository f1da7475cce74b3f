# SPDX-License-Identifier: BSD-2-Clause
# bisect on real kernels, those of the store that are of 6.1 and 6.12: a loop's step became two instructions longer
# between them; by bpflab alone, and by git bisect run in a repository whose commits are kernels
[ -e "$(dirname "$BPFLAB")/bpflab-guest-x86_64" ] || skip "no bpflab-guest-x86_64 was built"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (Debian: qemu-system-x86)"
expect 0 "$BPFLAB" kernel list --json
cp out kernels.json
dir_of() {
	python3 - "$1" <<'PY'
import json, sys
print(([k["dir"] for k in json.load(open("kernels.json")) if k["arch"] == "x86_64" and
        (k["name"] + ".").startswith(sys.argv[1] + ".")] or [""])[-1])
PY
}
old=$(dir_of 6.1) new=$(dir_of 6.12)
[ -n "$old" ] && [ -n "$new" ] || skip "no kernels 6.1 and 6.12 are here (bpflab kernel fetch 6.1)"

# a folder with both, and one between them that does not boot; modules where they are looked for
mkdir -p k
cp "$old/vmlinuz" k/vmlinuz-6.1
ln -s "$old/modules" k/modules-6.1
ln -s "$new" k/6.12
head -c 4096 "$old/vmlinuz" >k/vmlinuz-6.6
expect 5 "$BPFLAB" bisect --kernels k --good 6.1 --bad 6.12 bpf-loop --runs 1 --timeout 120 --json
cp out r.json
json r.json "r[0]['outcome'] == 'narrowed' and r[0]['last_good'] == '6.1' and r[0]['first_bad'] == '6.12'"
json r.json "[k['fraction'] for k in r[0]['kernels'] if 'fraction' in k] == [[15, 1], [17, 1]]"
json r.json "[k['verdict'] for k in r[0]['kernels']] == ['good', 'skipped', 'bad'] and r[0]['kernels'][1]['reason']"

command -v git >/dev/null || skip "no git for the rest"
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
	GIT_COMMITTER_EMAIL=a@b
git init -q repo
for i in 1 2 3 4 5; do
	from=$old
	[ $i -lt 4 ] || from=$new
	ln -sfn "$from/vmlinuz" repo/vmlinuz
	ln -sfn "$from/modules" repo/modules
	echo $i >repo/number
	git -C repo add .
	git -C repo commit -q -m "$i"
done
expect 0 "$BPFLAB" run bpf-loop --on "vm:$(basename "$old" .x86_64)" --count=insns --runs 1 --json good.json
cat >judge.sh <<SH
#!/bin/sh
exec "$BPFLAB" bisect --run --baseline "$PWD/good.json" --runs 1 --modules modules bpf-loop vmlinuz
SH
chmod +x judge.sh
git -C repo bisect start HEAD HEAD~4 >/dev/null
git -C repo bisect run "$PWD/judge.sh" >out 2>&1 || die "git bisect run: $(cat out)"
in_out "$(git -C repo log --all --format=%H --grep='^4$') is the first bad commit"
in_out "vmlinuz: bpf-loop/nr_loops=10: 17 instructions per event, 15 is good: bad"
