#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The counts on kernels that docs/claims.md quotes: each of its commands that counts on a vm is run, and each line of
# the block behind it has to be in what the command prints, figure by figure. Figures with a ~ differ from
# boot to boot and are left out. The kernels have to be those that the page names.
#
# usage: tests/vm/claims.sh BUILD [PATTERN]     only commands that match
set -u

src=$(cd "$(dirname "$0")/../.." && pwd)
bpflab=$(cd "$1" && pwd)/bench/bpflab
pattern=${2:-*}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

same() { # LINE LINE: word by word, but for figures that one of them calls inexact
	local a b i

	read -ra a <<<"$1"
	read -ra b <<<"$2"
	[ ${#a[@]} = ${#b[@]} ] || return 1
	for i in "${!a[@]}"; do
		[ "${a[i]}" = "${b[i]}" ] || [[ ${a[i]} = ~* || ${b[i]} = ~* ]] || return 1
	done
}

nr=0 failed=0 command="" block=0
while IFS= read -r text; do
	case $text in
	'$ bpflab '*vm:*--count=*)
		command=${text#\$ bpflab }
		block=0
		;;
	'```')
		[ -n "$command" ] || continue
		block=$((block + 1)) # 1 closes the command's, 2 opens and 3 closes the figures'
		[ $block = 3 ] && command=""
		# shellcheck disable=SC2254
		case $block,$command in
		2,$pattern)
			echo "$command"
			# shellcheck disable=SC2086
			"$bpflab" $command >"$out" || {
				echo "FAIL it ended with $?"
				failed=1
			}
			;;
		2,*) command="" ;;
		esac
		;;
	*)
		if [ $block != 2 ] || [ -z "$command" ]; then continue; fi
		nr=$((nr + 1))
		found=0
		while IFS= read -r line; do
			same "$line" "$text" && found=1
		done < <(grep "^${text%% *} " "$out")
		[ $found = 1 ] || {
			echo "FAIL quoted: $text"
			grep "^${text%% *} " "$out"
			failed=1
		}
		;;
	esac
done <"$src/docs/claims.md"
echo "$nr lines of figures compared"
[ $nr -gt 0 ] && [ $failed = 0 ]
