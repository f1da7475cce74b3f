# SPDX-License-Identifier: BSD-2-Clause
# A disk that fills up: the old file stays as it was, and no part of a new one.
[ "$(id -u)" = 0 ] || skip "needs root, to mount a tmpfs"
mkdir disk
mount -t tmpfs -o size=8k tmpfs disk || skip "cannot mount a tmpfs"
trap 'umount disk' EXIT
echo old >disk/r.json
expect 1 quick arr-inc --json disk/r.json
in_err "bpflab: cannot write 'disk/r.json': No space left on device"
[ "$(cat disk/r.json)" = old ] || die "the old file is damaged"
[ "$(ls -A disk)" = r.json ] || die "left behind: $(ls -A disk)"
