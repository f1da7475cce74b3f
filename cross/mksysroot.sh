#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Make a folder with the arm64 libraries that a cross build links: downloaded and unpacked with a
# private apt state, so that nothing of the host changes (installing :arm64 packages would pull
# version bumps of unrelated ones). Needs no root.
#
# usage: cross/mksysroot.sh FOLDER [PACKAGE...]     default: what a whole build links
set -eu

out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
packages=("$@")
[ $# -gt 0 ] || packages=(libbpf-dev libbpf1 libelf-dev libelf1 zlib1g-dev zlib1g libjansson-dev libjansson4
	libcmocka-dev libcmocka0 libcapstone-dev libcapstone4 libsqlite3-dev
	libsqlite3-0 libzstd-dev libzstd1 liblzma-dev liblzma5)
stamp=$out/.packages

[ "$(cat "$stamp" 2>/dev/null)" = "${packages[*]}" ] && exit 0

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/deb"
: >"$state/status"

apt=(-o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status"
	-o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives"
	-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User="")
apt-get "${apt[@]}" -qq update
(cd "$state/deb" && apt-get "${apt[@]}" -qq download "${packages[@]}")

rm -rf "${out:?}/usr" "$out/lib"
for deb in "$state"/deb/*.deb; do
	dpkg -x "$deb" "$out"
done
# Debian 12 still has a few libraries in /lib; one folder is enough.
if [ -d "$out/lib/aarch64-linux-gnu" ]; then
	cp -a "$out/lib/aarch64-linux-gnu/." "$out/usr/lib/aarch64-linux-gnu/"
fi
echo "${packages[*]}" >"$stamp"
