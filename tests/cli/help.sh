# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" help
in_out "*bpflab run *"
in_out "*bpflab doctor *"
expect 0 "$BPFLAB" --help
in_out "*bpflab run *"
expect 0 "$BPFLAB" help run
in_out "*--trig-batch-iters N*"
mv out help.txt
expect 0 "$BPFLAB" run --help
cmp out help.txt
expect 0 "$BPFLAB" run -h
cmp out help.txt
expect 0 "$BPFLAB" list --help
in_out "*--json *"
usage_error "no command 'rum'; did you mean 'run'?*" help rum
usage_error "help takes one command, not 'run' and 'list'" help run list
