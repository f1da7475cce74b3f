# SPDX-License-Identifier: BSD-2-Clause
# Known before anything is measured: nothing is printed but the line.
usage_error "cannot write 'no/such/dir/r.json': No such file or directory" \
	run --on "$TARGET" arr-inc --json no/such/dir/r.json
mkdir dir
usage_error "cannot write 'dir': Is a directory" run --on "$TARGET" arr-inc --csv dir
