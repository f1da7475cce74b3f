# SPDX-License-Identifier: BSD-2-Clause
# A difference that no noise hides: interpreted, the bench takes many times as long. Without the control,
# which is wrong in 1 % by design.
have user || skip "the target user does not work here"
expect 0 "$BPFLAB" compare user:jit=on user:jit=off hash-inc -w 0 --no-control --json c.json
json c.json "r[0]['verdict'] == 'slower' and r[0]['effect']['ci'][0] > 1.1"
in_out "hash-inc is * slower on B, 95 % interval *; no control."
expect 0 "$BPFLAB" compare user:jit=off user:jit=on hash-inc -w 0 --no-control
in_out "hash-inc is * faster on B, *"
# a gate: slower by more than is allowed, twice; and not if so much is
expect 3 "$BPFLAB" compare user:jit=on user:jit=off hash-inc -w 0 --no-control --fail-above 3 --json g.json
in_out "hash-inc: confirmed by a fresh run of *"
json g.json "r[0]['confirmation']['confirmed'] and r[0]['confirmation']['seed'] != r[0]['seed']"
expect 0 "$BPFLAB" compare user:jit=on user:jit=off hash-inc -w 0 --no-control --fail-above 10000
expect 0 "$BPFLAB" compare user:jit=off user:jit=on hash-inc -w 0 --no-control --fail-above 0
