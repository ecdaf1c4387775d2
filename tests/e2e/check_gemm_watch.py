"""Compares the products that were seen with those that a program is known to make.
usage: check_gemm_watch.py READER SHARE-FOLDER CASE"""
import math
import pathlib
import subprocess
import sys


def lu(m, n):
    """Counted step by step: a reciprocal, a column times it, then the rest of the matrix loses a product of rank one."""
    return sum(1 + (m - p - 1) * (1 + 2 * (n - p - 1)) for p in range(min(m, n)))


def cholesky(n):
    """A root, a row of divisions, and the triangle behind it loses a product, column by column."""
    return sum(1 + (n - p - 1) + (n - p - 1) * (n - p) for p in range(n))


def qr(m, n):
    """The closed form, for m > n."""
    multiply = n * (n * (0.5 - n / 3 + m) + m + 23 / 6)
    return multiply + n * (n * (0.5 - n / 3 + m) + 5 / 6)


# function, dtype, m, n, k, batch, words after the sizes -> calls, FLOPs of one
EXPECTED = {
    "blas": {
        ("cblas_sgemm", "f32", 32, 16, 8, 1, ""): (3, 2 * 32 * 16 * 8),
        ("cblas_sgemm", "f32", 32, 16, 8, 1, ", B transposed"): (1, 2 * 32 * 16 * 8),
        ("sgemm_", "f32", 24, 12, 40, 1, ", A transposed"): (2, 2 * 24 * 12 * 40),
        ("cblas_sgemv", "f32", 30, 1, 20, 1, ""): (1, 2 * 30 * 20),
        ("cblas_dgemm", "f64", 5, 6, 7, 1, ", A transposed"): (1, 2 * 5 * 6 * 7),
        ("dgemv_", "f64", 20, 1, 30, 1, ", A transposed"): (1, 2 * 30 * 20),
    },
    "threads": {("cblas_sgemm", "f32", 1, 1, k, 1, ""): (20, 2 * k) for k in range(1, 201)},
    "dnnl": {
        ("dnnl matmul", "f32", 4, 6, 5, 3, "src 3x4x5 weights 3x5x6 dst 3x4x6"): (2, 2 * 3 * 4 * 5 * 6),
        ("dnnl_sgemm", "f32", 4, 6, 5, 1, ", B transposed"): (1, 2 * 4 * 5 * 6),
    },
    "numpy": {
        ("cblas_sgemm", "f32", 64, 16, 32, 1, ""): (5, 2 * 64 * 16 * 32),
        ("cblas_dgemm", "f64", 30, 7, 40, 1, ", A transposed"): (1, 2 * 30 * 7 * 40),
        ("cblas_dsyrk", "f64", 40, 40, 30, 1, ""): (1, 40 * 41 * 30),
        ("cblas_zgemm", "c128", 4, 6, 5, 1, ""): (2, 8 * 4 * 5 * 6),
    },
    "torch": {
        ("sgemm_", "f32", 16, 64, 32, 1, ""): (3, 2 * 64 * 16 * 32),
        ("dnnl convolution", "f32", 0, 0, 0, 0, "src 2x8x10x10 weights 2x8x4x3x3 dst 2x16x8x8"): (
            1,
            2 * (2 * 16 * 8 * 8) * 4 * 9,
        ),
        ("dnnl convolution backward data", "f32", 0, 0, 0, 0, "src 2x8x10x10 weights 2x8x4x3x3 dst 2x16x8x8"): (
            1,
            2 * (2 * 16 * 8 * 8) * 4 * 9,
        ),
    },
    # By the operation counts of LAPACK Working Note 41; those of values depend on how soon they converge.
    "lapack": {
        ("dgesv_", "f64", 0, 0, 0, 0, "n 40 nrhs 3"): (2, lu(40, 40) + 3 * (40 * 40 + 40 * 39)),
        ("dgetrf_", "f64", 0, 0, 0, 0, "m 80 n 40"): (1, lu(80, 40)),
        ("dpotrf_", "f64", 0, 0, 0, 0, "n 40"): (1, cholesky(40)),
        ("dgeqrf_", "f64", 0, 0, 0, 0, "m 80 n 40"): (1, qr(80, 40)),
        ("dsyev_", "f64", 0, 0, 0, 0, "n 40, values only"): (1, None),
    },
    "scipy": {
        ("scipy_cblas_dgemm64_", "f64", 6, 5, 4, 1, ", B transposed"): (1, 2 * 6 * 5 * 4),
        ("scipy_cblas_sgemm", "f32", 7, 3, 2, 1, ""): (1, 2 * 7 * 3 * 2),
        ("scipy_dgesv_64_", "f64", 0, 0, 0, 0, "n 40 nrhs 2"): (1, lu(40, 40) + 2 * (40 * 40 + 40 * 39)),
    },
    "nothing": {},
}
# What a library does besides, on its own account.
OTHERS = {"numpy": ("cblas_",), "torch": ("sgemm_", "sgemv_", "dnnl ")}


def read(reader, folder):
    shares = list(pathlib.Path(folder).glob("*.share"))
    assert len(shares) == 1, f"one share was expected: {shares}"
    done = subprocess.run([reader, shares[0]], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[-1] == ["unplaced", "0"], rows[-1]
    return rows[:-1]


def main():
    reader, folder, case = sys.argv[1:]
    expected, seen, last = EXPECTED[case], {}, math.inf
    for row in read(reader, folder):
        function, dtype, shape = row[0], row[1], row[11]
        m, n, k, batch, calls = map(int, row[2:7])
        time, least, most = map(int, row[8:11])
        sizes = f"m {m} n {n} k {k}"
        key = (function, dtype, m, n, k, batch, shape.removeprefix(sizes))
        assert key not in seen, f"twice: {key}"
        seen[key] = (calls, float(row[7]))
        assert calls * least <= time <= calls * most, f"{key}: {least} {most} {time}"
        assert time <= last, "most time does not come first"
        last = time
    for key, (calls, flops) in expected.items():
        assert key in seen, f"not seen: {key} among {sorted(seen)}"
        got = seen[key]
        exact = math.isnan(got[1]) if flops is None else math.isclose(got[1], flops, rel_tol=1e-9)
        assert got[0] == calls and exact, f"{key}: {seen[key]}, not {(calls, flops)}"
    for key in seen.keys() - expected.keys():
        assert key[0].startswith(OTHERS.get(case, ("-",))), f"nobody made {key}"


main()
