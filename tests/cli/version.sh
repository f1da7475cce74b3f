# SPDX-License-Identifier: BSD-2-Clause
expect 0 "$BPFLAB" --version
in_out "bpflab [0-9]*.[0-9]*.[0-9]*"
mv out long.txt
expect 0 "$BPFLAB" -V
cmp out long.txt
