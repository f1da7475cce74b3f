# SPDX-License-Identifier: BSD-2-Clause
# The page in a real browser: every plot is drawn, nothing is refused or fails, and names from a hostile
# file run nothing. Needs Chromium (Debian: chromium-headless-shell or chromium).
browser=$(command -v chromium-headless-shell || command -v chromium) || skip "no Chromium"
chromium() {
	HOME=$PWD timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
		--enable-logging=stderr --virtual-time-budget=3000 "$@" 2>err
}
quick count-local --json r.json
quick count-local --sweep p=1,2 --json p.json
expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" count-local --quick -w 0 --no-control --json c.json
expect 0 "$BPFLAB" report r.json p.json c.json -o page.html
chromium --dump-dom "file://$PWD/page.html" >dom || skip "Chromium does not start here"
grep -q "CONSOLE" err && die "the page complains: $(grep CONSOLE err)"
# intervals, sweep; three plots a result; intervals, two plots of the comparison
grep -q 'data-drawn="14"' dom || die "plots: $(grep -o 'data-drawn="[0-9]*"' dom)"
[ "$(grep -o '<canvas' dom | wc -l)" = 14 ] || die "canvases: $(grep -o '<canvas' dom | wc -l)"
python3 - <<'PY'
import json
evil = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
def poison(v):
    if isinstance(v, dict):
        return {k: v[k] if k == "schema" else poison(v[k]) for k in v}
    if isinstance(v, list):
        return [poison(x) for x in v]
    return evil if isinstance(v, str) else v
with open("evil.json", "w") as f:
    for name in ("p.json", "c.json"):
        for line in open(name):
            o = poison(json.loads(line))
            o["why"] = {evil: evil}
            f.write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report evil.json -o evil.html
chromium --dump-dom "file://$PWD/evil.html" >dom
grep -q "<title>bpflab report</title>" dom || die "a name was executed"
grep -q 'data-drawn=' dom || die "the plots are gone: $(cat err)"
# that the policy works at all: a page with a script of its own runs nothing
sed 's|</main>|<script>document.title="owned"</script></main>|' page.html >own.html
chromium --dump-dom "file://$PWD/own.html" >dom
grep -q "<title>bpflab report</title>" dom || die "a script that is not the page's runs"
grep -q "Content Security Policy" err || die "nothing was refused: $(cat err)"
chromium --window-size=1200,2000 --screenshot="$PWD/page.png" "file://$PWD/page.html" >/dev/null
[ "$(wc -c <page.png)" -gt 20000 ] || die "an empty picture"
# on paper: more than one page, as no plot is cut in two
chromium --print-to-pdf="$PWD/page.pdf" "file://$PWD/page.html" >/dev/null
head -c 5 page.pdf | grep -q '%PDF-' || die "nothing to print: $(cat err)"
[ "$(grep -ac '/Type */Page\b' page.pdf)" -ge 3 ] || die "pages: $(grep -ac '/Type */Page\b' page.pdf)"
