# tests/e2e/stop_endless.py - starts a command that would not end, waits until it computes, and stops it by a signal.
# usage: stop_endless.py SIGNAL COMMAND...; exit 0 when the signal ends it, and it printed no figure before.
import os
import signal
import subprocess
import sys

number = getattr(signal, "SIG" + sys.argv[1])
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
ticks = os.sysconf("SC_CLK_TCK")
# A quarter of a second of CPU time is past reading and opening.
while p.poll() is None:
    with open(f"/proc/{p.pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    if (int(fields[11]) + int(fields[12])) / ticks > 0.25:
        break
p.send_signal(number)
out, said = p.communicate(timeout=60)
if p.returncode not in (-number, 128 + number) or out:
    print(f"exit {p.returncode}, {out[:100]!r}, {said[:200]!r}")
    sys.exit(1)
