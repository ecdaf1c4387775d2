"""check_interrupt.py ASSAY: signals to measuring commands, sent when their progress line shows what is waited for."""
import fcntl, json, os, pty, re, shlex, signal, struct, subprocess, sys, termios

assay = sys.argv[1]
failures = []


def check(ok, sentence, *more):
    if not ok:
        failures.append(sentence)
        print("FAILED:", sentence, *more)


def read(fd):
    try:
        return os.read(fd, 65536)
    except OSError:  # the other end of a terminal is closed
        return b""


class Started:
    """A command whose standard error is a terminal."""

    def __init__(self, *argv, out=subprocess.PIPE, ignored=False):
        self.master, slave = pty.openpty()
        env = dict(os.environ, TERM="xterm", XDG_CACHE_HOME=os.path.abspath("cache"))
        self.process = subprocess.Popen(
            [assay, *argv], stdout=out, stderr=slave, stdin=subprocess.DEVNULL, env=env, start_new_session=True)
        os.close(slave)
        self.seen = b""

    def until(self, text):
        while text not in self.seen:
            got = read(self.master)
            if not got:
                raise SystemExit(f"FAILED: {text!r} never appeared: {self.seen!r}")
            self.seen += got
        return self

    def send(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self

    def delivered(self, number):
        """Waits until the signal was taken."""
        bit = 1 << (number - 1)
        while True:
            with open(f"/proc/{self.process.pid}/status") as status:
                text = status.read()
            if not int(re.search(r"^ShdPnd:\s*(\S+)", text, re.M)[1], 16) & bit:
                return self

    def end(self):
        out = self.process.stdout.read().decode()
        status = self.process.wait()
        while got := read(self.master):
            self.seen += got
        os.close(self.master)
        return status, out, self.seen.decode().replace("\r\n", "\n")


def waiting(fd):
    """Bytes of a pipe that nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]


def shown(text):
    """What a terminal shows in the end: erased lines are gone. What the machine is warned of is left out."""
    lines = [line.split("\r\033[K")[-1] for line in text.split("\n")]
    return [line for line in lines if not line.startswith("warning: ")]


def same_by_report(path, out, *options):
    again = subprocess.run([assay, "report", *options, path], capture_output=True, text=True)
    check(again.returncode == 0 and again.stdout == out, f"assay report {path} prints the same", again.stderr)


quick = ["--no-roofline", "--no-history"]

# profile, while it is timed: the latency is there and marked.
status, out, err = Started("profile", "zoo:mobilenetv2", *quick, "--time", "600", "-o", "p.assay").until(b" iterations").send().end()
found = re.match(r"interrupted after (\d+) iterations?: a partial result\n", out)
check(status == 130 and found and int(found[1]) >= 1, "profile prints its partial result", status, out[:200])
check("0 steps" not in out and "0 B/s" not in out, "what was not measured is not 0", out[:600])
check(shown(err) == ["wrote p.assay", ""], "the progress line is erased", err[-200:])
same_by_report("p.assay", out)
doc = json.loads(subprocess.run([assay, "report", "--json", "p.assay"], capture_output=True).stdout)
check(doc["interrupted"] is True and doc["interrupted_after"] == {"done": int(found[1]), "planned": None, "unit": "iteration"},
      "the JSON has the fact", doc.get("interrupted_after"))
check(doc["latency"]["stopped_by"] == "interrupted", "and why timing ended")

# While layers are measured, by SIGTERM: they are there.
status, out, err = Started("profile", "zoo:mobilenetv2", *quick, "--iterations", "3", "--time", "600", "--json").until(b"measuring layers").send(signal.SIGTERM).end()
doc = json.loads(out)
check(status == 143 and doc["interrupted"] is True, "SIGTERM likewise, with a status of its own", status)

# Before there is anything.
status, out, err = Started("profile", "zoo:mobilenetv2", *quick, "--warmup", "100000", "--time", "600").until(b"warming up").send().end()
check(status == 130 and out == "", "nothing is printed of nothing", status, out)
check(shown(err) == ["assay: interrupted before the first iteration was measured", ""], "one sentence says so", err)
status, out, err = Started("profile", "zoo:mlp").until(b"peaks (once, about 5 s; kept for later)").send().end()
check(status == 130 and "interrupted before the first iteration was measured" in err, "also while peaks are measured", err)
check(not os.path.exists("cache/assay/machine.json"), "peaks that are not complete are not kept")

# machine: what was measured is shown, the rest is unknown because of that.
status, out, err = Started("machine", "--fresh", "-o", "m.assay").until(b"kept for later)  1").send().end()
check(status == 130 and re.match(r"interrupted after \d+ measurements: a partial result\n", out), "machine", status, out[:200])
check(not os.path.exists("cache/assay/machine.json"), "partial peaks are not kept either")
same_by_report("m.assay", out)
check("the measurement was interrupted" in subprocess.run([assay, "report", "--json", "m.assay"], capture_output=True, text=True).stdout,
      "the reason stands beside what is unknown")

# sweep: a row when it is finished, the table of what there is at the end.
started = Started("sweep", "zoo:mobilenetv2", "--no-roofline", "--batch", "1,2,4", "--time", "0.2", "-o", "s.assay")
status, out, err = started.until(b"batch=1  p50 ").until(b"2 of 3 settings").send().end()
check(status == 130 and re.match(r"interrupted after [12] of 3 settings: a partial result\n", out), "sweep", status, out[:200])
check("batch 4 was not measured" in out, "a setting without a sample says so", out)
check(any(re.match(r"batch=1  p50 \S+ [mun]?s  \d+ iterations$", line) for line in shown(err)), "rows appear as they are finished", err)
same_by_report("s.assay", out)

# bench: the journal is kept, and the command line printed goes on with it.
grid = ["--grid", "word=a b,c", "--iterations", "40", "--output-dir", "out dir", "--", "sh", "-c", "echo {word} >>'the log'; read x <go || :"]
os.mkfifo("go")
started = Started("bench", "-o", "b.assay", *grid)
feed = os.open("go", os.O_RDWR)
lines = 0
while lines < 8:  # the plan and seven samples
    if not waiting(feed):  # never more than one ahead: a pipe that is full would block this side for good
        os.write(feed, b"x\n")
    if os.path.exists("out dir/journal.jsonl"):
        lines = open("out dir/journal.jsonl").read().count("\n")
status, out, err = started.send().end()
kept = open("out dir/journal.jsonl").read().count("\n") - 1
check(status == 130 and out.startswith(f"interrupted after {kept} of 80 samples: a partial result\n"), "bench", status, out[:200], err)
same_by_report("b.assay", out)
hint = re.search(r"^interrupted; (\d+) of 80 samples kept in 'out dir'; resume with: (.*)$", "\n".join(shown(err)), re.M)
check(hint and int(hint[1]) == kept, "says where they are and how to resume", err)
check(not os.path.exists("out dir/results.json"), "the folder has no results of a part")
words = shlex.split(hint[2])
check(words == [assay, "bench", "-o", "b.assay", *grid[:grid.index("--")], "--resume", *grid[grid.index("--"):]], "the words are ours", words)
before = open("the log").read().count("\n")
os.unlink("b.assay")
while_running = subprocess.Popen(["sh", "-c", "while :; do echo x; done >go"], stderr=subprocess.DEVNULL)
resumed = subprocess.run(hint[2], shell=True, capture_output=True, text=True, env=dict(os.environ, TERM="dumb"))
while_running.kill()
while_running.wait()
check(resumed.returncode == 0 and "interrupted" not in resumed.stdout, "it resumes", resumed.stderr)
check(open("out dir/journal.jsonl").read().count("\n") == 81, "to the end")
check(open("the log").read().count("\n") <= before + 80 - kept + 2, "and repeats nothing but the warm-up")
os.close(feed)

# bench before its first sample; the command gets the signal too.
started = Started("bench", "--iterations", "3", "--output-dir", "none", "--", "sh", "-c", "echo $$ >pid; exec sleep 1000")
while not os.path.exists("pid") or not open("pid").read().strip():
    pass
status, out, err = started.send(signal.SIGTERM).end()
check(status == 143 and out == "" and "interrupted before the first sample was measured" in err, "bench without a sample", status, err)
check(not os.path.exists(f"/proc/{open('pid').read().strip()}"), "the command has ended")

# The second signal ends at once: the first is taken, and the command does not care.
os.unlink("pid")
started = Started("bench", "--iterations", "3", "--output-dir", "twice", "--", "sh", "-c",
                  "trap '' INT; echo $$ >pid; while :; do :; done")
while not os.path.exists("pid") or not open("pid").read().strip():
    pass
child = int(open("pid").read())
started.send().delivered(signal.SIGINT).send()
status = started.process.wait()
check(status == -signal.SIGINT, "the second one ends it at once", status)
os.kill(child, signal.SIGKILL)

sys.exit(len(failures) > 0)
