# tests/e2e/check_npy.py - writes arrays with NumPy in every kind, order and version, and holds what we read against them.
# usage: check_npy.py READER FOLDER
import subprocess
import sys

import numpy as np

reader, folder = sys.argv[1:]
names = {"f4": "f32", "f8": "f64", "f2": "f16", "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8",
         "u8": "u64", "u4": "u32", "u2": "u16", "u1": "u8", "b1": "bool"}
shapes = [(), (1,), (7,), (2, 3), (4, 3, 2), (2, 1, 3, 2), (0, 3), (1,) * 20]
rng = np.random.default_rng(5)
checked = 0


def read(path):
    return subprocess.run([reader, path], capture_output=True, text=True)


for kind, name in names.items():
    for shape in shapes:
        x = (rng.standard_normal(shape) * 100)
        x = (x > 0) if kind == "b1" else abs(x) if kind[0] == "u" else x
        x = np.asarray(x).astype(kind)
        for order in "CF":
            for version in (1, 2, 3):
                path = f"{folder}/x.npy"
                with open(path, "wb") as f:
                    np.lib.format.write_array(f, np.asarray(x, order=order), version=(version, 0))
                got = read(path)
                assert got.returncode == 0, (kind, shape, got.stderr)
                lines = got.stdout.split("\n")
                assert lines[0].split() == [name] + [str(d) for d in shape], (kind, shape, lines[0])
                want = np.load(path).ravel(order="C")
                have = lines[1:-1]
                assert len(have) == want.size
                for a, b in zip(have, want):
                    if kind == "u8":
                        assert min(int(b), 2**63 - 1) == int(a), (kind, a, b)
                    else:
                        assert float(a) == float(b), (kind, shape, order, a, b)
                checked += 1

for x, words in ((np.zeros(2, ">f4"), "astype"), (np.array(["a"]), "element type"),
                 (np.zeros(2, [("a", "<f4")]), "records"), (np.zeros(2, "datetime64[s]"), "element type"),
                 (np.array([{}], dtype=object), "element type")):
    np.save(f"{folder}/x.npy", x, allow_pickle=True)
    got = read(f"{folder}/x.npy")
    assert got.returncode == 3 and words in got.stderr, got.stderr
np.savez(f"{folder}/x.npz", a=np.zeros(2))
assert read(f"{folder}/x.npz").returncode == 3
print(checked, "files of NumPy read as NumPy reads them")
