# SPDX-License-Identifier: BSD-2-Clause
# The line of progress is no wider than the terminal: one that wraps cannot be drawn over.
cat >terminal.py <<'PY'
import fcntl, os, re, struct, sys, termios
columns, (master, slave) = int(sys.argv[1]), os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
if not os.fork():
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.dup2(slave, 2)
    os.execv(sys.argv[2], sys.argv[2:])
os.close(slave)
text = b""
try:
    while part := os.read(master, 65536):
        text += part
except OSError:  # the other side is closed
    pass
lines = [len(x.decode()) for x in re.split(rb"\r\n|\r", text.replace(b"\x1b[K", b""))]
sys.exit(not 0 < max(lines) < columns)
PY
for columns in 80 30 5; do
	python3 terminal.py $columns "$BPFLAB" run --on "$TARGET" -w 0 -d 0.5 bpf-loop-direct --nr_loops 1000000 ||
		die "wider than $columns columns, or no progress at all"
	python3 terminal.py $columns "$BPFLAB" compare "$TARGET" "$TARGET" -w 0 --quads 12 arr-inc ||
		die "wider than $columns columns, or no progress at all"
done
