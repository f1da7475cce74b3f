# SPDX-License-Identifier: BSD-2-Clause
# machine code of this machine and of the others, from one program
have user || skip "user does not work here"
expect 0 "$BPFLAB" dump --jited hash-inc
in_out "hash_inc on user, *: 2 functions, * instructions, * bytes, tag *"
in_out "*call *bpf_map_update_elem" || in_out "*bl bpf_map_update_elem"
in_out "*{map percpu_hash}"
in_out "; inc.bpf.c:*: *bpf_map_lookup_elem(&percpu_hash, &key);"
for arch in x86_64 arm64; do
	expect 0 "$BPFLAB" dump --arch $arch --json hash-inc
	mv out $arch.json
done
json x86_64.json "r[0]['arch'] == 'x86_64' and all(f['instructions'][-1]['kind'] in ('return', 'branch', 'compute') for f in r[0]['functions'])"
json arm64.json "r[0]['arch'] == 'aarch64' and all(i['offset'] % 4 == 0 and len(i['bytes']) == 8 for f in r[0]['functions'] for i in f['instructions'])"
json arm64.json "any('bl bpf_map_update_elem' in i['text'] for f in r[0]['functions'] for i in f['instructions'])"
json x86_64.json "any('call bpf_map_update_elem' in i['text'] for f in r[0]['functions'] for i in f['instructions'])"
# every byte of a function is shown, once; labels are where branches go
for arch in x86_64 arm64; do
	json $arch.json "all(sum(len(i['bytes']) // 2 for i in f['instructions']) == f['bytes'] for f in r[0]['functions'])"
	json $arch.json "all({i['target'] for i in f['instructions'] if 'target' in i} == {i['offset'] for i in f['instructions'] if 'label' in i} for f in r[0]['functions'])"
done
# also where there is nothing compiled
expect 0 "$BPFLAB" dump --on user:jit=off --arch arm64 hash-inc
usage_error "'hash_inc' has no machine code on user:jit=off: *" dump --on user:jit=off --jited hash-inc
# what the machine runs is what is shown: the size that libbpfu reports
"$BPFLAB" run --on user -q -d 0.05 -w 0 --rounds 8 --json r.json hash-inc >/dev/null
expect 0 "$BPFLAB" dump --jited --json hash-inc
cat out >>r.json
json r.json "r[0]['prog']['jited_len'] == sum(f['bytes'] for f in r[1]['functions'])"
