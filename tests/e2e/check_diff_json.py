# tests/e2e/check_diff_json.py - checks the JSON of a comparison: strict, and its figures agree with one another.
import json, math, sys


def refuse(text):
    raise ValueError(text)


def strict(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}"
    return dict(pairs)


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


d = json.loads(open(sys.argv[1], encoding="utf-8").read(), object_pairs_hook=strict, parse_constant=refuse)
assert d["schema"] == "assay.diff" and d["schema_version"] == 1
assert d["session1"].endswith(".assay") and d["session2"].endswith(".assay")
t = d["improvements"]["total_time"]
assert near(t["speedup_percent"], (t["session1_ms"] - t["session2_ms"]) / t["session1_ms"] * 100)
assert near(t["session1_ms"] * 1e6, t["session1_ns"]) and near(t["session2_ms"] * 1e6, t["session2_ns"])
m = d["improvements"]["memory"]
if m["session1_mb"] is not None and m["session2_mb"] is not None:
    assert near(m["reduction_percent"], (m["session1_mb"] - m["session2_mb"]) / m["session1_mb"] * 100)
    assert near(m["session1_mb"] * 1024 * 1024, m["session1_bytes"])
else:
    assert m["reduction_percent"] is None
for l in d["layers"]:
    a, b = l["session1"], l["session2"]
    assert (a is None) == (l["verdict"] == "only in B") and (b is None) == (l["verdict"] == "only in A")
    assert near(l["change_ns"], (b["compared_ns"] if b else 0) - (a["compared_ns"] if a else 0))
    if a and b:
        assert near(l["change_percent"], (b["compared_ns"] / a["compared_ns"] - 1) * 100)
        q = l["test"]["p_corrected"]
        if l["verdict"] in ("faster", "slower"):
            assert q < d["significance_level"] and (l["test"]["shift_ns"] > 0) == (l["verdict"] == "slower")
    else:
        assert l["change_percent"] is None and l["test"]["basis"] == "none"
changes = [abs(l["change_ns"]) for l in d["layers"]]
assert changes == sorted(changes, reverse=True)
if any(changes):
    assert near(sum(l["share_of_changes"] for l in d["layers"]), 1)
if len(sys.argv) > 2:
    assert d["verdict"] == sys.argv[2], d["verdict"]
