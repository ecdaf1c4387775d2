#!/usr/bin/env python3
"""Addresses of real files get the functions and lines that addr2line -i or eu-addr2line -i gives them. usage: check_lines.py PROGRAM FILE..."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from check_symbols import BASE, functions, maps_of, run, segments


def judged(tool, path, addresses):
    """{address: [(function, file, line), ...]} innermost first, as that tool sees it."""
    extra = ["--output-style=GNU"] if "llvm" in tool else []
    out = run(tool, *extra, "-e", path, "-f", "-i", "-a", text="".join(f"{a:#x}\n" for a in addresses)).splitlines()
    found, at = {}, None
    while out:
        line = out.pop(0)
        if re.match(r"0x[0-9a-f]+$", line):
            at = found.setdefault(int(line, 16), [])
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", out.pop(0))
        place = re.sub(r"(:\d+):\d+$", r"\1", place)
        file, number = place.rsplit(":", 1)
        at.append((re.sub(r" inlined at .*", "", line), os.path.basename(file), 0 if number == "?" else int(number)))
    return found


def check(program, path):
    path = os.path.realpath(path)
    random.seed(1)
    starts = {s: size for s, (size, _) in functions(path).items() if size > 1}
    addresses = sorted({s + random.randrange(size) for s, size in starts.items() for _ in range(3)})
    addresses = sorted(random.sample(addresses, min(len(addresses), 2000)))
    with tempfile.NamedTemporaryFile("w", suffix=".maps") as maps:
        maps.write(maps_of(path, segments(path)))
        maps.flush()
        out = run(program, maps.name, "--lines", text="".join(f"{BASE + a + 1:x}\n" for a in addresses)).splitlines()
    assert len(out) == len(addresses), (path, len(out), len(addresses))
    judges = [judged(tool, path, addresses) for tool in ("addr2line", "eu-addr2line", "llvm-symbolizer-14") if shutil.which(tool)]
    known = inlined = 0
    wrong, names = [], []
    for address, line in zip(addresses, out):
        parts = line.split("\t")[3:]
        frames = [(parts[i], *parts[i + 1].rsplit(":", 1)) for i in range(0, len(parts), 2)]
        theirs = [j[address] for j in judges]
        if not frames and any(t[0][2] == 0 for t in theirs):
            continue
        known += 1
        inlined += len(frames) > 1
        lines = [(os.path.basename(f), int(n)) for _, f, n in frames]
        # The tools err in ways of their own: ours must be what one of them says.
        same = [t for t in theirs if [(f, n) for _, f, n in t] == lines]
        if not same:
            wrong.append((hex(address), frames, theirs))
        else:
            names += [(frame[0], judge[0]) for frame, judge in zip(frames, same[0])]
    shown = run("c++filt", "-i", text="".join(n + "\n" for _, n in names)).splitlines()
    # A function may have several names, and one without a linkage name has its plain one.
    misnamed = [(ours, judge) for (ours, _), judge in zip(names, shown)
                if ours != judge and not re.search(r"\b" + re.escape(re.split(r"[(<]", judge)[0]), ours)]
    for w in wrong[:4] + misnamed[:4]:
        print("  ", *w)
    print(f"{os.path.basename(path)}: {len(addresses)} addresses, {known} with lines, {inlined} with inlined functions, "
          f"{len(wrong)} as no judge says, {len(misnamed)} of {len(names)} with another name")
    return known < 10 or len(wrong) > known // 50 or len(misnamed) > len(names) // 20


if __name__ == "__main__":
    sys.exit(any([check(sys.argv[1], p) for p in sys.argv[2:]]))
