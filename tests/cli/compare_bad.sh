# SPDX-License-Identifier: BSD-2-Clause
usage_error "compare needs two things*" compare
usage_error "compare needs two things*" compare "$TARGET"
usage_error "*no target 'usr'*did you mean 'user'*" compare usr "$TARGET"
usage_error "*--quick, --rigorous and --quads exclude each other*" compare "$TARGET" "$TARGET" --quick --quads 9
usage_error "--quads: '5' is not*" compare "$TARGET" "$TARGET" --quads 5
usage_error "--margin: '0' is not*" compare "$TARGET" "$TARGET" --margin 0
usage_error "--margin: 'x' is not*" compare "$TARGET" "$TARGET" --margin x
usage_error "--fail-above: '-1' is not*" compare "$TARGET" "$TARGET" --fail-above=-1
usage_error "--loads: '0' is not*" compare "$TARGET" "$TARGET" --loads 0
usage_error "--on says where two object files*" compare "$TARGET" "$TARGET" --on user
usage_error "*no bench 'arr-incc'*" compare "$TARGET" "$TARGET" arr-incc
usage_error "*cannot both go to standard output*" compare "$TARGET" "$TARGET" --json - --csv -
usage_error "cannot write './none/x'*" compare "$TARGET" "$TARGET" --json ./none/x
usage_error "*'run' has no option --margin*" run --margin 3
