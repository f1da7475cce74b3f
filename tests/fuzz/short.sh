#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Replay a target's corpus and fuzz for a few seconds from a fixed seed; what is found stays in the
# temporary folder that is printed.
# usage: short.sh TARGET SECONDS
set -eu

target=$1
seconds=$2
name=$(basename "$target")
corpus=$(cd "$(dirname "$0")" && pwd)/corpus/$name
work=$(mktemp -d)

if "$target" -seed=1 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=4096 \
	-print_final_stats=1 -artifact_prefix="$work/" "$work" "$corpus"; then
	rm -rf "$work"
else
	echo "$name: the input that failed is in $work:" >&2
	for found in "$work"/crash-* "$work"/leak-* "$work"/timeout-* "$work"/oom-*; do
		[ -e "$found" ] && { echo "$found"; base64 "$found"; } >&2
	done
	exit 1
fi
