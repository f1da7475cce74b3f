# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick arr-inc --trig-batch-iters 10 --json r.json
in_out "arr-inc/iters=10 *"
json r.json "r[0]['params']['trig_batch_iters'] == 10"
json r.json "all(s['ops'] % 10 == 0 for s in r[0]['samples'] if s['arm'] != 'trigger')"
# 10 events a trigger: the null carries a tenth of a trigger per event
json r.json "r[0]['null_ns'] > r[0]['trigger_ns'] / 40"
