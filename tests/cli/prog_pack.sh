# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick prog-pack --sweep programs=1,3,100 --json r.json
json r.json "[x['params']['programs'] for x in r] == [1, 3, 100]"
json r.json "all(x['events']['left_behind'] == x['events']['counted'] > 0 for x in r)"
in_out "prog-pack/programs=100 *"

# Too few, too many, not for this bench.
usage_error "--programs: '0' is not a whole number from 1 to 4096" run prog-pack --programs 0
usage_error "--programs: '4097' is not a whole number from 1 to 4096" run prog-pack --programs 4097
usage_error "--programs: none of the benches chosen takes it" run arr-inc --programs 2
usage_error "--sweep 'programs=1,9999': '9999' is not a whole number from 1 to 4096" \
	run prog-pack --sweep programs=1,9999

# A lost run is noticed: what the programs noted no longer fits.
BPFLAB_FAULT=lose-update expect 2 quick prog-pack --programs 5
in_err "bpflab: prog-pack*"

# The switch: memory as the system counts it, at least 8 times less.
[ "$TARGET" = user ] || exit 0
expect 0 "$BPFLAB" run --on user:prog_pack=on --on user:prog_pack=off -q -w 0 -d 0.05 --rounds 8 \
	prog-pack --json r.json
kib() {
	python3 -c 'import json, re, sys
rows = [json.loads(line) for line in open("r.json")]
found = re.search(r"code memory (\d+) KiB", rows[int(sys.argv[1])]["note"])
print(found.group(1) if found else 0)' "$1"
}
on=$(kib 0) off=$(kib 1)
[ "$off" != 0 ] || skip "programs are interpreted here, or smaps is not to be had"
[ "$off" -ge 16384 ] || die "4096 programs with a page each take $off KiB"
[ $((on * 8)) -le "$off" ] || die "packed programs take $on KiB, others $off KiB"
