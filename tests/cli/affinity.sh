# SPDX-License-Identifier: BSD-2-Clause
cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
first=${cpus%% *}
last=${cpus##* }
expect 0 quick arr-inc -a --json r.json
json r.json "r[0]['pinned'] and {s['cpu'] for s in r[0]['samples']} == {$first}"
json r.json "not any(s['migrated'] for s in r[0]['samples'])"
expect 0 quick arr-inc --prod-affinity "$last" --json r.json
json r.json "r[0]['pinned'] and {s['cpu'] for s in r[0]['samples']} == {$last}"
# no consumers to pin, but as with the kernel's tool it turns pinning on
expect 0 quick arr-inc --cons-affinity "$last" --json r.json
json r.json "r[0]['pinned'] and {s['cpu'] for s in r[0]['samples']} == {$first}"
expect 0 quick arr-inc --json r.json
json r.json "not r[0]['pinned']"
usage_error "cannot pin producer 0 to CPU 1023: *" run --on "$TARGET" arr-inc --prod-affinity 1023
