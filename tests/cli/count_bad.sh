# SPDX-License-Identifier: BSD-2-Clause
# What cannot be counted gets one line, and nothing is left behind.
arch=$(uname -m)
usage_error "--count: 'cycles' is not insns" run arr-inc --count=cycles
usage_error "--count=insns takes the benches to count *" run --count=insns
usage_error "--count=insns goes without --duration: nothing is timed" run arr-inc --count=insns -d 1
usage_error "--count=insns goes without --producers: *" run arr-inc --count=insns -p 2
usage_error "--count=insns goes without --sweep 'p=1,2': *" run arr-inc --count=insns --sweep p=1,2
usage_error "--count=insns goes without --quads: *" compare user user arr-inc --count=insns --quads 40
usage_error "target 'host': *where there is no host; count on user, native or vm:VERSION" run arr-inc --count=insns --on host
usage_error "target 'user:arch=x86_64': *--count=insns*" run arr-inc --on user:arch=x86_64
usage_error "windows takes a bench *" windows
usage_error "--symbols tells the functions of a kernel: give one, --on vm:VERSION" run arr-inc --count=insns --symbols
usage_error "'user': --symbols with --count tells the functions of kernels, *" \
	run arr-inc --count=insns --symbols --on vm:9.9 --on user
usage_error "'user': --why with --count tells the functions of kernels, *" \
	compare vm:9.9 user arr-inc --count=insns --why
usage_error "--symbols goes with --count=insns: *" run arr-inc --symbols
usage_error "--symbols tells what lies where in a kernel: add --on host" windows arr-inc --symbols

if [ "$arch" = x86_64 ] && command -v qemu-system-x86_64 >/dev/null; then
	XDG_CACHE_HOME=$PWD usage_error "no kernel 9.9 for x86_64 is here yet; run: bpflab kernel fetch 9.9" \
		run arr-inc --count=insns --on vm:9.9
fi

# Without QEMU, with one that has no plugins, with one whose plugins are of another version, with a plugin
# that says nothing more.
mkdir bin
PATH=$PWD/bin:/nowhere "$(command -v bash)" -c '"$0" run arr-inc --count=insns' "$BPFLAB" >out 2>err && die "no QEMU"
one_line_error "counting on * takes qemu-$arch, which is not in PATH (Debian: qemu-user)"
fake() {
	printf '#!/bin/bash\n[ "$1" = --version ] && { echo "qemu version 9.9.9 (Debian)"; exit; }\n%s\n' "$1" \
		>"bin/qemu-$arch"
	chmod +x "bin/qemu-$arch"
}
run_with() {
	PATH=$PWD/bin:/usr/bin:/bin expect 1 "$BPFLAB" run arr-inc --count=insns
}
fake 'echo "qemu: unknown option '"'plugin'"'" >&2; exit 1'
run_with
one_line_error "qemu-$arch 9.9.9 does not load plugins, *install Debian's qemu-user (qemu: unknown option*"
fake 'echo "Could not load plugin x: plugin requires API version 1, but this QEMU supports only a minimum version of 2" >&2; exit 1'
run_with
one_line_error "qemu-$arch 9.9.9 loads plugins of another version than bpflab's, *4.2 to 8.2 *"

command -v "qemu-$arch" >/dev/null || exit 0
usage_error "target 'user:jit=maybe': *" run arr-inc --count=insns --on user:jit=maybe
usage_error "arch=sparc: instructions are counted on x86_64 and arm64" \
	run arr-inc --count=insns --on user:arch=sparc
usage_error "no bench 'arr-ink'; did you mean 'arr-inc'? *" run arr-ink --count=insns
usage_error "target 'user:arch=$arch' is given twice" run arr-inc --count=insns --on user --on "user:arch=$arch"
other=arm64
[ "$arch" = x86_64 ] || other=x86_64
if command -v qemu-aarch64 >/dev/null && command -v qemu-x86_64 >/dev/null; then
	BPFLAB_GUEST_DIR=$PWD usage_error "BPFLAB_GUEST_DIR: no bpflab-guest-$other in '$PWD'" \
		run arr-inc --count=insns --on "user:arch=$other"
fi
# a bench that fails its checks has no figure
BPFLAB_FAULT=drop-event expect 2 "$BPFLAB" run arr-inc --count=insns --runs 1 -q
in_err "bpflab: arr-inc on user*: the program executed * events of * asked for"
[ ! -s out ] || die "figures of a bench that failed: $(cat out)"
# --keep-going holds here, too; if nothing is left to count, that has been said
expect 0 "$BPFLAB" run "$OBJECTS/rejected.bpf.o" arr-inc --count=insns --runs 1 -q --keep-going
in_out "arr-inc *1 of 1"
one=$(wc -l <err)
[ "$one" = 1 ] || die "not one line: $(cat err)"
expect 1 "$BPFLAB" run "$OBJECTS/rejected.bpf.o" --count=insns --runs 1 -q --keep-going
one_line_error "cannot load '*rejected.bpf.o' on user*"
# Ctrl-C ends all of it
"$BPFLAB" run bpf-loop --nr_loops 7777 --count=insns --runs 1000 >out 2>err &
pid=$!
for _ in $(seq 200); do
	pgrep -f "windows .*--nr_loops 7777" >/dev/null && break
	sleep 0.05
done
pgrep -f "windows .*--nr_loops 7777" >/dev/null || die "no emulated process was started"
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || die "exit status $status after SIGINT"
[ ! -s out ] || die "figures after SIGINT: $(cat out)"
pgrep -f "windows .*--nr_loops 7777" >/dev/null && die "an emulated process is left"
exit 0
