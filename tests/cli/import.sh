# SPDX-License-Identifier: BSD-2-Clause
# Figures of texts: recognised, shown beside each other and beside measured ones, never judged.
cat >origin.txt <<'TXT'
# benchs/run_bench_trigger.sh
kretprobe :    1.329 ± 0.007M/s
kretprobe-multi:    1.341 ± 0.004M/s
kretprobe :    1.288 ± 0.014M/s
kretprobe-multi:    1.365 ± 0.002M/s
kretprobe :    1.329 ± 0.002M/s
kretprobe-multi:    1.331 ± 0.011M/s
kretprobe :    1.311 ± 0.003M/s
kretprobe-multi:    1.318 ± 0.002M/s s
TXT
cat >patched.txt <<'TXT'
> > kretprobe :    1.274 +- 0.003M/s
> > kretprobe-multi:    1.397 =C2=B1 0.002M/s
kretprobe :    1.307 ± 0.002M/s (+2%)
kretprobe-multi:    1.406 ± 0.004M/s
kretprobe :    1.279 ± 0.004M/s
kretprobe-multi:    1.330 ± 0.014M/s
kretprobe :    1.256 ± 0.010M/s
kretprobe-multi:    1.412 ± 0.003M/s
TXT
expect 0 "$BPFLAB" compare origin.txt patched.txt --json c.json
in_out "kretprobe on imported *761.0 ns*781.9 ns*+2.8 %*inconclusive*4/4 runs*without samples*scatter by 1.5 %*"
json c.json "[x['verdict'] for x in r] == ['inconclusive'] * 2 and all(x['ci'] is None for x in r)"
# 1000/M over the geometric mean of the four
json c.json "abs(r[0]['a']['ns_per_event'] - 1000 / (1.329 * 1.288 * 1.329 * 1.311) ** .25) < 1e-6"
expect 5 "$BPFLAB" compare origin.txt patched.txt --strict
# not even from many
for i in 1 2 3; do cat origin.txt; done >many.txt
for i in 1 2 3; do cat patched.txt; done >many2.txt
expect 0 "$BPFLAB" compare many.txt many2.txt
in_out "kretprobe on imported*inconclusive*12/12 runs*"
# beside a measured figure
printf 'count-local : 900.5 ± 1.5M/s\n' >old.txt
quick count-local --json new.json
expect 0 "$BPFLAB" compare old.txt new.json
in_out "count-local on imported, $TARGET*1.1* ns*inconclusive*a figure from a text against a measured one*"
# the other forms
cat >forms.txt <<'TXT'
Setting up benchmark 'arr-inc'...
Benchmark 'arr-inc' started.
Summary: hits   25.000 ± 0.205M/s ( 25.000M/prod), drops    0.000 ± 0.000M/s, total operations   25.000 ± 0.205M/s
nr_loops: 100
bpf_loop - throughput: 72.046 ± 1.352 M ops/s, latency: 13.880 ns/op
RESULT scenario=tcp-v4 samples=20 median=12.5 stddev=0.2 cv=1 min=12 p99=13 max=14
nothing : 12 apples ± 3
TXT
printf 'arr-inc : 20.0 ± 1M/s\ntcp-v4 : 100 ± 1M/s\nbpf_loop : 1 ± 0M/s\n' >others.txt
expect 0 "$BPFLAB" compare forms.txt others.txt
in_out "arr-inc on imported *40.00 ns*50.00 ns*1/1 runs*"
in_out "tcp-v4 on imported *12.50 ns*10.00 ns*"
grep -q bpf_loop out && die "bpf_loop with and without nr_loops are two benches"
printf 'nr_loops: 100\nbpf_loop : 100 ± 0M/s\n' >others.txt
expect 0 "$BPFLAB" compare forms.txt others.txt
in_out "bpf_loop/nr_loops=100 on imported *13.88 ns*10.00 ns*"
# of several threads: what each takes, and how many they are
cat >threads.txt <<'TXT'
Setting up benchmark 'count-global'...
Summary: hits   25.000 ± 0.205M/s (  6.250M/prod), drops    0.000 ± 0.000M/s, total operations   25.000 ± 0.205M/s
Setting up benchmark 'bpf-loop'...
Summary: throughput   25.000 ± 1.352 M ops/s (  6.250M ops/prod), latency  160.000 ns/op
TXT
expect 0 "$BPFLAB" report threads.txt --json -
json out "[(x['estimate'], x['params']['producers']) for x in r] == [(160, 4), (160, 4)]"
# a rate that is none is no figure
printf 'slow : 0.%0320d1 ± 0.1 M/s\n' 0 >slow.txt
usage_error "*'slow.txt' holds neither results of bpflab nor figures*" report slow.txt --csv -
# an archive that joined the lines
python3 -c "print('Hello ' * 300 + '> kprobe: 10.0 ± 0.1M/s (drops 0) > kretprobe: 5.0 ± 0.1M/s')" >joined.txt
printf 'kprobe: 10 ± 1M/s\nkretprobe : 4 ± 1M/s\n' >others.txt
expect 0 "$BPFLAB" compare joined.txt others.txt
in_out "kretprobe on imported*200.0 ns*250.0 ns*"
echo "no figures here" >none.txt
usage_error "*'none.txt' holds neither results of bpflab nor figures*" compare none.txt origin.txt
