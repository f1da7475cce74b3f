# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" list
for bench in count-global count-local bpf-loop bpf-loop-direct glob-arr-inc arr-inc hash-inc kptr-xchg \
	private-stack no-private-stack; do
	in_out "$bench *one event: *"
done
in_out "*subtracted: *"
in_out "*runs on: user, host*takes --nr_loops*quick suite"
in_out "*runs on: user, host, vm; takes --nr-batch-iters"
expect 0 "$BPFLAB" run -l
in_out "arr-inc *"
usage_error "list takes no names, and got 'arr-inc'" list arr-inc
