# SPDX-License-Identifier: BSD-2-Clause
run_object() {
	local pattern=$1
	shift
	usage_error "$pattern" run --on "$TARGET" -q "$@"
}
run_object "cannot open './missing.bpf.o': No such file or directory" ./missing.bpf.o
echo hello >text.o
run_object "'text.o' is not an ELF file; compile it with clang*" text.o
: >empty.o
run_object "'empty.o' is empty; *" empty.o
run_object "'./.' is not a regular file" ./.
mkfifo fifo.o
run_object "'fifo.o' is not a regular file" fifo.o
cp "$BPFLAB" program.o
run_object "'program.o' is an ELF file, but not for BPF; *" program.o
size=$(stat -c %s "$OBJECTS/types.bpf.o")
for part in 30 64 200 $((size / 2)) $((size - 1)); do
	head -c "$part" "$OBJECTS/types.bpf.o" >short.o
	run_object "'short.o' is cut short: *copy or compile it again" short.o
done
run_object "'*kprobe.bpf.o' has no program that can be measured: only raw_tp, *" "$OBJECTS/kprobe.bpf.o"
run_object "cannot load '*rejected.bpf.o' on $TARGET: *invalid mem access*" "$OBJECTS/rejected.bpf.o"
run_object "'*huge.bpf.o': program 'huge' has 10000?? instructions, more than the 1000000 *split it*" \
	"$OBJECTS/huge.bpf.o"
