# tests/e2e/check_run_attacks.py - runs a command on every file that expect.tsv names and holds status, words and memory against it.
# usage: check_run_attacks.py [--memory] [--refused] FOLDER COMMAND...; the file is put behind the command.
# A failure is one sentence at standard error and nothing at standard output. With --refused the table is that of files that are
# no models or cannot be: all of them fail. 60 s of CPU time guard against hanging only.
import os
import resource
import signal
import subprocess
import sys

HANG_S = 60
ROOM = 600 * 1000 * 1000  # what a run takes at most: none of these files has a tensor of more than a few kB that can be had
problems = []


SPACE = 1 << 30  # of addresses: files that grow until memory is short must not have that of the machine, nor time to fill it


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (HANG_S, HANG_S))
    if "--memory" in sys.argv:
        resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    signal.alarm(3 * HANG_S)


def run(command, path):
    """Status, both outputs and peak memory in bytes of one run."""
    p = subprocess.Popen(command + [path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
    out, said = p.communicate()
    return p.returncode, out.decode(errors="replace"), said.decode(errors="replace")


def main():
    args = sys.argv[1:]
    flags = []
    while args[0].startswith("--"):
        flags.append(args.pop(0))
    folder, command = args[0], args[1:]
    n = 0
    for line in open(os.path.join(folder, "expect.tsv")):
        name, wanted, words = line.rstrip("\n").split("\t")
        if "--refused" in flags:
            wanted, words = "3", ""
        if "memory" in words and "--memory" not in flags:
            continue
        n += 1
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        status, out, said = run(command, os.path.join(folder, name))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if str(status) not in wanted.split("|"):
            problems.append(f"{name}: exit {status}, not {wanted}: {said[:200]}")
        if status != 0 and (said.count("\n") != 1 or not said.startswith("assay: ")):
            problems.append(f"{name}: not one sentence: {said[:200]!r}")
        if status != 0 and out:
            problems.append(f"{name}: it fails and prints: {out[:100]!r}")
        if status == 0 and not out:
            problems.append(f"{name}: it works and prints nothing")
        for word in words.split("|"):
            if status != 0 and word not in said:
                problems.append(f"{name}: '{word}' is not in: {said[:250]}")
        if "--memory" in flags and peak > ROOM and peak > before * 1024 and "memory" not in words:
            problems.append(f"{name}: {peak} bytes of memory, {ROOM} are allowed")
    for problem in problems:
        print(problem)
    print(f"{n} files, {len(problems)} problems")
    return 1 if problems or n == 0 else 0


sys.exit(main())
