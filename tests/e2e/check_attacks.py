# tests/e2e/check_attacks.py - runs a command on every file that expect.tsv names and holds what it says and takes against it.
# usage: check_attacks.py [--memory] [--inference] FOLDER COMMAND...; the file is put behind the command.
# Exit 3, one sentence with the words, no more than 64 MB and twice the file; 10 s guard against hanging only.
import os
import resource
import signal
import subprocess
import sys

HANG_S = 10
problems = []


def run(command, path):
    """Status, standard error and peak memory in bytes of one run."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(writer, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (HANG_S, HANG_S))
        signal.alarm(2 * HANG_S)
        os.execv(command[0], command + [path])
    os.close(writer)
    with os.fdopen(reader, "rb") as f:
        said = f.read()
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), said.decode(errors="replace"), usage.ru_maxrss * 1024


def main():
    args = sys.argv[1:]
    memory = "--memory" in args
    inference = "--inference" in args
    args = [a for a in args if not a.startswith("--")]
    folder, command = args[0], args[1:]
    n = 0
    for line in open(os.path.join(folder, "expect.tsv")):
        name, stage, words = line.rstrip("\n").split("\t")
        if stage == "inference" and not inference:
            continue
        n += 1
        path = os.path.join(folder, name)
        status, said, peak = run(command, path)
        if status != 3:
            problems.append(f"{name}: exit {status}, not 3: {said[:200]}")
        if said.count("\n") != 1 or not said.startswith("assay: "):
            problems.append(f"{name}: not one sentence: {said[:200]!r}")
        for word in words.split("|"):
            if word not in said:
                problems.append(f"{name}: '{word}' is not in: {said[:250]}")
        limit = 64 * 1000 * 1000 + 2 * os.path.getsize(path)
        if memory and peak > limit:
            problems.append(f"{name}: {peak} bytes of memory, {limit} are allowed")
    for problem in problems:
        print(problem)
    print(f"{n} files, {len(problems)} problems")
    return 1 if problems or n == 0 else 0


sys.exit(main())
