# tests/e2e/check_inspect_memory.py - holds the peak memory of inspect on each model of a folder against 64 MB and twice the file:
# exit 0 or 3, whatever is asked for. A program of its own, for what it holds itself counts as its children's peak.
# usage: check_inspect_memory.py ASSAY FOLDER
import os
import sys

OPTIONS = ["", "--top 1000000 --wide", "--format markdown --top 1000000", "--json", "--format csv --sort name", "--group scope --wide",
           "--group tree --json", "--group depth --format csv", "--train --json", "--weights --wide", "--graph {g}.svg", "--graph {g}.dot"]


def peak_of(argv):
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def main():
    assay, folder = sys.argv[1:]
    at = lambda name: os.path.join(folder, name)
    n = done = 0
    problems = []
    worst = 0.0
    for name in sorted(os.listdir(folder)):
        path = at(name)
        limit = 64 * 1000 * 1000 + 2 * os.path.getsize(path)
        for option in OPTIONS:
            status, peak = peak_of([assay, "inspect", "-q", *option.replace("{g}", folder + "-picture").split(), path])
            n += 1
            done += status == 0
            worst = max(worst, peak / limit)
            if status not in (0, 3):
                problems.append(f"{name} {option}: exit {status}")
            if peak > limit:
                problems.append(f"{name} {option}: {peak} bytes, {limit} are allowed")
    several = [at("long.onnx")] * 6
    limit = 64 * 1000 * 1000 + 2 * os.path.getsize(several[0])
    for option in ["", "--format markdown", "--format csv"]:
        status, peak = peak_of([assay, "inspect", "-q", *option.split(), *several])
        if status != 0 or peak > limit:
            problems.append(f"six models {option}: exit {status}, {peak} bytes, {limit} are allowed")
    for problem in problems:
        print(problem)
    print(f"{n} inspections, {done} of them with a report, {worst:.0%} of the allowed memory at most, {len(problems)} problems")
    return 1 if problems or done < n // 2 else 0


sys.exit(main())
