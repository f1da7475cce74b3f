#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Install a build folder to a staging folder and use it from outside.
# usage: test_install.sh BUILD VERSION
set -eu

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
"${MESON:-meson}" install -C "$1" --no-rebuild --quiet --destdir "$stage" >/dev/null
"$(dirname "$0")/consumer.sh" "$stage" "$2"
