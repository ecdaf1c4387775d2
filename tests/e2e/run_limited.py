# tests/e2e/run_limited.py - runs a command and holds the memory it takes, and its time, against limits.
# usage: run_limited.py BYTES [yes|""] COMMAND...; exit 1 with a sentence when it takes more, else that of the command.
import os
import resource
import sys

limit, strict, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    os.execv(command[0], command)
_, status, usage = os.wait4(pid, 0)
code = os.waitstatus_to_exitcode(status)
peak, seconds = usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime
if strict and peak > limit:
    print(f"{peak} bytes of memory, {limit} are allowed", file=sys.stderr)
    code = 1
if strict and seconds > 3:  # 1 s on a machine that does nothing else
    print(f"{seconds} s of CPU time", file=sys.stderr)
    code = 1
sys.exit(code)
