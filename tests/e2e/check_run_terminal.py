"""tests/e2e/check_run_terminal.py - `assay run` as the job in front of a terminal: control-C comes once, control-Z stops
program and assay together, the summary is shown there. usage: check_run_terminal.py ASSAY FOLDER"""
import os, pty, signal, sys

assay, folder = sys.argv[1:3]
os.chdir(folder)
failures = []

# Counts interrupts; ends a while after the first, having done some work in between.
PROGRAM = r"""
import signal, sys, time
seen = 0
def catch(number, frame):
    global seen
    seen += 1
signal.signal(signal.SIGINT, catch)
print("ready", flush=True)
while not seen: time.sleep(0.01)
end = time.monotonic() + 0.3
while time.monotonic() < end: time.sleep(0.01)
print("interrupted", seen, flush=True)
sys.exit(5)
"""


def want(holds, sentence):
    if not holds:
        failures.append(sentence)


def shell():
    """The smallest shell: one job in front, and word of what becomes of it."""
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(assay, [assay, "run", "--width", "80", "-o", "r.assay", "--", "/usr/bin/python3", "-c", PROGRAM])
    for _ in range(10):
        _, status = os.waitpid(job, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.write(1, b"shell: stopped\n")
            os.killpg(job, signal.SIGCONT)
            os.write(1, b"shell: continued\n")
        else:
            os.write(1, b"shell: ended %d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)


pid, terminal = pty.fork()
if pid == 0:
    shell()
text = b""


def read_until(what):
    global text
    while what not in text:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            return False
        if not more:
            return False
        text += more
    return True


want(read_until(b"ready"), "the program starts")
os.write(terminal, b"\x1a")
want(read_until(b"shell: stopped"), "control-Z stops the job")
want(read_until(b"shell: continued"), "and it can be continued")
os.write(terminal, b"\x03")
want(read_until(b"interrupted"), "control-C reaches the program")
want(read_until(b"shell: ended 5"), "its status comes through")
os.waitpid(pid, 0)
words = text.decode("utf-8", "replace")
want("interrupted 1" in words, "control-C comes once")
want("Program" in words and "run kept in r.assay" in words, "the summary is shown at the terminal")
for sentence in failures:
    print("FAILED:", sentence)
if failures:
    print(words)
sys.exit(bool(failures))
