"""Judges the JSON of a manager: strict, and its figures agree with each other. usage: check_session.py FILE CALLS"""
import json
import math
import statistics
import sys


def refuse(name):
    raise ValueError(f"{name} is not JSON")


def unique(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
    return dict(pairs)


with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
d = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
assert text.startswith('{\n  "schema": "assay.manager",\n  "schema_version": 2,\n'), text[:80]
iterations = int(sys.argv[2])

for key in ("profiling_session", "layer_profiling", "memory_profiling", "memory_leaks", "bottlenecks", "anomalies",
            "cost_of_profiling", "dropped", "extensions"):
    assert isinstance(d[key], dict), key
for key in ("gpu_utilization", "gpu_recommendations", "distributed_training", "backend_comparison"):
    assert d[key] is None and d[key + "_reason"], key

session = d["profiling_session"]
assert session["end_time"] >= session["start_time"] > 1.6e9
assert abs(session["end_time"] - session["start_time"] - session["duration_seconds"]) < 0.1

layers = d["layer_profiling"]
stats, history, summary = layers["layer_stats"], layers["execution_history"], layers["summary"]
assert set(stats) == {"load", "forward", "dense1", "dense2", "loss", "backward", "optimizer", "descend", "side work",
                      "smooth", "parse"}, set(stats)
assert summary["total_layers"] == len(stats) and summary["threads"] == 2 and summary["open_at_end"] == []
for name, s in stats.items():
    want = iterations * (2 if name == "descend" else 1)
    assert s["call_count"] + s["failed_count"] == want, (name, s["call_count"], s["failed_count"])
    assert s["min_time"] <= s["p50_time"] <= s["p95_time"] <= s["p99_time"] <= s["max_time"]
    assert s["self_time"] <= s["total_time"] * (1 + 1e-9)
    times = s["execution_times"]
    if len(times) == s["call_count"]:  # all of them: an independent judge counts again
        assert math.isclose(sum(times), s["total_time"], rel_tol=1e-9)
        assert math.isclose(statistics.fmean(times), s["mean_time"], rel_tol=1e-9)
        assert math.isclose(statistics.pstdev(times), s["std_time"], rel_tol=1e-6, abs_tol=1e-12)
        assert math.isclose(statistics.stdev(times), s["std_time_sample"], rel_tol=1e-6, abs_tol=1e-12)
        assert math.isclose(statistics.median(times), s["p50_time"], rel_tol=1e-6, abs_tol=1e-9)
assert stats["parse"]["failed_count"] == iterations // 10
assert stats["forward"]["total_time"] > stats["dense1"]["total_time"] + stats["dense2"]["total_time"]
assert stats["forward"]["self_time"] < stats["forward"]["total_time"]

means = sorted(((s["mean_time"], n) for n, s in stats.items()), reverse=True)
assert [n for n, _ in summary["slowest_layers"]] == [n for _, n in means[:5]]
assert math.isclose(summary["total_time"], sum(s["total_time"] for s in stats.values()), rel_tol=1e-9)

assert len(history) + d["dropped"]["timeline_calls"] == summary["total_calls"] + summary["failed_calls"]
for before, after in zip(history, history[1:]):
    assert math.isclose(after["cumulative_time"], before["cumulative_time"] + after["execution_time"], rel_tol=1e-6)
    assert after["timestamp"] >= before["timestamp"]
failed = [e for e in history if e["status"] == "failed"]
assert {e["layer"] for e in failed} == {"parse"} and {e["reason"] for e in failed} == {"a word is not a number"}
assert all(e["phase"] == "forward" and e["flops"] > 0 for e in history if e["layer"] == "forward")
assert {e["depth"] for e in history if e["layer"] in ("dense1", "dense2", "parse")} == {1}
assert len({e["thread"] for e in history}) == 2

b = d["bottlenecks"]
assert {"bottlenecks", "recommendations", "summary"} <= set(b)
assert math.isclose(sum(r["share"] for r in b["ranked"]), 1, abs_tol=0.2)
assert d["memory_profiling"]["peak_memory_mb"] >= d["memory_profiling"]["baseline_memory_mb"] > 0
assert d["cost_of_profiling"]["calls"] == summary["total_calls"] + summary["failed_calls"]
assert d["cost_of_profiling"]["share"] > 0
print("ok")
