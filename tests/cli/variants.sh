# SPDX-License-Identifier: BSD-2-Clause
# Each variant of a target is its own point, and says what it is.
have user || skip "the target user does not work yet"
expect 0 "$BPFLAB" run --on user:jit=on --on user:jit=off --on user -q -w 0 -d 0.2 --rounds 8 arr-inc --json r.json
json r.json "[x['variant'] for x in r] == [{'jit': 'on'}, {'jit': 'off'}, {'jit': 'on'}]"
# jit=off means no machine code, jit=on some
json r.json "[x['prog']['jited_len'] > 0 for x in r] == [True, False, True]"
json r.json "len({x['prog']['tag'] for x in r}) == 1"
BPFU_OPTIONS=jit=off "$BPFLAB" run --on user -q -w 0 -d 0.1 --rounds 8 arr-inc --json r.json
json r.json "r[0]['variant'] == {'jit': 'off'} and r[0]['prog']['jited_len'] == 0"
json r.json "r[0]['env']['bpfu_options'] == 'jit=off'"
# what the environment says is as much part of it: a history must not mix both
BPFU_OPTIONS=inline_loop=off,nonsense,jit=on "$BPFLAB" run --on user --on user:inline_loop=on -q -w 0 -d 0.1 --rounds 8 \
	bpf-loop --json r.json
json r.json "[x['variant'] for x in r] == [{'inline_loop': 'off', 'jit': 'on'}, {'inline_loop': 'on', 'jit': 'on'}]"
# Any option of libbpfu is a variant, by its name; several go together.
expect 0 "$BPFLAB" run --on user:inline_loop=on --on user:inline_loop=off,jit=off -q -w 0 -d 0.2 --rounds 8 \
	bpf-loop --json r.json
json r.json "[x['variant'] for x in r] == [{'inline_loop': 'on', 'jit': 'on'}, {'inline_loop': 'off', 'jit': 'off'}]"
json r.json "r[0]['prog']['xlated_len'] > r[1]['prog']['xlated_len'] and r[1]['prog']['jited_len'] == 0"
