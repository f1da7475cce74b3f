# SPDX-License-Identifier: BSD-2-Clause
# verify: verdicts of each target on each program, reasons, statistics, logs
on="--on ${HAVE// / --on }"
nr=$(wc -w <<<"$HAVE")
# shellcheck disable=SC2086
expect 0 "$BPFLAB" verify $on "$OBJECTS/straight.bpf.o"
[ "$(grep -c accepted out)" = $((2 * nr)) ] || die "not two programs on $nr targets: $(cat out)"
in_out "straight.bpf.o:longer *${HAVE%% *} *accepted * 8 *"
# shellcheck disable=SC2086
expect 0 "$BPFLAB" verify $on "$OBJECTS/straight.bpf.o:longer" "$OBJECTS/types.bpf.o:my_kprobe" --json
cp out r.json
json r.json "[(x['object'], x['program']) for x in r] == [('straight.bpf.o', 'longer'), ('types.bpf.o', 'my_kprobe')] * $nr"
json r.json "all(x['accepted'] and x['schema'] == 'bpflab.verify/1' and 'log' not in x for x in r)"
json r.json "{x['target'] for x in r} == set('$HAVE'.split())"
json r.json "{x['insns'] for x in r if x['program'] == 'longer'} == {8}"

# refused: the line that says why, and what the others make of theirs
# shellcheck disable=SC2086
expect 2 "$BPFLAB" verify $on "$OBJECTS/rejected.bpf.o" "$OBJECTS/straight.bpf.o:shorter"
in_out "rejected.bpf.o:reads_anywhere *refused [[]1]*"
in_out "[[]1] errno 13: R1 invalid mem access 'scalar'"
in_out "straight.bpf.o:shorter *accepted*"
expect 2 "$BPFLAB" verify --on "$TARGET" -v "$OBJECTS/rejected.bpf.o"
in_err "rejected.bpf.o:reads_anywhere on $TARGET:"
in_err "*R1 invalid mem access 'scalar'"
in_err "*R10=fp0*"
expect 2 "$BPFLAB" verify --on "$TARGET" -v --json "$OBJECTS/rejected.bpf.o"
cp out r.json
json r.json "not r[0]['accepted'] and r[0]['errno'] == 13 and \"R1 invalid mem access\" in r[0]['log'] and 'R10=fp0' in r[0]['log']"

# what only another process can load
expect 2 "$BPFLAB" verify --on "$TARGET" "$OBJECTS/extension.bpf.o"
in_out "*errno *: it is for a function of another program; only a process that has loaded that one can load it"

usage_error "verify takes an object file, *" verify
usage_error "'arr-inc' is no object file *" verify arr-inc
usage_error "'$OBJECTS/straight.bpf.o' has no program 'x'" verify --on "$TARGET" "$OBJECTS/straight.bpf.o:x"
usage_error "cannot open 'nowhere.o': *" verify --on "$TARGET" nowhere.o
usage_error "target '$TARGET' is given twice" verify --on "$TARGET" --on "$TARGET" "$OBJECTS/straight.bpf.o"
usage_error "no kernel 9.9 for x86_64 is here yet; *" verify --on vm:9.9 "$OBJECTS/straight.bpf.o"
echo text >text.o
usage_error "'text.o' is not an ELF file; *" verify --on "$TARGET" text.o
