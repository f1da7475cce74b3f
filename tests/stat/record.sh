#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Records what a machine does to batches that are all the same, for stat_test --recorded:
#
#	record.sh BPFLAB TARGET BENCH >FILE
#
# A bench against itself, 400 quads; one line of nanoseconds per batch of the program, in time order.
# Quads that were preempted are among them.
set -eu
"$1" compare "$2" "$2" "$3" --no-control --quads 400 --json - | python3 -c '
import json, sys
for s in json.loads(sys.stdin.readline())["samples"]:
    if not s["null"]:
        print(round(s["ns"]))
'
