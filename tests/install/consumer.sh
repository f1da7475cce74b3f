#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Build and run a program against a staged installation, with nothing of the source tree but
# consumer.c, and run the installed bpflab.
# usage: consumer.sh STAGE [VERSION]
set -eu

stage=$1
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

pc=$(find "$stage" -name libbpfu.pc)
[ -n "$pc" ] || { echo "no libbpfu.pc below $stage" >&2; exit 1; }
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$pc")
prefix=$stage$(pkg-config --variable=prefix libbpfu)
version=$(pkg-config --modversion libbpfu)
[ $# -lt 2 ] || [ "$version" = "$2" ] || { echo "libbpfu.pc says $version, not $2" >&2; exit 1; }

# shellcheck disable=SC2046 # flags are words
${CC:-cc} -Wall -Wextra -Werror -DEXPECTED_VERSION="\"$version\"" -o "$tmp/consumer" \
	"$here/consumer.c" $(pkg-config --define-variable=prefix="$prefix" --static --cflags --libs libbpfu)
"$tmp/consumer"

# The preload form: the same calls of a program that links libbpf.so.
preload=$(find "$stage" -name 'libbpfu-preload.so')
[ -n "$preload" ] || { echo "no libbpfu-preload.so below $stage" >&2; exit 1; }

"$prefix/bin/bpflab" list >"$tmp/list"
grep -q . "$tmp/list" || { echo "bpflab list prints nothing" >&2; exit 1; }
for page in bpflab.1; do
	compgen -G "$prefix/share/man/man1/$page*" >/dev/null || {
		echo "no man page $page below $prefix" >&2
		exit 1
	}
done
