# SPDX-License-Identifier: BSD-2-Clause
# The page: complete, self-contained, and safe from what names and texts in a file try.
quick count-local --json r.json
expect 0 "$BPFLAB" compare "$TARGET" "$TARGET" count-local --quick -w 0 --no-control --json c.json
expect 0 "$BPFLAB" report r.json c.json
[ -s bpflab-report.html ] || die "no bpflab-report.html"
expect 0 "$BPFLAB" report r.json c.json -o page.html
cmp -s page.html bpflab-report.html || die "the same results, two pages"
expect 0 "$BPFLAB" report r.json c.json -o -
cmp -s page.html out || die "standard output differs"

cat >check.py <<'PY'
"""What a page must have and must not have, by a parser: check.py PAGE RECORDS"""
import base64, hashlib, json, sys
from html.parser import HTMLParser

class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.inside, self.text, self.blocks, self.csp = [], None, [], [], ""
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form", "svg"), tag
        for name, value in attrs.items():
            assert not name.startswith("on") and name not in ("src", "srcset", "style", "action"), (tag, name)
            assert name != "href" or value.startswith("#"), value
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
            self.csp = attrs["content"]
        if tag in ("script", "style"):
            self.inside = [tag, attrs, ""]
    def handle_data(self, data):
        if self.inside:
            self.inside[2] += data
        else:
            self.text.append(data)
    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[0]:
            self.blocks.append(self.inside)
            self.inside = None

page = Page()
page.feed(open(sys.argv[1], encoding="utf-8", newline="").read())
assert page.csp.startswith("default-src 'none'"), page.csp
assert "unsafe" not in page.csp and "http" not in page.csp
scripts = [b for b in page.blocks if b[0] == "script" and b[1].get("type") != "application/json"]
styles = [b for b in page.blocks if b[0] == "style"]
data = [b for b in page.blocks if b[1].get("type") == "application/json"]
assert len(scripts) == 1 and len(styles) == 1 and len(data) == 1, page.tags
for block in scripts + styles:
    digest = base64.b64encode(hashlib.sha256(block[2].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.csp, "the policy refuses its own " + block[0]
records = json.loads(data[0][2])
assert len(records) == int(sys.argv[2]), len(records)
assert page.tags.count("section") >= 1 and page.tags.count("table") >= 1
print("\n".join(" ".join(page.text).split("\n")))
PY
python3 check.py page.html 2 >text || die "not a good page"
grep -q "count-local" text && grep -q "bpflab run --on" text && grep -q "bpf_jit_enable" text ||
	die "not all is there: $(cat text)"

# every text of a file, replaced by what tries to run or to leave its place
python3 - <<'PY'
import json
evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`${x}-->]]>&lt;\u2028\u202e\x1b]0;x\x07"
def poison(v, key=""):
    if isinstance(v, dict):
        return {("<b onclick=x>" + k if key == "env" else k): poison(x, k) for k, x in v.items()}
    if isinstance(v, list):
        return [poison(x, key) for x in v]
    return evil if isinstance(v, str) and key not in ("schema",) else v
with open("evil.json", "w") as f:
    for name in ("r.json", "c.json"):
        for line in open(name):
            o = poison(json.loads(line))
            o["why"] = {evil: evil}
            f.write(json.dumps(o) + "\n")
PY
expect 0 "$BPFLAB" report evil.json -o evil.html --markdown evil.md --text evil.txt --csv evil.csv
python3 check.py evil.html 2 >text || die "a hostile file got through"
grep -q "alert(1)" text || die "the texts are not shown at all"
LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" evil.txt evil.md && die "control characters: $(cat -v evil.txt)"

# a page of nothing is an error, and so is one that cannot be written
: >empty.json
usage_error "*'empty.json' holds no results*" report empty.json -o x.html
[ ! -e x.html ] || die "a page of nothing"
usage_error "*report needs files*" report
usage_error "*'nothing.json'*" report nothing.json
usage_error "*cannot write*" report r.json -o /nonexistent/x.html
usage_error "*both go to standard output*" report r.json -o - --text -
if [ -w /dev/full ]; then
	for form in output json csv markdown text benchfmt; do
		usage_error "*/dev/full*" report r.json --$form /dev/full
	done
fi
