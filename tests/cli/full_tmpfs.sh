# SPDX-License-Identifier: BSD-2-Clause
# A disk that fills up: the old file stays as it was, and no part of a new one.
[ "$(id -u)" = 0 ] || skip "needs root, to mount a tmpfs"
mkdir disk
mount -t tmpfs -o size=8k tmpfs disk || skip "cannot mount a tmpfs"
trap 'umount disk' EXIT
echo old >disk/r.json
expect 1 quick arr-inc --json disk/r.json
in_err "bpflab: cannot write 'disk/r.json': No space left on device"
[ "$(cat disk/r.json)" = old ] || die "the old file is damaged"
# a history is as it was, too
printf '%s\n' '{"schema":"bpflab.result/1","bench":"x","target":"user","estimate":1,"distinguishable":true,"env":{"kernel":"k","time":"t"}}' >small.json
umount disk
mount -t tmpfs -o size=64k tmpfs disk
expect 0 "$BPFLAB" history add small.json --db disk/h.db
python3 -c "
import json
o = json.load(open('small.json'))
print('\n'.join(json.dumps(dict(o, seed=str(i))) for i in range(2000)))" >big.json
expect 1 "$BPFLAB" history add big.json --db disk/h.db
in_err "bpflab: cannot write 'disk/h.db': no space left on the device"
expect 0 "$BPFLAB" history show --db disk/h.db --json all.json
[ "$(wc -l <all.json)" = 1 ] || die "a part of it is there: $(wc -l <all.json)"
rm disk/h.db*
echo old >disk/r.json
[ "$(ls -A disk)" = r.json ] || die "left behind: $(ls -A disk)"
