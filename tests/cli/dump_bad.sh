# SPDX-License-Identifier: BSD-2-Clause
usage_error "dump takes a bench or an object file*" dump
usage_error "no bench 'arr-in'; did you mean 'arr-inc'?*" dump arr-in
usage_error "dump shows one bench or object file; 'c' is too many" dump arr-inc b c
usage_error "'arr-inc' has no program 'inc_nul'*" dump --on "$TARGET" arr-inc inc_nul
usage_error "'*types.bpf.o' has no program 'my_xdq'; did you mean 'my_xdp'?*" dump --on "$TARGET" \
	"$OBJECTS/types.bpf.o" my_xdq
usage_error "'*extension.bpf.o' has only programs that are not loaded unless asked for, such as 'replaces': name one, *" \
	dump --on "$TARGET" "$OBJECTS/extension.bpf.o"
usage_error "cannot load program 'traces' of '*extension.bpf.o': it is for a function of another program; *" \
	dump --on "$TARGET" "$OBJECTS/extension.bpf.o:traces"
usage_error "'count-local' has no BPF program" dump --on "$TARGET" count-local
usage_error "--arch is for machine code: --xlated has none" dump --arch arm64 --xlated arr-inc
usage_error "--arch: 'mips' is not x86_64 or arm64" dump --arch mips arr-inc
usage_error "--diff needs 2 values: *" dump --diff user
usage_error "--diff names the targets; leave --on out" dump --diff user host --on user arr-inc
usage_error "--diff takes two targets or two object files, not 'user' and 'x.o'" dump --diff user x.o arr-inc
usage_error "target 'user:foo=on': libbpfu has no option 'foo'*" dump --on user:foo=on arr-inc
usage_error "no target 'usr'; did you mean 'user'?*" dump --diff user usr arr-inc
usage_error "cannot open './missing.o': No such file or directory" dump ./missing.o
echo hello >text.o
usage_error "'text.o' is not an ELF file; *" dump text.o
usage_error "'*' is an ELF file, but not for BPF; *" dump "$BPFLAB"
usage_error "cannot load '*rejected.bpf.o' on $TARGET*: *invalid mem access*" dump --on "$TARGET" \
	"$OBJECTS/rejected.bpf.o"
usage_error "'*types.bpf.o:my_tc' names its program; leave out 'my_xdp'" dump "$OBJECTS/types.bpf.o:my_tc" my_xdp
usage_error "'*types.bpf.o:my_tc' names its program; leave out 'my_xdp'" \
	dump --diff "$OBJECTS/types.bpf.o" "$OBJECTS/types.bpf.o:my_tc" my_xdp
