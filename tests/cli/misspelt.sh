# SPDX-License-Identifier: BSD-2-Clause
usage_error "no command 'rnu'; did you mean 'run'?*" rnu
usage_error "no command (bpflab help)"
usage_error "no option '--clasic'; did you mean '--classic'?*" run --clasic
usage_error "no option '-Z' (bpflab help run)" run -Z
usage_error "no bench 'has-inc'; did you mean 'hash-inc'?*" run --on "$TARGET" has-inc
usage_error "no bench 'x\*y' (bpflab list shows all)" run --on "$TARGET" 'x*y'
usage_error "no target 'usr'; did you mean 'user'?*" run --on usr
usage_error "--sweep 'nr_lops=1': no parameter 'nr_lops'; did you mean 'nr_loops'?*" \
	run --on "$TARGET" bpf-loop --sweep nr_lops=1
usage_error "'list' has no option --classic; 'run' has" list --classic
