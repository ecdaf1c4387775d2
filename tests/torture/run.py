#!/usr/bin/python3
"""Every call of every command fails once (tests/torture/calls.c).

usage: run.py BUILD [--sample] [--only TEXT] [--jobs N]

A command whose call fails must
  - end by itself, with the status it has without the fault, or with 3 and a sentence;
  - with 3: leave the older file at its output as it was; else: write what it writes without the fault;
  - leave no temporary file behind;
  - take no notice of EINTR and of short reads and writes.
A program that is recorded must print, write and return what it does alone.
--sample: a few places of each call instead of up to 60 of them, for `make check`.
"""
import argparse, concurrent.futures, json, os, pathlib, re, shutil, signal, subprocess, sys, tempfile

# What each call can fail with. Those of INVISIBLE must not be noticed.
FAULTS = {
    "read": "EIO EINTR short", "pread": "EIO EINTR short", "write": "EIO EINTR ENOSPC short",
    "open": "EIO EINTR EMFILE", "openat": "EIO EINTR ENOSPC EMFILE", "opendir": "EMFILE", "fdopendir": "ENOMEM",
    "close": "EIO EINTR", "fsync": "EIO EINTR ENOSPC", "fdatasync": "EIO EINTR", "ftruncate": "EIO EINTR ENOSPC",
    "linkat": "EIO ENOSPC", "rename": "EIO ENOSPC", "renameat": "EIO ENOSPC", "unlink": "EIO", "unlinkat": "EIO",
    "mkdir": "EIO ENOSPC", "mkdtemp": "EACCES", "rmdir": "EIO", "fchmod": "EPERM", "chmod": "EPERM",
    "stat": "EIO", "lstat": "EIO", "fstat": "EIO", "fstatat": "EIO", "statvfs": "EIO", "fstatvfs": "EIO",
    "access": "EIO", "faccessat": "EIO", "readlink": "EIO", "readdir": "EIO", "lseek": "EIO", "getcwd": "ENOENT",
    "mmap": "ENOMEM", "mprotect": "ENOMEM", "madvise": "ENOMEM", "memfd_create": "EMFILE", "fgetxattr": "EIO",
    "fcntl": "EMFILE EINTR", "flock": "EINTR EIO", "getrandom": "EINTR ENOSYS short", "ioctl": "EIO", "dlopen": "EIO",
    "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM", "nanosleep": "EINTR", "waitpid": "EINTR", "wait4": "EINTR",
    "waitid": "EINTR", "posix_spawnp": "EAGAIN", "pthread_create": "EAGAIN", "prctl": "EPERM", "setrlimit": "EPERM",
    "getrlimit": "EPERM", "getrusage": "EPERM", "sched_getaffinity": "EPERM", "setitimer": "EPERM",
    "sigaction": "EPERM", "signalfd": "EMFILE", "uname": "EPERM", "syscall_linkat": "EIO", "syscall_openat2": "EIO ENOSYS EINTR",
    "syscall_renameat2": "EIO ENOSPC ENOSYS", "syscall_statx": "EIO ENOSYS", "syscall_preadv": "EIO EINTR short",
    "syscall_openat": "EIO EINTR ENOSPC EMFILE", "syscall_close": "EIO EINTR", "syscall_pwritev": "EIO EINTR ENOSPC short",
    "syscall_fallocate": "EIO EINTR ENOSPC", "syscall_ftruncate": "EIO EINTR", "syscall_fdatasync": "EIO EINTR",
    "syscall_fchmod": "EPERM EINTR", "syscall_unlinkat": "EIO",
    "syscall_pidfd_open": "EMFILE", "syscall_process_vm_readv": "EPERM", "syscall_other": "ENOSYS",
}
# pthread_sigmask and futex do not fail for what a system can run out of.
LEFT_OUT = {"pthread_sigmask", "syscall_futex"}
INVISIBLE = {"EINTR", "short"}
OLDER = b"what stood here before\n"
RUN = re.compile(r"out(\.\d+)?\.assay")
STEADY = re.compile(rb'"(unix_ns|time|read_ns|load_ns|started|date|age_s)": *"?[-0-9.T:Z]+"?')


class Scenario:
    """outputs: files that stand there before. fresh: those that do not. steady: what it prints and writes is the same each time.
    allowed: another status that a fault may lead to when standard output or error says `because`."""

    def __init__(self, name, argv, outputs=(), steady=True, status=0, program="assay", env=None, folders=(), fresh=(), allowed=None, because=None):
        self.name, self.argv, self.outputs, self.steady, self.status = name, argv, list(outputs) + list(fresh), steady, status
        self.program, self.env, self.folders, self.fresh = program, env or {}, folders, fresh
        self.allowed, self.because = allowed, because


FAST = "--iterations 2 --warmup 0 -q".split()
SCENARIOS = [
    Scenario("inspect", "inspect -q {in}/mlp.onnx -o {d}/out".split(), ["out"]),
    Scenario("inspect-csv", "inspect -q --export-csv {d}/csv --json {in}/mlp.onnx".split(), folders=["csv"]),
    Scenario("inspect-graph", "inspect -q --weights --train --graph {d}/g.svg {in}/beside.onnx".split(), ["g.svg"]),
    Scenario("inspect-gguf", "inspect -q --weights --json {in}/l.gguf".split()),
    Scenario("inspect-two", "inspect -q {in}/mlp.onnx zoo:mlp --export-json {d}/out".split(), ["out"], False),
    Scenario("profile", ["profile", *FAST, "--no-roofline", "--force", "{in}/beside.onnx", "-o", "{d}/out"], ["out"], False),
    Scenario("profile-json", ["profile", *FAST, "--json", "--roofline", "{d}/r.svg", "zoo:mlp"], ["r.svg"], False),
    Scenario("sweep", ["sweep", *FAST, "--no-roofline", "--batch", "1,2", "zoo:mlp", "--export-markdown", "{d}/out"], ["out"], False),
    Scenario("bench", "bench -q --iterations 2 --warmup 0 --output-dir {d}/results true".split() + ["sleep 0"], [], False, allowed=1,
             because=b" failed: "),
    Scenario("run", "run -q --force -o {d}/out -- true".split(), (), False, fresh=["out"]),
    Scenario("run-heap", "run -q --json -- {in}/heap".split(), [], False),
    Scenario("machine", "machine -q --quick --threads 1 --export-json {d}/out".split(), ["out"], False),
    Scenario("report", "report -q {in}/run.assay -o {d}/out".split(), ["out"]),
    Scenario("report-json", "report -q --json -s all {in}/run.assay".split()),
    Scenario("report-csv", "report -q --export-csv {d}/csv {in}/run.assay".split(), folders=["csv"]),
    Scenario("report-document", "report -q --markdown {in}/run.json".replace("--markdown", "--format=markdown").split()),
    Scenario("export", "export -q --to chrome-trace {in}/run.assay -o {d}/out".split(), ["out"]),
    Scenario("export-perfetto", "export -q --to perfetto {in}/run.assay -o {d}/out".split(), ["out"]),
    Scenario("diff", "diff -q {in}/run.assay {in}/run.assay -o {d}/out".split(), ["out"]),
    Scenario("diff-models", "diff -q --json {in}/mlp.onnx {in}/beside.onnx".split()),
    Scenario("verify", "verify -q {in}/run.assay".split()),
    Scenario("verify-folder", "verify -q {in}/results".split()),
    Scenario("bundle", "bundle pack -q --force -o {d}/out {in}/witness.jsonl".split(), ["out"], False),
    Scenario("zoo", "zoo mlp -q --force -o {d}/out --to onnx".split(), ["out"]),
    Scenario("explain", "explain roofline".split()),
    Scenario("help", "help profile -o {d}/out".split(), ["out"]),
    Scenario("recorded", ["{d}/own"], [], False, 0, "recorded", {"ASSAY_RUN": "{d}/out.assay"}),
    Scenario("recorded-child", ["{d}/own", "child"], [], False, 0, "recorded", {"ASSAY_RUN": "{d}/out.assay"}),
]


def steady(data):
    return STEADY.sub(b"", data)


class Place:
    """A folder of its own for one run after the other."""

    def __init__(self, root, index, inputs, build):
        self.folder, self.inputs, self.build = root / f"place{index}", inputs, build
        self.calls = build / "tests/libtorture_calls.so"

    def run(self, scenario, plan=None, count=None):
        d = self.folder / "d"
        shutil.rmtree(self.folder, ignore_errors=True)
        d.mkdir(parents=True)
        for name in scenario.outputs:
            if name not in scenario.fresh:
                (d / name).write_bytes(OLDER)
        fill = lambda text: text.replace("{d}", str(d)).replace("{in}", str(self.inputs))
        program = self.build / ("assay" if scenario.program == "assay" else f"tests/torture_{scenario.program}")
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb", "HOME": str(self.folder),
               "XDG_CACHE_HOME": str(self.inputs.parent / f"cache-{self.folder.name}"), "TMPDIR": str(d),
               "LD_PRELOAD": str(self.calls), "TORTURE_PROGRAM": program.name}
        env.update({key: fill(value) for key, value in scenario.env.items()})
        if scenario.program != "assay":
            env["TORTURE_KEEP_STANDARD"] = "1"
        done = self.folder / "done"
        if plan:
            env["TORTURE_FAIL"], env["TORTURE_DONE"] = plan, str(done)
        if count:
            env["TORTURE_COUNT"] = str(count)
        process = subprocess.Popen([str(program), *map(fill, scenario.argv)], env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        hung = False
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        files = {}
        for path in sorted(d.rglob("*")):
            if path.is_file():
                files[str(path.relative_to(d))] = path.read_bytes()
        return {"status": process.returncode, "out": out, "err": err, "files": files, "hung": hung, "done": done.exists() and done.read_bytes() == b"!"}


def complaints(scenario, plan, base, got, place):
    what = plan.rsplit(":", 1)[1]
    if got["hung"]:
        return ["did not end"]
    if got["status"] < 0:
        return [f"ended by signal {-got['status']}"]
    if scenario.program != "assay":
        return recorded_complaints(what, base, got, place)
    bad = []
    litter = [name for name in got["files"] if ".assay-" in name]
    # What cannot be removed because removing failed stays.
    if litter and not plan.startswith(("unlink", "rmdir")):
        bad.append(f"left behind: {litter[0]}")
    if got["status"] == 3 and scenario.status != 3:
        if what in INVISIBLE:
            bad.append(f"took notice of {what}: {got['err'].decode(errors='replace').strip()}")
        if not any(line.startswith(b"assay: ") for line in got["err"].splitlines()):
            bad.append("exit 3 without a sentence")
        for name in scenario.outputs:
            now = got["files"].get(name)
            # A folder is put on the disk when the new file stands in it already, whole.
            before = None if name in scenario.fresh else OLDER
            if now != before and not whole(scenario, name, base, now, place):
                bad.append(f"{name}: neither what stood there nor what should")
        return bad
    if got["status"] == scenario.allowed and scenario.because in got["out"] + got["err"]:
        return bad
    if got["status"] != scenario.status:
        return bad + [f"exit {got['status']}: {got['err'].decode(errors='replace').strip()}"]
    for name in scenario.outputs:
        if not whole(scenario, name, base, got["files"].get(name), place):
            bad.append(f"{name}: exit {scenario.status}, and it is not what it should be")
    for folder in scenario.folders:
        want = {n: steady(b) for n, b in base["files"].items() if n.startswith(folder + "/")}
        have = {n: steady(b) for n, b in got["files"].items() if n.startswith(folder + "/")}
        if want != have:
            bad.append(f"{folder}: exit {scenario.status}, and its files are not what they should be")
    if scenario.steady and steady(got["out"]) != steady(base["out"]):
        # On faults of what only describes the surroundings a value may be missing, never different.
        bad.append("prints something else")
    if not scenario.steady and "--json" in scenario.argv:
        try:
            json.loads(got["err"] if scenario.argv[0] == "run" else got["out"])
        except ValueError:
            # The status is the command's: a sentence says that there is no document.
            if scenario.argv[0] == "run" and (plan.startswith("write") or got["err"].startswith(b"assay: no summary: ")):
                return bad
            bad.append("prints broken JSON")
    return bad


def whole(scenario, name, base, data, place):
    if data is None or data == OLDER:
        return False
    want = base["files"][name]
    if scenario.steady:
        return steady(data) == steady(want)
    if want[:1] == b"{":
        try:
            return isinstance(json.loads(data), dict)
        except ValueError:
            return False
    if want[:8] == b"ASSAYRUN" or want[:4] == b"SFVR":
        return subprocess.run([str(place.build / "assay"), "verify", "-q", str(place.folder / "d" / name)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    return data[:8] == want[:8] and len(data) > len(want) // 2


def recorded_complaints(what, base, got, place):
    bad = []
    if got["status"] != 0 or got["out"] != base["out"]:
        bad.append(f"the program ended with {got['status']} and printed {got['out']!r}")
    if got["files"].get("own") != base["files"]["own"]:
        bad.append("the program's own file is another one")
    runs = {name: 6000 if name == "out.assay" else 3000 for name in set(base["files"]) | set(got["files"]) if RUN.fullmatch(name)}
    if len([name for name in base["files"] if RUN.fullmatch(name)]) == 2: # the child has another number each time
        runs = {name: made for name, made in runs.items() if name == "out.assay" or name in got["files"]}
        if len(runs) < 2 and what in INVISIBLE:
            bad.append(f"took notice of {what}: the child has no run")
    names = set(got["files"]) - {"own"} - set(runs) - {name + ".ring" for name in runs}
    if any(".old" not in name for name in names) and what in INVISIBLE:
        bad.append(f"left behind: {sorted(names)}")
    for name, made in runs.items():
        bad += run_complaints(what, name, made, got, place)
    return bad


def run_complaints(what, name, made, got, place):
    if name not in got["files"]:
        return [f"took notice of {what}: there is no run"] if what in INVISIBLE else []
    bad = []
    report = subprocess.run([str(place.build / "assay"), "report", "--json", "-q", str(place.folder / "d" / name)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    if report.returncode != 0:
        return [f"{what}: {name} cannot be read: {report.stderr.decode(errors='replace').strip()}"] if what in INVISIBLE else []
    calls = sum(row.get("calls", 0) for row in json.loads(report.stdout)["layers"] if row["name"] == "round")
    health = json.loads(report.stdout)["run"]["health"]
    if calls > made:
        bad.append(f"{calls} calls in {name}, {made} were made")
    if calls < made and not (health["lost_events"] or health["lost_unknown"] or health["cut_bytes"] or health["cut_events"]):
        bad.append(f"{calls} calls of {made} in {name}, and no loss is reported")
    if what in INVISIBLE and calls != made:
        bad.append(f"{what} cost {made - calls} records of {name}")
    return bad


def places_of(times, most):
    if times <= most:
        return list(range(1, times + 1))
    ends = most // 2
    step = (times - ends) / (most - ends)
    return list(range(1, ends + 1)) + sorted({ends + 1 + int(i * step) for i in range(most - ends)})


def prepare(build, inputs):
    assay = str(build / "assay")
    run = lambda *argv: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=inputs)
    inputs.mkdir()
    run(assay, "zoo", "mlp", "-q", "-o", "mlp.onnx")
    run(assay, "zoo", "mlp:hidden=64", "--external", "-q", "-o", "beside.onnx")
    run(assay, "zoo", "llama:layers=1,width=32,heads=4,ffn=32,vocab=50", "--to", "gguf", "-q", "-o", "l.gguf")
    run(str(build / "tests/make_run"), "run.assay", "nested", "iterations", "channels", "notes")
    with open(inputs / "run.json", "wb") as f:
        f.write(subprocess.run([assay, "report", "--json", "run.assay"], check=True, stdout=subprocess.PIPE, cwd=inputs).stdout)
    run(assay, "bench", "-q", "--iterations", "3", "--warmup", "0", "--output-dir", "results", "true", "sleep 0")
    run(str(build / "tests/model_witness"), "witness.jsonl", "30", "packed", "1700000000000000000", "1")
    shutil.copy(build / "tests/heap_operators", inputs / "heap")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    build = options.build.resolve()
    most = 2 if options.sample else 60
    failures = total = 0
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        root = pathlib.Path(folder)
        inputs = root / "inputs"
        prepare(build, inputs)
        before = {p: p.read_bytes() for p in inputs.rglob("*") if p.is_file()}
        places = [Place(root, i, inputs, build) for i in range(options.jobs)]
        for scenario in SCENARIOS:
            if options.only and options.only != scenario.name:
                continue
            for place in places: # caches are warm in each
                base = place.run(scenario)
            if base["status"] != scenario.status:
                print(f"{scenario.name}: exit {base['status']} without a fault: {base['err'].decode(errors='replace')}")
                failures += 1
                continue
            counts = places[0].folder / "counts"
            places[0].run(scenario, count=counts)
            times = {}
            for name, n in (line.split() for line in counts.read_text().splitlines()): # a child goes on where its parent was
                times[name] = max(times.get(name, 0), int(n))
            unknown = set(times) - set(FAULTS) - LEFT_OUT
            if unknown:
                print(f"{scenario.name}: no fault for {sorted(unknown)}")
                failures += 1
            plans = [f"{name}:{nth}:{what}" for name, n in sorted(times.items()) if name in FAULTS
                     for nth in places_of(n, most) for what in FAULTS[name].split()[: 1 if options.sample else None]]
            if options.sample: # and what nobody may notice, once each
                plans += [f"{name}:{(n + 1) // 2}:{what}" for name, n in sorted(times.items()) if name in FAULTS
                          for what in FAULTS[name].split()[1:] if what in INVISIBLE]
            made = wrong = 0
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                def series(index):
                    result = []
                    for plan in plans[index::options.jobs]:
                        got = places[index].run(scenario, plan)
                        result.append((plan, got["done"], complaints(scenario, plan, base, got, places[index])))
                    return result
                for part in pool.map(series, range(options.jobs)):
                    for plan, done, bad in part:
                        made += done
                        if bad and done:
                            wrong += 1
                            if wrong <= 15:
                                print(f"FAILED {scenario.name}, {plan}: {'; '.join(bad)}"[:400])
            total += made
            failures += wrong
            print(f"{scenario.name}: {made} faults, {wrong} wrong", flush=True)
        for path, data in before.items():
            if path.read_bytes() != data:
                print(f"FAILED: an input was changed: {path.name}")
                failures += 1
    print(f"{total} calls failed in {len(SCENARIOS)} commands, {failures} wrong")
    sys.exit(1 if failures else 0)


main()
