# SPDX-License-Identifier: BSD-2-Clause
# What would have no effect is refused; beside what it belongs to, it is not.
usage_error "--runs goes with --count=insns*" run --on "$TARGET" --runs 3 arr-inc
usage_error "--runs goes with --count=insns*" compare --runs 3 "$TARGET" "$TARGET" arr-inc
usage_error "--ascii goes with --markdown or --text" run --on "$TARGET" --ascii arr-inc
usage_error "--timeout goes with a target vm:KERNEL or with --count=insns" run --on "$TARGET" --timeout 5 arr-inc
usage_error "--qemu-args goes with a target vm:KERNEL" profile --on "$TARGET" --qemu-args "-d int" arr-inc
usage_error "--print-command goes with a target vm:KERNEL" compare --print-command "$TARGET" "$TARGET" arr-inc
usage_error "--modules is for bpflab kernel add" kernel list --modules d
usage_error "--config is for bpflab kernel add" kernel list --config f
usage_error "--mirror is for bpflab kernel fetch" kernel list --mirror m
usage_error "--file is for bpflab kernel exec" kernel list --file f
usage_error "--keep is for bpflab history prune" history show --keep 3
usage_error "--older-than is for bpflab history prune" history show --older-than 3
expect 0 "$BPFLAB" run --on "$TARGET" -d 0.1 -w 0 --rounds 3 -q --ascii --text text arr-inc
[ -s text ] || die "no text"
# what says how benches are measured, where none are
usage_error "--instances measures a command: leave out --markdown" run prog-pack --instances 0 --markdown f -- true
usage_error "--instances measures a command: leave out --duration" run prog-pack --instances 0 -d 3 -- true
usage_error "--instances measures a command: leave out --affinity" run prog-pack --instances 0 -a -- true
quick count-local --json r.json
usage_error "result files are not measured: leave out --duration" compare r.json r.json -d 5
usage_error "result files are not measured: leave out --no-control" compare r.json r.json --no-control
usage_error "result files are not measured: leave out --seed" compare r.json r.json --seed 5
usage_error "result files are not measured: leave out --prod-affinity" compare r.json r.json --prod-affinity 0
usage_error "only history gate measures: leave out --quads" history add r.json --db db --quads 40
usage_error "only history gate measures: leave out --fail-above" history show --db db --fail-above 3
usage_error "--json is for bpflab history show and gate" history add r.json --db db --json f
[ ! -e db ] || die "a history of nothing"
usage_error "--count=insns goes without --prepare: *" run --count=insns arr-inc --prepare true
usage_error "--count=insns goes without --consumers: *" run --count=insns arr-inc -c 2
