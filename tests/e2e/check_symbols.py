#!/usr/bin/env python3
"""Addresses of real files get the names that nm and c++filt give them. usage: check_symbols.py PROGRAM FILE..."""
import os
import random
import re
import subprocess
import sys
import tempfile

BASE = 0x7F1000000000


def run(*args, text=None):
    return subprocess.run(args, input=text, capture_output=True, text=True, errors="replace", check=False).stdout


def segments(path):
    """(offset, address, size, flags) of what the loader maps."""
    found = []
    for line in run("readelf", "-lW", path).splitlines():
        m = re.match(r"\s*LOAD\s+(\w+)\s+(\w+)\s+\w+\s+(\w+)\s+\w+\s+(.{3})", line)
        if m:
            found.append((int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4]))
    return found


def functions(path):
    """{start: (size, names)} of text symbols, from both tables and the debug file."""
    found = {}
    tables = [[path], ["-D", path]]
    build = re.search(r"Build ID: (\w\w)(\w+)", run("readelf", "-n", path))
    if build:
        tables.append([f"/usr/lib/debug/.build-id/{build[1]}/{build[2]}.debug"])
    for table in tables:
        for line in run("nm", "-S", "--defined-only", *table).splitlines():
            m = re.match(r"(\w{16}) (\w{16}) [tTiWw] (\S+)$", line)
            if m:
                start, name = int(m[1], 16), m[3].split("@")[0]
                size, names = found.setdefault(start, (int(m[2], 16), set()))
                names.add(name)
                found[start] = (max(size, int(m[2], 16)), names)
    return found


def maps_of(path, parts):
    lines = []
    for offset, address, size, flags in parts:
        low = address & ~0xFFF
        high = (address + size + 0xFFF) & ~0xFFF
        perm = "r-xp" if "E" in flags else "r--p"
        lines.append(f"{BASE + low:x}-{BASE + high:x} {perm} {offset & ~0xFFF:08x} 08:01 42 {path}")
    return "\n".join(lines) + "\n"


def check(program, path):
    parts, named = segments(path), functions(path)
    random.seed(1)
    starts = random.sample(sorted(named), min(len(named), 3000))
    asked = [(s, s + 1 + random.randrange(named[s][0])) for s in starts if named[s][0] > 0]
    if len(asked) < 10:
        print(f"{path}: too few functions to judge")
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".maps") as maps:
        maps.write(maps_of(path, parts))
        maps.flush()
        out = run(program, maps.name, text="".join(f"{BASE + a:x}\n" for _, a in asked)).splitlines()
    assert len(out) == len(asked), (path, len(out), len(asked))
    names = sorted({n for s in starts for n in named[s][1]})
    shown = dict(zip(names, run("c++filt", "-i", text="\n".join(names) + "\n").splitlines()))
    bad = short = 0
    for (start, address), line in zip(asked, out):
        function, module, offset = line.split("\t")
        wanted = {shown[n] for n in named[start][1]}
        # A smaller function may lie inside: the innermost is as right.
        inner = [s for s in named if start < s < address and address - 1 - s < named[s][0]] if function not in wanted else []
        if inner or function.endswith("<...>") or len(function) >= 1024:
            short += 1
            continue
        if function not in wanted or module != os.path.basename(path) or int(offset, 16) != address - start:
            bad += 1
            if bad < 5:
                print(f"{path}: {address:#x} is {line!r}, not {wanted}")
    print(f"{os.path.basename(path)}: {len(asked)} addresses, {bad} wrong, {short} not compared")
    return bad + (short > len(asked) // 5)


if __name__ == "__main__":
    sys.exit(1 if sum(check(sys.argv[1], os.path.realpath(p)) for p in sys.argv[2:]) else 0)
