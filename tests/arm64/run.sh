#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The JIT of the other machine, executed: builds libbpfu for arm64 and runs the tests of suite
# "emulated" under qemu-user, and bpfu-diff with both JITs. The build folder is kept, so the second run is quick. cmocka for arm64 is
# used where scripts/deps could fetch it; without it the unit tests are left out.
#
# usage: run.sh SOURCE BUILD     BUILD: of the native build; ours is BUILD/arm64
set -u
src=$1
native=$2
build=$native/arm64
sysroot=$native/arm64-sysroot
gcc=aarch64-linux-gnu-gcc

skip() {
	echo "$*"
	exit 77
}

command -v $gcc >/dev/null || skip "no $gcc (Debian: gcc-aarch64-linux-gnu)"
command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64 (Debian: qemu-user)"
echo 'int main(void) { return 0; }' | $gcc -x c - -o /dev/null 2>/dev/null ||
	skip "$gcc cannot link (Debian: libc6-dev-arm64-cross)"

if [ ! -f "$build/build.ninja" ]; then
	mkdir -p "$build"
	sed "s|@SYSROOT@|$sysroot|g" "$src/cross/aarch64.ini" >"$native/arm64.ini"
	if command -v ccache >/dev/null; then
		sed -i "s|^c = .*|c = ['ccache', '$gcc']|" "$native/arm64.ini"
	fi
	# Without debug information: half the time, and what fails here is looked at in a build of its own.
	meson setup "$build" "$src" --cross-file "$native/arm64.ini" -Dlibrary_only=true \
		-Doptimization=1 -Ddebug=false >"$native/arm64-setup.log" 2>&1 || {
		tail -n 20 "$native/arm64-setup.log"
		exit 1
	}
fi
[ -d "$sysroot" ] || echo "without unit tests: no cmocka for arm64 (scripts/deps check fetches it)"
meson test -C "$build" --suite emulated --timeout-multiplier 5 --print-errorlogs || exit 1
ninja -C "$build" tests/diff/bpfu-diff >"$native/arm64-diff.log" || {
	tail -n 20 "$native/arm64-diff.log"
	exit 1
}
# Both JITs, the interpreter and the kernel on the same programs; other ones each day.
"$native/tests/diff/bpfu-diff" --seed "$(date +%Y%m%d)000" --seconds 8 --minimise \
	--with "qemu-aarch64 -L /usr/aarch64-linux-gnu $build/tests/diff/bpfu-diff"
