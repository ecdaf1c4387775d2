"""tests/e2e/check_run_figures.py - judges the figures of `assay run` by what the programs say of themselves and by
python's own account of its children. usage: check_run_figures.py ASSAY FOLDER"""
import json, os, resource, subprocess, sys

assay, folder = sys.argv[1:3]
os.chdir(folder)
failures = []


def want(holds, sentence):
    if not holds:
        failures.append(sentence)


def run(*command, options=(), status=0):
    done = subprocess.run([assay, "run", "--json", "--report-file", "page.json", "-o", "r.assay", *options, "--", *command],
                          capture_output=True, text=True)
    want(done.returncode == status, f"{command}: exit {done.returncode}: {done.stderr}")
    with open("page.json") as f:
        return json.load(f)["program"], done.stdout


def near(a, b, share, slack):
    return abs(a - b) <= share * max(abs(a), abs(b)) + slack


# What a program says of itself at its end is what the kernel tells us a moment later.
OWN = r"""
import resource, sys
block = bytearray(100_000_000)
x = 0
for i in range(3_000_000): x += i
u = resource.getrusage(resource.RUSAGE_SELF)
print(u.ru_utime, u.ru_stime, u.ru_maxrss * 1024, u.ru_minflt)
"""
p, out = run(sys.executable, "-c", OWN)
user, system, peak, faults = map(float, out.split())
want(p["command"][0] == sys.executable and p["command"][2] == OWN, "the command is recorded word by word")
want(p["exit_status"] == 0 and not p["signal"], "the status is recorded")
want(near(p["cpu_user_ns"] * 1e-9, user, 0.1, 0.05), f"user time {p['cpu_user_ns']} {user}")
want(near(p["cpu_system_ns"] * 1e-9, system, 0.3, 0.05), f"system time {p['cpu_system_ns']} {system}")
want(near(p["peak_rss_bytes"], peak, 0.02, 1 << 20), f"peak {p['peak_rss_bytes']} {peak}")
want(near(p["minor_faults"], faults, 0.05, 300), f"faults {p['minor_faults']} {faults}")
want(p["tree_peak_rss_bytes"] >= 90_000_000, "readings saw the block")
want(len(p["processes"]) == 1, "there was one process")
want(p["own_cpu_ns"] > 0, "the watching cost something")
for name, series in p["series"].items():
    seconds = series["seconds"]
    want(all(a <= b for a, b in zip(seconds, seconds[1:])), f"{name} is in order of time")
    want(not seconds or seconds[-1] <= p["wall_seconds"] + 0.01, f"{name} ends with the program")

# A small program holds less than assay: the peak is its own all the same.
p, out = run("sh", "-c", "sleep 0.3")
want(p["peak_rss_bytes"] is None or p["peak_rss_bytes"] < 8 << 20, f"a small program is small: {p['peak_rss_bytes']}")

# One of a few milliseconds is never given what it held while it was loaded: it tells its peak itself, or it is unknown.
# What it held of ours is not its own: the truth is what it holds when nobody watches.
for i in range(5):
    p, out = run("cat", "/proc/self/status")
    out = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
    own = [int(line.split()[1]) * 1024 for line in out.splitlines() if line.startswith("VmHWM:")]
    peak = p["peak_rss_bytes"]
    want(not own or peak is None or near(peak, own[0], 0.1, 512 << 10), f"the peak of a short program: {peak} {own}")
    want((peak is None) == ("peak_rss_bytes" in p["unavailable"]), "an unknown peak has its reason")
    want(peak is None or p["peak_rss_from"], "a known peak says from where")
    want(p["wall_seconds"] > 0.01 or p["tree_peak_rss_bytes"] is None, f"no sum of the first moments: {p['tree_peak_rss_bytes']}")

# A comparison, and the classic report, take the program's time and peak, not those of the readings.
first, out = run("sh", "-c", ":", options=("--no-heap",))
os.rename("r.assay", "first.assay")
second, out = run("cat", "/proc/self/status")
done = subprocess.run([assay, "diff", "--json", "first.assay", "r.assay"], capture_output=True, text=True)
want(done.returncode == 0, f"two programs can be compared: {done.stderr}")
better = json.loads(done.stdout or '{"improvements": {"total_time": {}, "memory": {}}}')["improvements"]
for i, p in (1, first), (2, second):
    ns, held = better["total_time"].get(f"session{i}_ns"), better["memory"].get(f"session{i}_bytes")
    known = [b for b in (p["peak_rss_bytes"], p["tree_peak_rss_bytes"]) if b is not None]
    want(ns and near(ns, p["wall_seconds"] * 1e9, 1e-9, 1), f"the time compared is the program's: {ns} {p['wall_seconds']}")
    want(held == max(known, default=None), f"so is the peak: {held} {known}")
done = subprocess.run([assay, "report", "--classic", "r.assay"], capture_output=True, text=True)
want(f"Session duration: {second['wall_seconds']:.3f} seconds" in done.stdout, f"a session lasts as long: {done.stdout[:400]}")

# Time of children counts in the whole, and each has its row.
before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
p, out = run("sh", "-c", f"for i in 1 2; do {sys.executable} -c 'for i in range(20_000_000): pass'; done; sleep 0.2")
spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
want(p["cpu_user_ns"] * 1e-9 <= spent + 0.02, f"no more than was spent: {p['cpu_user_ns']} {spent}")
want(p["cpu_user_ns"] * 1e-9 >= 0.7 * spent, f"and not much less: {p['cpu_user_ns']} {spent}")
rows = {r["pid"]: r for r in p["processes"]}
want(len(rows) >= 4, f"the shell, two pythons, sleep: {len(rows)}")
first = p["processes"][0]
want(all(r["parent_pid"] in rows or r is first for r in p["processes"]), "parents are in the list")
# Not sum(): a row that was read last long before its end misses some.
want(sum(r["cpu_user_ns"] + r["cpu_system_ns"] for r in rows.values()) <= (p["cpu_user_ns"] + p["cpu_system_ns"]) * 1.05 + 30e6,
     "rows do not exceed the whole")

# The heap of a program that is killed.
HEAP = "import os, time; x = [bytearray(1_000_000) for i in range(30)]; time.sleep(0.3); os.kill(os.getpid(), 9)"
p, out = run(sys.executable, "-c", HEAP, status=137)
want(p["signal"] == 9, "the signal is recorded")
if p.get("heap"):
    heap = p["heap"]
    want(heap["live_bytes"] >= 30_000_000, "what it held when it was killed is known")
    want(max(s["live_bytes"] for s in heap["sites"]) >= 30_000_000, "and by which site")
    want(any(s["module"] for s in heap["sites"]), "sites have the module they are in")
    want(sum(s["live_bytes"] for s in heap["sites"] if s["kind"] != "mmap") <= heap["live_bytes"] * 1.01 + 65536,
         "sites do not exceed the whole")
    want(max(p["series"]["heap_live"]["bytes"]) >= 30_000_000, "the series saw it")
    # Children are watched when asked for.
    two = [sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(10**7)'])"]
    p, out = run(*two)
    want(p["heap"]["n_heaps"] == 1, "children are not watched")
    big = [sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; x = bytearray(10**8); time.sleep(.3)'])"]
    q, out = run(*big)
    want(q["heap"]["largest_process_watched"] is False, "a child that is larger is said not to be")
    q, out = run(*big, options=["--follow"])
    want(q["heap"]["largest_process_watched"] is True, "with --follow it is")
    p, out = run(*two, options=["--follow"])
    want(p["heap"]["n_heaps"] >= 2, "with --follow they are")
    p, out = run("sh", "-c", "true", options=["--no-heap"])
    want(p["heap"] is None or not p.get("heap"), "--no-heap watches none")

# CPUs are those the program may use, and what it waited for them is what the kernel says of it.
cpus = sorted(os.sched_getaffinity(0))
BUSY = "t = %s\nx = 0\nfor i in range(4_000_000): x += i\nprint(open('/proc/self/schedstat').read().split()[1])"
BIND = "__import__('os').sched_setaffinity(0, {%d})" % cpus[0]
p, out = run(sys.executable, "-c", BUSY % BIND)
want(p["processors"] == 1, f"one that binds itself to a CPU has one, not {p['processors']}")
want(near(p["run_delay_ns"], float(out), 0.1, 5e6), f"run delay {p['run_delay_ns']} {out}")
want(not any(c["rule"] == "processors-idle" for c in p["causes"]), "and leaves none idle")
p, out = run(sys.executable, "-c", BUSY % 0)
want(p["processors"] == len(cpus), f"one that does not has all: {p['processors']}")

for sentence in failures:
    print("FAILED:", sentence)
sys.exit(bool(failures))
