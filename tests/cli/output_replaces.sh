# SPDX-License-Identifier: BSD-2-Clause
# A file is replaced as a whole, keeps its mode, and a link to it stays a link.
echo old >real.json
chmod 640 real.json
ln -s real.json link.json
expect 0 quick count-local --json link.json
[ -L link.json ] || die "the link was replaced"
json real.json "r[0]['bench'] == 'count-local'"
[ "$(stat -c %a real.json)" = 640 ] || die "mode $(stat -c %a real.json)"
(umask 027 && quick count-local --json new.json >/dev/null)
[ "$(stat -c %a new.json)" = 640 ] || die "mode $(stat -c %a new.json)"
mkfifo pipe
cat pipe >piped &
quick count-local --json pipe >/dev/null
wait
json piped "r[0]['bench'] == 'count-local'"
[ -p pipe ] || die "the pipe was replaced"
