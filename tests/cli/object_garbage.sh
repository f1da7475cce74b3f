# SPDX-License-Identifier: BSD-2-Clause
# Damaged objects, each a few bytes off: an error or a result, never a crash. Not on the kernel: a
# damaged map size is memory that it really takes.
have user || skip "the target user does not work yet"
for seed in $(seq 12); do
	python3 - "$OBJECTS/types.bpf.o" $seed <<'PY'
import random, sys
r = random.Random(int(sys.argv[2]))
d = bytearray(open(sys.argv[1], 'rb').read())
for _ in range(r.choice([1, 4, 20])):
    d[r.randrange(64, len(d))] = r.randrange(256)
open('bad.o', 'wb').write(d)
PY
	status=0
	timeout 20 "$BPFLAB" run --on user -q -w 0 -d 0.01 --rounds 1 bad.o >out 2>err ||
		status=$?
	[ $status -le 2 ] || die "seed $seed: status $status: $(cat err)"
	[ $status = 0 ] || [ -s err ] || die "seed $seed: no reason"
done
