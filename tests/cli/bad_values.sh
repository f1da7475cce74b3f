# SPDX-License-Identifier: BSD-2-Clause
usage_error "--producers: '0' is not a whole number from 1 to 1024" run -p 0
usage_error "--duration: 'x' is not a number of seconds above 0" run -d x
usage_error "--trig-batch-iters: '1001' is not a whole number from 1 to 1000" run --trig-batch-iters 1001
usage_error "--nr_loops needs a value: *" run --nr_loops
usage_error "--classic takes no value" run --classic=yes
usage_error "--prod-affinity: '3-1' is not a set of CPUs*" run --prod-affinity 3-1
usage_error "-c 2: these benches have no consumers; use -c 0" run -c 2 arr-inc
usage_error "--sweep 'p' is not NAME=A,B*" run --on "$TARGET" --sweep p arr-inc
usage_error "--sweep 'p=0': '0' is not a whole number from 1 to 1024" run --on "$TARGET" --sweep p=0 arr-inc
usage_error "--sweep 'p=1,': '' is not a whole number*" run --on "$TARGET" --sweep p=1, arr-inc
usage_error "--sweep 'p=2': 'p' is swept twice" run --on "$TARGET" --sweep p=1 --sweep p=2 arr-inc
usage_error "'p' is both set and swept" run --on "$TARGET" -p 2 --sweep p=1 arr-inc
usage_error "--sweep 'nr_loops=1': none of the benches chosen takes 'nr_loops'" \
	run --on "$TARGET" --sweep nr_loops=1 arr-inc
usage_error "--nr_loops: none of the benches chosen takes it" run --on "$TARGET" --nr_loops 5 arr-inc
usage_error "--json and --csv cannot both go to standard output" run --json - --csv - arr-inc
usage_error "--classic prints throughput only; leave out --json" run --classic --json f arr-inc
usage_error "--classic has intervals of a second*" run --classic --rounds 5 arr-inc
