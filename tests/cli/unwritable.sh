# SPDX-License-Identifier: BSD-2-Clause
# Known before anything is measured: nothing is printed but the line.
usage_error "cannot write 'no/such/dir/r.json': No such file or directory" \
	run --on "$TARGET" arr-inc --json no/such/dir/r.json
mkdir dir
usage_error "cannot write 'dir': Is a directory" run --on "$TARGET" arr-inc --csv dir
# one file for two forms would have the last of them only
usage_error "--json and --csv are the same file, 'r.json'*" run --on "$TARGET" arr-inc --json r.json --csv r.json
quick arr-inc --json r.json
usage_error "--markdown and --text are the same file, './r.json'*" report r.json --markdown r.json --text ./r.json
usage_error "the page and --csv are the same file, 'page'*" report r.json -o page --csv page
expect 0 "$BPFLAB" report r.json --csv /dev/null --markdown /dev/null
