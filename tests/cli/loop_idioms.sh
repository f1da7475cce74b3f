# SPDX-License-Identifier: BSD-2-Clause
# the option loop_idioms: copies of many bytes at once with it, none without
vectors() { # TARGET ARCH MNEMONIC: how many of these instructions
	expect 0 "$BPFLAB" dump --on "$1" --jited --arch "$2" --no-source jit-memcpy
	grep -c " $3 " out || :
}

[ "$(vectors user x86_64 movups)" -ge 6 ] || die "no wide copies by default"
[ "$(vectors user:loop_idioms=on x86_64 movups)" -ge 6 ] || die "no wide copies with loop_idioms=on"
[ "$(vectors user:loop_idioms=off x86_64 movups)" -eq 0 ] || die "wide copies with loop_idioms=off"
[ "$(vectors user:harden=on x86_64 movups)" -eq 0 ] || die "wide copies in hardened code"
[ "$(vectors user arm64 stp)" -gt "$(vectors user:loop_idioms=off arm64 stp)" ] ||
	die "no wide copies on arm64"
