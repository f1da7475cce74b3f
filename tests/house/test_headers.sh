#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every header compiles alone, and the public ones also as C++. Output is TAP.
# usage: test_headers.sh SOURCE_ROOT CC [CC-ARG...]
set -u

root=$1
shift
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
count=0
failed=0

compile() { # HEADER LANGUAGE CC...
	local header=$1 language=$2
	shift 2
	count=$((count + 1))
	# Twice: the include guard works.
	if printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		"$@" -x "$language" -fsyntax-only -Wall -Wextra -Wno-unused-parameter \
			-Wno-unused-function -Wno-sign-compare -Wno-missing-field-initializers -Werror \
			-D_GNU_SOURCE -I"$root/include" -I"$root/lib" - 2>"$errors"; then
		echo "ok $count - $header ($language)"
	else
		echo "not ok $count - $header ($language)"
		head -5 "$errors" | sed 's/^/# /'
		failed=1
	fi
}

for header in $(cd "$root/lib" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort); do
	compile "$header" c "$@" -std=gnu11
done
for header in $(cd "$root/include" && find . -name '*.h' | sed 's|^\./||'); do
	compile "$header" c "$@" -std=gnu11
	compile "$header" c++ clang -std=c++14
done
echo "1..$count"
exit $failed
