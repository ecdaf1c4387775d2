"""Judges attention and its gating with NumPy and whole numbers of any size. usage: check_attention.py PROGRAM FOLDER"""
import itertools
import subprocess
import sys
from collections import deque

import numpy as np

program, folder = sys.argv[1:]
failed = 0


def check(right, sentence):
    global failed
    if not right:
        failed += 1
        print("FAILED:", sentence)


def run(*words):
    text = subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout.split()
    return [float(text[0]), float(text[1])] + [int(w) for w in text[2:]]


def read_bits(n):
    return np.unpackbits(np.fromfile(f"{folder}/mask.bits", dtype=np.uint8), bitorder="little")[:n].astype(bool)


def whole(x):
    """An f32 as a multiple of 2^-149: exact."""
    a, b = float(x).as_integer_ratio()
    return a * (1 << 149) // b


def flow_side(cap, s, t):
    """Nodes on the side of s after a greatest flow, path by path (Edmonds and Karp), and the flow."""
    n = len(cap)
    left = [row[:] for row in cap]
    total = 0
    while True:
        parent = [-1] * n
        parent[s] = s
        queue = deque([s])
        while queue:
            u = queue.popleft()
            for v in range(n):
                if parent[v] < 0 and left[u][v] > 0:
                    parent[v] = u
                    queue.append(v)
        if parent[t] < 0:
            return [p >= 0 for p in parent], total
        path, v = [], t
        while v != s:
            path.append((parent[v], v))
            v = parent[v]
        fits = min(left[u][v] for u, v in path)
        for u, v in path:
            left[u][v] -= fits
            left[v][u] += fits
        total += fits


def gate(logits, lam, eps):
    """The documented rules, in whole numbers. Returns mask, cost and threshold (floats), applied."""
    n = len(logits)
    mask = logits > eps
    if n < 2 or not mask.any():
        return np.zeros_like(mask), 0.0, 0.0, 0
    cap = [[whole(logits[i, j]) if mask[i, j] else 0 for j in range(n)] for i in range(n)]
    side, flow = flow_side(cap, 0, n - 1)
    total, edges = sum(map(sum, cap)), int(mask.sum())
    threshold = float(np.float64(lam)) * total / edges
    unit = 2.0**-149
    if flow <= threshold:
        side = np.array(side)
        mask &= ~np.outer(side, ~side)
        return mask, flow * unit, threshold * unit, 1
    return mask, 0.0, threshold * unit, 0


def brute(logits, eps):
    n = len(logits)
    w = np.where(logits > eps, logits.astype(np.float64), 0)
    best = np.inf
    for inner in itertools.product([False, True], repeat=n - 2):
        side = np.array([True, *inner, False])
        best = min(best, w[np.outer(side, ~side)].sum())
    return best


def close(a, b, tolerance=1e-12):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


rng = np.random.default_rng(11)
applied = cut = 0
for case in range(60):
    n = int(rng.integers(1, 30)) if case % 2 else int(rng.integers(2, 9))
    logits = rng.normal(0, 1, (n, n)).astype(np.float32)
    if case % 3 == 0:  # few edges, so that cuts are cheap
        logits = np.where(rng.random((n, n)) < 0.7, -1, np.abs(logits)).astype(np.float32)
    lam, eps = float(np.float32(rng.choice([0, 0.3, 0.5, 2, 20]))), float(np.float32(rng.choice([0, 0.01, 0.5])))
    logits.tofile(f"{folder}/logits.f32")
    got = run("cut", folder, n, repr(lam), repr(eps))
    mask, cost, threshold, yes = gate(logits, lam, eps)
    seen = read_bits(n * n).reshape(n, n)
    check((seen == mask).all(), f"cut {case}: the mask of {n} tokens")
    check(close(got[0], cost), f"cut {case}: cost {got[0]}, not {cost}")
    check(close(got[1], threshold), f"cut {case}: threshold {got[1]}, not {threshold}")
    check(got[2:] == [mask.sum(), n * n, mask.any(0).sum(), n, n - mask.any(1).sum(), yes], f"cut {case}: counts {got}")
    if 2 <= n < 9 and yes:
        check(close(cost, brute(logits, eps), 1e-9), f"cut {case}: every cut tried")
    applied += yes
    cut += cost > 0
check(applied > 10 and cut > 5, f"enough cuts were made: {applied}, {cut}")

dropped = {0: 0, 1: 0}
for case, (batch, heads, kv, n, d, causal, lam) in enumerate(
    [(1, 1, 1, 50, 64, 0, 0.5), (2, 6, 2, 27, 20, 1, 0.5), (1, 4, 4, 130, 33, 0, 50), (1, 2, 1, 1, 8, 0, 0.5), (1, 1, 1, 200, 7, 1, 3), (1, 2, 1, 40, 16, 0, 60), (1, 2, 1, 40, 16, 1, 60)]
):
    shape = (batch, heads, n, d)
    q = rng.normal(0, 1.5, shape).astype(np.float32)
    k = rng.normal(0, 1, (batch, kv, n, d)).astype(np.float32)
    v = rng.normal(0, 1, (batch, kv, n, d)).astype(np.float32)
    for name, x in ("q", q), ("k", k), ("v", v):
        x.tofile(f"{folder}/{name}.f32")
    got = run("attend", folder, batch, heads, kv, n, d, causal, lam, 0.01)
    k, v = (np.repeat(x.astype(np.float64), heads // kv, axis=1) for x in (k, v))
    logits = q.astype(np.float64) @ k.swapaxes(2, 3) / np.sqrt(d)
    allowed = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    mask = read_bits(batch * heads * n * n).reshape(batch, heads, n, n)

    def attention(keep):
        x = np.where(keep, logits, -np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.exp(x - x.max(-1, keepdims=True))
            p = np.nan_to_num(p / p.sum(-1, keepdims=True))
        return p @ v

    answer = {name: np.fromfile(f"{folder}/{name}.f32", dtype=np.float32).reshape(shape) for name in ("softmax", "mincut", "masked")}
    check(np.abs(answer["softmax"] - attention(allowed)).max() < 1e-5, f"attend {case}: softmax")
    check(np.abs(answer["mincut"] - attention(mask)).max() < 1e-5, f"attend {case}: mincut")
    check(answer["mincut"].tobytes() == answer["masked"].tobytes(), f"attend {case}: the sparse path has the same bits")
    check(not (mask & ~allowed).any(), f"attend {case}: nothing past the diagonal")
    check(got[2] == mask.sum() and got[3] == mask.size, f"attend {case}: edges counted")
    used = mask.reshape(batch, kv, heads // kv * n, n).any(2)
    check(got[4] == used.sum() and got[5] == used.size, f"attend {case}: positions counted")
    check(got[6] == (~mask.any(-1)).sum(), f"attend {case}: empty rows counted")
    if n < 60:  # entries so near eps that rounding could decide are left out of the judgement
        for b, h in itertools.product(range(batch), range(heads)):
            x = np.where(allowed, logits[b, h], -1).astype(np.float32)
            # A causal mask leads back to earlier tokens, so the cut is from the last to the first: the order turned round.
            right = gate(x[::-1, ::-1], lam, 0.01)[0][::-1, ::-1] if causal else gate(x, lam, 0.01)[0]
            dropped[causal] += (allowed & (x > 0.01) & ~right).sum()
            sure = np.abs(x - 0.01) > 1e-5
            check(((mask[b, h] == right) | ~sure).all(), f"attend {case}: gating of head {h}")
check(dropped[0] > 0 and dropped[1] > 0, f"cuts took edges away, with causal masks too: {dropped}")
sys.exit(failed > 0)
