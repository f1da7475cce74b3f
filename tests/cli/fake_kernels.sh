# SPDX-License-Identifier: BSD-2-Clause
# Kernels that a stand-in for QEMU boots (fake_qemu.py); sourced by tests, in their scratch directory.
mkdir bin guests
for machine in x86_64 aarch64; do
	cat >bin/qemu-system-$machine <<SH
#!/bin/sh
[ "\$1" != --version ] || exec echo "QEMU emulator version 7.2.22 (Debian)"
exec python3 -S -E "$TESTS/fake_qemu.py" "\$@"
SH
	chmod +x bin/qemu-system-$machine
done
: >guests/bpflab-guest-x86_64
: >guests/bpflab-guest-arm64
: >boots
export PATH=$PWD/bin:$PATH BPFLAB_GUEST_DIR=$PWD/guests FAKE_LOG=$PWD/boots XDG_CACHE_HOME=$PWD/cache
unset BPFLAB_QEMU_X86_64 BPFLAB_QEMU_ARM64 BPFLAB_QEMU_ARGS

# fake_kernel FILE WORD...: cost=A,B…: instructions of an event, boot by boot; boot=no; failed=why, with _ for
# blanks; qemu=fails; arch=arm64
fake_kernel() {
	local file=$1 image=x86_64
	shift
	case "$*" in
	*arch=arm64*) image=arm64 ;;
	esac
	mkdir -p "$(dirname "$file")"
	cp "guests/image-$image" "$file"
	echo "$*" >>"$file"
}

{ head -c 514 /dev/zero && printf HdrS && head -c 3578 /dev/zero; } >guests/image-x86_64
{ head -c 56 /dev/zero && printf 'ARM\144' && head -c 4036 /dev/zero; } >guests/image-arm64

# how often kernel images whose names end in $1 were booted since the last call of forget_boots
boots() { grep -c -- "$1\$" boots; }
forget_boots() { : >boots; }
