# SPDX-License-Identifier: BSD-2-Clause
# The history: what is added is shown, once; steps are found; gates exit 3 for a confirmed regression
# only; a killed writer leaves nothing behind, and two writers lose nothing.
export XDG_DATA_HOME=$PWD/data
usage_error "*history needs a verb*" history
usage_error "*no 'history frob'*" history frob
usage_error "*history add needs files*" history add
usage_error "*holds no results*" history show
[ -s data/bpflab/history.db ] || die "not in the data folder"

# series with known steps: 20 runs at 10 ns, 20 at 11 ns, and one that never changes
python3 - <<'PY'
import json, random
rng = random.Random(7)
def result(bench, i, ns, variant="on", kernel="6.1"):
    return json.dumps({"schema": "bpflab.result/1", "bench": bench, "target": "user", "variant": {"jit": variant},
        "params": {"producers": 1}, "estimate": ns, "ci95": [ns * .99, ns * 1.01], "distinguishable": True,
        "seed": hex(i), "env": {"cpu": "c", "kernel": kernel, "time": f"2026-01-{1 + i // 24:02d}T{i % 24:02d}:00:00Z"}})
with open("steps.json", "w") as f:
    for i in range(40):
        f.write(result("stepped", i, (10 if i < 20 else 11) * rng.lognormvariate(0, .02)) + "\n")
        f.write(result("steady", i, 10 * rng.lognormvariate(0, .02)) + "\n")
    f.write(result("steady", 1, 5, "off") + "\n" + result("steady", 1, 5, "on", "6.2") + "\n")
with open("many.json", "w") as f:
    for i in range(8000):
        f.write(result("many", i, 10, "x" * (i % 50)) + "\n")
PY
expect 0 "$BPFLAB" history add steps.json
in_out "added 82 results and 0 comparisons"
expect 0 "$BPFLAB" history add steps.json
in_out "added 0 results and 0 comparisons; 82 were there already"
expect 0 "$BPFLAB" history show
in_out "  stepped *user:jit=on * 40 *"
in_out "    step: +* % from 2026-01-01T2?:00:00Z on (run 2? of 40, p 0.0*)"
[ "$(grep -c step: out)" = 1 ] || die "one step: $(cat out)"
in_out "  steady *user:jit=off * 1 *"
[ "$(grep -c ", Linux 6" out)" = 2 ] || die "kernels are mixed: $(cat out)"
expect 0 "$BPFLAB" history show 'stea*' --json -
json out "len(r) == 42 and all(x['bench'] == 'steady' for x in r)"
expect 0 "$BPFLAB" history show stepped --json s.json
expect 0 "$BPFLAB" report s.json --text -
in_out "stepped *"
expect 0 "$BPFLAB" history prune --keep 5
in_out "removed 70"
expect 0 "$BPFLAB" history show stepped
in_out "  stepped * 5 *2026-01-02T15:00:00Z"
usage_error "*--older-than*" history prune --older-than 1000000
usage_error "*needs --keep N or --older-than*" history prune

# what cannot be part of a history
printf 'kprobe : 10 ± 1M/s\n' >old.txt
usage_error "*kprobe was imported from a text*" history add old.txt
echo '{"schema":"bpflab.result/1","bench":"x","target":"user"}' >bare.json
usage_error "*does not say when*" history add bare.json
# a terminal is shown nothing that it acts on, whatever a file says
echo '{"schema":"bpflab.result/1","bench":"x","target":"user","estimate":1,"distinguishable":true,"seed":"0x1",
	"env":{"cpu":"c","kernel":"6\u001b[31m","time":"2026\u001b[2J"}}' | tr -d '\n' >escapes.json
expect 0 "$BPFLAB" history add escapes.json --db escapes.db
expect 0 "$BPFLAB" history show --db escapes.db
in_out "*6?[[]31m*"
! grep -q "$(printf '\033')" out || die "an escape sequence"
expect 0 "$BPFLAB" report escapes.json --text -
! grep -w nan out || die "no number"
head -c 3000 /dev/urandom >noise.db
usage_error "*'noise.db' is no history*" history show --db noise.db
python3 -c "
import sqlite3
d = sqlite3.connect('other.db'); d.execute('create table t(x)'); d.commit()
d = sqlite3.connect('later.db'); d.execute('create table t(x)')
d.execute('pragma application_id=0x6270666c'); d.execute('pragma user_version=9'); d.commit()"
usage_error "*'other.db' is a database, but no history*" history show --db other.db
usage_error "*'later.db' is a history of version 9*" history show --db later.db
usage_error "*'/nonexistent/x.db'*" history show --db /nonexistent/x.db

# killed while it writes: all or nothing, and the next one goes on
python3 - "$BPFLAB" <<'PY' || die "killed in the middle"
import os, signal, sqlite3, subprocess, sys, time
hit = 0
for attempt in range(12):
    db = f"kill{attempt}.db"
    p = subprocess.Popen([sys.argv[1], "history", "add", "many.json", "--db", db], stdout=subprocess.DEVNULL)
    seen = False
    while p.poll() is None and not seen:
        # there is a journal while a transaction writes; the first one makes the tables
        seen = os.path.exists(db + "-journal") and os.path.getsize(db) > 0 and attempt < 11
    if seen:
        time.sleep(.004 * attempt)
    if attempt < 11:
        p.kill()
    p.wait()
    n = sqlite3.connect(db).execute("select count(*) from sqlite_master").fetchone()[0]
    n = sqlite3.connect(db).execute("select count(*) from result").fetchone()[0] if n else 0
    assert n in (0, 8000), n
    hit += n == 0
    assert sqlite3.connect(db).execute("pragma integrity_check").fetchone()[0] == "ok"
    if attempt in (3, 7):
        subprocess.run([sys.argv[1], "history", "add", "many.json", "--db", db], check=True, stdout=subprocess.DEVNULL)
        n = sqlite3.connect(db).execute("select count(*) from result").fetchone()[0]
        assert n == 8000, n
assert hit >= 3, f"only {hit} were killed before they were done"
PY

# two writers at once, of different results
for i in 1 2 3 4; do sed "s/\"many\"/\"many$i\"/" many.json | head -1000 >w$i.json; done
for i in 1 2 3 4; do "$BPFLAB" history add w$i.json --db two.db >/dev/null & done
wait
expect 0 "$BPFLAB" history show --db two.db --json all.json
json all.json "len(r) == 4000"

# gates: the same is no regression, far more work is one, confirmed; both are kept
gate() { "$BPFLAB" history gate "$@" --quads 12 --loads 2 -w 0 -q --no-control; }
expect 0 gate "$TARGET" "$TARGET" count-local --fail-above 50
json_count() { python3 -c "import sqlite3; print(sqlite3.connect('data/bpflab/history.db').execute('select count(*), sum(confirmed) from comparison').fetchone())"; }
[ "$(json_count)" = "(1, None)" ] || die "$(json_count)"
usage_error "*gate needs a baseline*" history gate "$TARGET"
usage_error "*a gate measures the baseline now*" history gate s.json s.json
if have user; then
	expect 3 gate user:jit=on user:jit=off arr-inc --fail-above 20
	in_out "*confirmed by a fresh run*"
	[ "$(json_count)" = "(2, 1)" ] || die "$(json_count)"
	# … and are there to be seen
	expect 0 "$BPFLAB" history show arr-inc count-local
	in_out "*, Linux *: comparisons"
	in_out "  20??-*Z  count-local * $TARGET *"
	in_out "  20??-*Z  arr-inc * user:jit=on * user:jit=off * slower, confirmed"
	expect 0 "$BPFLAB" history show arr-inc --json -
	json out "[x['schema'] for x in r] == ['bpflab.compare/1'] and r[0]['confirmation']['confirmed']"
	expect 0 gate "$TARGET" "$TARGET" count-local --fail-above 50 --db gates.db
	expect 0 "$BPFLAB" history show --db gates.db
fi
