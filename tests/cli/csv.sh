# SPDX-License-Identifier: BSD-2-Clause
expect 0 quick arr-inc --csv r.csv
[ "$(wc -l <r.csv)" = 2 ] || die "$(cat r.csv)"
head -1 r.csv | grep -q '^bench,target,' || die "no header"
grep -q "^arr-inc,$TARGET,,1,,[0-9.e-]*,[0-9.e-]*,[0-9.e-]*,[01],[0-9]" r.csv || die "$(cat r.csv)"
expect 0 quick arr-inc --csv -
in_out "bench,target,*"
if grep -q 'ns/event' out; then die "the table is there, too"; fi
