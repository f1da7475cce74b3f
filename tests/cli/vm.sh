# SPDX-License-Identifier: BSD-2-Clause
# the target vm without booting one that works: names, images, options, what is refused
export XDG_CACHE_HOME=$PWD/cache
python3 - <<'PY'
image = bytearray(4096)
image[0x202:0x206] = b"HdrS"
open("bzImage", "wb").write(image)
image = bytearray(4096)
image[0x38:0x3c] = b"ARM\x64"
open("Image", "wb").write(image)
PY

expect 0 "$BPFLAB" kernel list
in_err "bpflab: no kernels are here yet; bpflab kernel fetch 6.12 fetches one"
usage_error "no kernel 6.12 for x86_64 is here yet; run: bpflab kernel fetch 6.12" run bpf-loop --on vm:6.12
usage_error "no kernel 6.12 for arm64 is here yet; run: bpflab kernel fetch 6.12,arch=arm64" \
	list --on vm:6.12,arch=arm64
usage_error "no kernel 'mine' for x86_64 is here; *bpflab kernel add mine VMLINUZ*" dump arr-inc --on vm:mine
usage_error "kernel what? *" kernel
usage_error "kernel: no 'lst'; did you mean 'list'?*" kernel lst
usage_error "kernel fetch takes a version*" kernel fetch
usage_error "'mine' is no version*" kernel fetch mine
usage_error "exec takes a kernel, '--' and a program*" kernel exec 6.12

# images
echo text >text
: >empty
usage_error "'text' is no kernel image; *" kernel add mine text
usage_error "'empty' is empty; *" kernel add mine empty
usage_error "'$BPFLAB' is an ELF file *" kernel add mine "$BPFLAB"
usage_error "cannot read 'nowhere': No such file or directory" kernel add mine nowhere
usage_error "'.' is no regular file" kernel add mine .
for bad in ../x a/b .x; do
	usage_error "'$bad' cannot be the name of a kernel*" kernel add "$bad" bzImage
done
usage_error "'bzImage' is no folder of modules" kernel add mine bzImage --modules bzImage
expect 0 "$BPFLAB" kernel list
[ ! -s out ] || die "something was added: $(cat out)"
[ -z "$(ls -A cache/bpflab/kernels | grep -v '^\.lock$')" ] || die "left: $(ls -A cache/bpflab/kernels)"

expect 0 "$BPFLAB" kernel add mine bzImage
expect 0 "$BPFLAB" kernel add other Image
expect 0 "$BPFLAB" kernel list
in_out "mine * x86_64 * not asked yet: bpflab kernel show mine"
in_out "other * arm64 * not asked yet: bpflab kernel show other,arch=arm64"
expect 0 "$BPFLAB" kernel list --json
python3 -c 'import json; assert [k["name"] for k in json.load(open("out"))] == ["mine", "other"]'

# what is refused
usage_error "'noise' has no option*" noise --i-know
usage_error "'vm:mine': *a vm's are an emulator's; *--count=insns of run and compare" noise arr-inc --on vm:mine
usage_error "times of a vm are an emulator's: give it without other targets" profile arr-inc --diff user vm:mine
usage_error "no kernel 9.9 for x86_64 is here yet; *" profile arr-inc --on vm:9.9
if [ -e "$(dirname "$BPFLAB")/bpflab-guest-x86_64" ] && command -v qemu-system-x86_64 >/dev/null; then
	usage_error "'vm:mine' is emulated and 'user' is this machine: *--i-know*" run arr-inc --on vm:mine --on user
	usage_error "--classic is not for a vm*" run arr-inc --on vm:mine --classic
	usage_error "--initrd is for --print-command*" run arr-inc --on vm:mine --initrd x
	beside() { # PROGRAM OPTION...
		local prog=$1
		shift
		usage_error "$want" run prog-pack --on vm:mine --instances 2 "$@" -- $prog
	}
	want="--instances: no command after '--'*" beside ""
	want="--prepare is not for a vm: there is no sh in a guest*" beside ./f --prepare true
	want="--instances measures a command: *" beside ./f --markdown x
	want="cannot read './nowhere': No such file or directory" beside ./nowhere
	want="'text' is no 64-bit ELF program: a guest has no shell*" beside text
	want="'/bin/true' is linked dynamically, and a guest has no libraries: link it with -static" beside /bin/true
	want="'user' beside a vm: give one of them at a time" beside /bin/true --on user
	usage_error "--instances is for the bench prog-pack alone*" run arr-inc --on vm:mine --instances 2 -- ./f
	python3 -c 'open("arm", "wb").write(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xb7\x00" + bytes(100))'
	want="'arm' is a program for another machine, the guest's is x86_64" beside arm

	# the command, and the guest's files
	expect 0 "$BPFLAB" run arr-inc --on vm:mine,smp=2 --print-command --initrd guest.cpio --qemu-args "-m 999"
	in_out "qemu-system-x86_64 *-smp 2 *-kernel $PWD/cache/bpflab/kernels/mine.x86_64/vmlinuz -initrd guest.cpio* -m 999"
	[ "$(head -c 6 guest.cpio)" = 070701 ] || die "no archive"
	grep -q TRAILER guest.cpio || die "no end"
	expect 0 "$BPFLAB" profile arr-inc --diff vm:mine vm:mine,mem=600 --print-command
	in_out "qemu-system-x86_64 *-m 600 *"
	BPFLAB_QEMU_ARGS="-name x" expect 0 "$BPFLAB" run arr-inc --on vm:mine --print-command
	in_out "* -name x"
	[ ! -e INITRD ] || die "an initrd was written"

	# it boots nothing: one line, and nobody left
	status=0
	timeout 60 "$BPFLAB" run arr-inc --on vm:mine --timeout 3 >out 2>err || status=$?
	[ $status = 1 ] || die "exit status $status"
	in_err "bpflab: vm:mine: *"
	[ "$(grep -c '^bpflab' err)" = 1 ] || die "more than one line: $(cat err)"
	BPFLAB_QEMU_X86_64=/no/qemu expect 1 "$BPFLAB" run arr-inc --on vm:mine
	in_err "bpflab: *no /no/qemu here: apt-get install --no-install-recommends qemu-system-x86"
	BPFLAB_GUEST_DIR=$PWD expect 1 "$BPFLAB" run arr-inc --on vm:mine
	in_err "bpflab: BPFLAB_GUEST_DIR: no bpflab-guest-x86_64 in '$PWD'"
	PATH=$PWD expect 1 "$BPFLAB" run arr-inc --on vm:mine
	in_err "bpflab: no qemu-system-x86_64 here: *"
	pgrep -f "$PWD/cache" >/dev/null && die "a guest is left"
fi
mkdir nothing
PATH=$PWD/nothing expect 1 "$BPFLAB" kernel fetch 6.12
in_err "bpflab: fetching kernels needs apt-get*"
expect 1 "$BPFLAB" kernel fetch 6.12 --mirror http://127.0.0.1:9/debian -q
in_err "bpflab: *127.0.0.1:9*"
expect 0 "$BPFLAB" kernel remove mine
expect 1 "$BPFLAB" kernel remove mine
expect 0 "$BPFLAB" kernel remove other,arch=arm64
[ -z "$(ls -A cache/bpflab/kernels | grep -v '^\.')" ] || die "left: $(ls -A cache/bpflab/kernels)"
