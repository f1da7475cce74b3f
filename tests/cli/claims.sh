# SPDX-License-Identifier: BSD-2-Clause
# Every command of docs/claims.md works, with less effort, and says what the page says of the imported.
have user || skip "the page is about user"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nr=0
while read -r _ _ command arguments; do
	effort=""
	case "$command $arguments" in
	*.txt) ;;
	*--classic*) arguments=${arguments/-d 3 -w 1/-d 1 -w 0} ;;
	compare*) effort="--quads 6 --loads 1 --no-control -w 0" ;;
	run*) effort="-d 0.1 --rounds 6 -w 0" ;;
	esac
	case $arguments in
	*vm:*) # understood; kernels are not here, and guests are for tests/vm
		XDG_CACHE_HOME=$PWD/none usage_error "no kernel * is here yet; run: bpflab kernel fetch *" \
			"$command" $arguments
		nr=$((nr + 1))
		continue
		;;
	*host*) have host || continue ;;
	esac
	arguments=${arguments//docs\//$top/docs/}
	# shellcheck disable=SC2086
	expect 0 "$BPFLAB" $command $arguments $effort -q
	nr=$((nr + 1))
	case $arguments in
	*kretprobe_before*) in_out "kretprobe on imported *761.0 ns*781.9 ns*+2.8 %*inconclusive*scatter by 1.5 %*" ;;
	*private_stack_first*) in_out "no-private-stack-1 on imported *-4.2 %*inconclusive*"
		in_out "private-stack-2048 on imported *+7.5 %*inconclusive*"
		in_out "no-private-stack-4096 on imported *0.0083 ns*" ;;
	esac
done < <(grep '^\$ bpflab ' "$top/docs/claims.md")
[ $nr -ge 3 ] || die "only $nr commands"
