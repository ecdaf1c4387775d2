"""Runs small programs whose leaks are known under `assay run`, and holds its verdict against them.

usage: check_leak_corpus.py BUILD FOLDER [--quick] [--seconds N] [--only NAME] [--jobs N]
A leak that is not reported is a wrong verdict, and so is one that is not there. A collected heap (JVM, Go, V8) may stay
unjudged; of the others at most three may answer that there is not enough data."""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "leaks")
PYTHON = "/usr/bin/python3"

# name, whether it leaks, whether the quick subset has it
C = [("kilobyte", True, True), ("late", True, False), ("epochs", True, False), ("mapped", True, False),
     ("files", True, True), ("sockets", True, False), ("threads", True, True), ("drift", True, False),
     ("appended", True, False), ("cache", False, True), ("replaced", False, False), ("sawtooth", False, True),
     ("steady", False, False), ("weights", False, False), ("closed", False, True), ("pool", False, False),
     ("connections", False, False), ("start_up", False, False), ("freed_at_end", False, False),
     ("shrinks", False, False), ("unmapped", False, False)]
CPP = [("cycle", True), ("never_erased", True), ("erased", False), ("containers", False)]
PY = [("list_kept", True, False), ("small_objects", True, False), ("handlers", True, False), ("late_leak", True, False),
      ("files_kept", True, True), ("sockets_kept", True, False), ("threads_kept", True, False),
      ("arrays_kept", True, False), ("epoch_history", True, False), ("list_cleared", False, True),
      ("cache_bounded", False, False), ("cache_fills", False, False), ("cycles", False, True),
      ("temporary", False, False), ("files_closed", False, False), ("children", False, False),
      ("threads_joined", False, False), ("arrays_reused", False, False), ("weights_mapped", False, False),
      ("queue_bounded", False, False)]
# Too short for a verdict: they leak, so "no leak" is wrong; that there is not enough data is right.
FEW = [("few_files", True), ("few_threads", True), ("few_epochs", True), ("few_epochs_dropped", False)]
TORCH = [("torch_graph_kept", True), ("torch_training", False), ("torch_loader", False)]


class Program:
    def __init__(self, name, command, leaks, quick=False, collected=False, few=False):
        self.name, self.command, self.leaks = name, command, leaks
        self.quick, self.collected, self.few = quick, collected, few


def works(*command):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def source(name):
    return os.path.join(SOURCES, name)


def natives(build, folder, seconds, quick):
    corpus = os.path.join(build, "tests", "leak_corpus")
    for name, leaks, soon in C:
        yield Program("c/" + name, [corpus, name, seconds], leaks, soon)
    yield Program("c/child", ["sh", "-c", "'%s' kilobyte %s; true" % (corpus, seconds)], True)
    if quick:
        return
    nodes = os.path.join(folder, "nodes")
    if works("g++", "-O1", "-g", "-o", nodes, source("nodes.cpp")):
        for name, leaks in CPP:
            yield Program("c++/" + name, [nodes, name, seconds], leaks)
    else:
        print("skipped: C++: g++ does not compile")


def pythons(seconds, quick):
    for name, leaks, soon in PY:
        if "numpy" not in name and name.startswith("arrays") and not works(PYTHON, "-c", "import numpy"):
            print("skipped: %s: no numpy" % name)
            continue
        yield Program("python/" + name, [PYTHON, source("programs.py"), name, seconds], leaks, soon)
    for name, leaks in FEW:
        yield Program("python/" + name, [PYTHON, source("programs.py"), name, "2"], leaks, True, few=leaks)
    if quick:
        return
    if not works(PYTHON, "-c", "import torch"):
        print("skipped: torch: it is not installed for " + PYTHON)
        return
    for name, leaks in TORCH:
        yield Program("python/" + name, [PYTHON, source("programs.py"), name, seconds], leaks)


def collected(folder, seconds):
    if shutil.which("javac") and works("javac", "-d", folder, source("Kept.java")):
        for how in ("kept", "dropped"):
            yield Program("java/" + how, ["java", "-Xmx256m", "-cp", folder, "Kept", how, seconds], how == "kept",
                          collected=True)
    else:
        print("skipped: Java: no javac")
    kept = os.path.join(folder, "kept")
    if shutil.which("go") and works("go", "build", "-o", kept, source("kept.go")):
        for how in ("kept", "dropped"):
            yield Program("go/" + how, [kept, how, seconds], how == "kept", collected=True)
    else:
        print("skipped: Go: no go")
    if shutil.which("node"):
        for how in ("kept", "dropped"):
            yield Program("node/" + how, ["node", source("kept.js"), how, seconds], how == "kept", collected=True)
        yield Program("node/files", ["node", source("kept.js"), "files", seconds], True)
    else:
        print("skipped: JavaScript: no node")


def watch(assay, program, folder):
    """The verdict of `assay run` as its exit status tells, and that of the report."""
    run = os.path.join(folder, program.name.replace("/", "-") + ".assay")
    follow = ["--follow"] if program.name == "c/child" else []
    done = subprocess.run([assay, "run", "--fail-on-leak", "--no-report", "-o", run, *follow, "--", *program.command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    again = subprocess.run([assay, "report", "--fail-on-leak", "--json", run], stdout=subprocess.PIPE, text=True,
                           check=False)
    growth = json.loads(again.stdout)["program"]["growth"]
    os.unlink(run)
    return done.returncode, again.returncode, growth, done.stderr


def wrong(program, status, again, growth):
    """The sentence that says what is wrong; None when nothing is. And whether it answered at all."""
    verdict = growth["verdict"]
    if verdict == "unknown" and "not enough data" not in growth["headline"] and not program.collected:
        return "unknown without a number of samples: " + growth["headline"]
    if (status == 1) != (verdict == "grows") or (again == 1) != (verdict == "grows"):
        return "run ends with %d, report with %d, and the verdict is %s" % (status, again, verdict)
    if verdict == "unknown":
        return None
    if program.leaks != (verdict == "grows") and not (program.collected and program.leaks):
        return "%s: %s" % (verdict, growth["text"])
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build")
    options.add_argument("folder")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seconds", default="3")
    options.add_argument("--only")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--show", action="store_true")
    o = options.parse_args()
    programs = [*natives(o.build, o.folder, o.seconds, o.quick), *pythons(o.seconds, o.quick)]
    if o.quick:
        programs = [p for p in programs if p.quick]
    else:
        programs += collected(o.folder, o.seconds)
    if o.only:
        programs = [p for p in programs if o.only in p.name]
    assay = os.path.join(o.build, "assay")
    n_wrong = n_unknown = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for program, (status, again, growth, said) in zip(programs, pool.map(lambda p: watch(assay, p, o.folder), programs)):
            sentence = wrong(program, status, again, growth)
            if o.show:
                print("%-26s %-5s %-24s %s" % (program.name, "leaks" if program.leaks else "-", growth["verdict"],
                                               growth["headline"]))
            if sentence:
                n_wrong += 1
                print("FAILED: %s %s: %s %s" % (program.name, "leaks" if program.leaks else "does not leak", sentence, said))
            elif growth["verdict"] == "unknown" and not program.collected and not program.few:
                n_unknown += 1
                print("not enough data: %s: %s" % (program.name, growth["headline"]))
    print("%d programs, %d wrong verdicts, %d without enough data" % (len(programs), n_wrong, n_unknown))
    if not o.quick and not o.only and len(programs) < 30:
        print("FAILED: fewer than 30 programs")
        n_wrong += 1
    return 1 if n_wrong or n_unknown > 3 else 0


if __name__ == "__main__":
    sys.exit(main())
