"""A program that writes nonsense into what it shares with assay cannot crash or mislead it.

usage: check_hostile_target.py BUILD FOLDER [N]
The program finds the share in its own memory map, overwrites a part of it by a pattern of its number, and ends itself by
signal 9. assay must end with 128 + 9 (or as the program fell over its own nonsense), leave a whole run, and print what
can be printed; figures that the kernel counts must not be the program's word."""
import json
import os
import random
import subprocess
import sys

PROGRAM = r"""
import os, random, signal, sys
n = int(sys.argv[1])
x = [bytearray(50000) for i in range(200)]
spots = []
for line in open('/proc/self/maps'):
    if '.share' in line:
        start, end = (int(v, 16) for v in line.split()[0].split('-'))
        spots.append((start, end - start, line.split()[-1]))
assert spots, 'no share'
r = random.Random(n)
start, size, path = spots[0]
heap = 8 << 20
# The last three: who was live at the peak, the stacks and their frames, all tables of the heap (trace/shm/heap_shm.h).
where = [(0, 4096), (256, 512), (4096, 61440), (65536, 8192), (65536, 1 << 22), (0, 1 << 20),
         (heap + 9011200, 1 << 19), (heap + 3506176, 6 << 20), (heap + (1 << 16), 9 << 20)][n % 9]
kinds = [lambda k: bytes(k), lambda k: b'\xff' * k, lambda k: r.randbytes(k),
         lambda k: b'\x1b]0;owned\x07\n' * (k // 12 + 1), lambda k: (b'\x00' * 7 + b'\x80') * (k // 8 + 1)]
data = kinds[n // 9 % 5](where[1])[:where[1]]
memory = os.open('/proc/self/mem', os.O_RDWR)
folder = os.path.dirname(path)
for i in range(r.randrange(3)):
    name = [f'{folder}/{r.randrange(1, 1 << 31)}.share', f'{folder}/1.{"9" * 40}.share', f'{folder}/0.share'][i]
    try:
        [lambda: os.symlink('/etc/passwd', name), lambda: os.mkdir(name), lambda: os.mkfifo(name)][r.randrange(3)]()
    except OSError:
        pass
try:
    os.pwrite(memory, data, start + where[0])
except OSError:
    pass
if n % 4 == 3:
    os.truncate(path, r.randrange(1 << 20))
if n % 4 == 2:
    os.unlink(path)
os.kill(os.getpid(), signal.SIGKILL)
"""


def judge(assay, folder, program, n):
    run = os.path.join(folder, "hostile.assay")
    done = subprocess.run([assay, "run", "--force", "-o", run, "--json", "--report-file", os.path.join(folder, "page.json"), "--",
                           sys.executable, program, str(n)], capture_output=True, text=True, check=False)
    assert done.returncode in (128 + 9, 128 + 11, 128 + 7, 128 + 6), f"assay ended with {done.returncode}: {done.stderr[-300:]}"
    assert done.stderr.isprintable() or all(c.isprintable() or c == "\n" for c in done.stderr), repr(done.stderr[-300:])
    assert subprocess.run([assay, "verify", run], capture_output=True, check=False).returncode == 0, "the run is not whole"
    page = subprocess.run([assay, "report", "--section", "all", run], capture_output=True, text=True, check=False)
    assert page.returncode == 0, page.stderr
    assert all(c.isprintable() or c == "\n" for c in page.stdout), "the page has characters that do something"
    seen = json.loads(subprocess.run([assay, "report", "--json", run], capture_output=True, text=True, check=True).stdout)["program"]
    assert seen["exit_status"] == done.returncode
    # What the kernel counts is not the program's word: 10 MB were held, and no more than a machine has.
    peak = seen["peak_rss_bytes"]
    assert peak is None or 5_000_000 < peak < 1 << 34, f"peak {peak}"
    assert 0 < seen["wall_seconds"] < 600 and 0 < seen["cpu_user_ns"] + seen["cpu_system_ns"] < 600e9
    assert seen["growth"]["verdict"] != "grows", seen["growth"]["text"]
    assert "sampled" in str(seen["peak_rss_from"]) or "seen" in str(seen["peak_rss_from"]) or "kernel" in str(seen["peak_rss_from"]) \
        or peak is None, seen["peak_rss_from"]


def main():
    build, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 45
    program = os.path.join(folder, "hostile.py")
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    wrong = 0
    for n in range(count):
        try:
            judge(os.path.join(build, "assay"), folder, program, n)
        except AssertionError as e:
            wrong += 1
            print(f"FAILED: program {n}: {e}")
    return 1 if wrong else 0


random.seed(1)
sys.exit(main())
