"""The JSON of a comparison is strict, has the documented keys and the figures of another formula.
usage: check_compare_json.py MODEL_COMPARE"""
import json
import math
import subprocess
import sys


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def read(*command):
    done = subprocess.run(command, capture_output=True, check=True)
    return json.loads(done.stdout.decode("utf-8", "strict"), parse_constant=refuse)


def near(got, wanted):
    assert math.isclose(got, wanted, rel_tol=1e-12), f"{got}, not {wanted}"


doc = read(sys.argv[1])
assert set(doc) == {"backend_profiles", "comparison_results", "backend_ranking"}
fast = "fast\ufffd"
profiles = doc["backend_profiles"]
assert set(profiles) == {"slow", fast, "nothing"}
assert profiles["slow"]["timestamp"] == 1000.5
assert profiles["nothing"]["profile_summary"]["total_time"] is None
# The total of `fast` is not known: one of its layers was told without a count.
assert [name for name, _ in doc["backend_ranking"]] == ["slow", fast, "nothing"]
near(doc["backend_ranking"][0][1], 100 * 0.014)
assert doc["backend_ranking"][1][1] is None

result = doc["comparison_results"]
assert result["backends"] == ["slow", fast, "nothing"]
assert list(result["layer_comparisons"]) == ["conv", "fc"]
conv = result["layer_comparisons"]["conv"]
documented = {"layer", "backend_data", "fastest_backend", "slowest_backend", "speedup", "time_difference_ms"}
assert documented <= set(conv)
assert set(conv["backend_data"]["slow"]) == {"mean_time", "std_time", "total_time", "call_count"}
assert conv["call_counts_differ"] is True
near(conv["speedup"], 0.010 / 0.008)
near(conv["time_difference_ms"], 2.0)
test = conv["significance"]
assert test["verdict"] == "different" and test["speedup_low"] < 1.25 < test["speedup_high"]
# On the logarithm the interval is even.
near(test["speedup_low"] * test["speedup_high"], 1.25**2)

summary = result["summary"]
documented = {"fastest_backend", "slowest_backend", "overall_speedup", "total_times", "layer_wins", "recommendation"}
assert documented <= set(summary)
assert summary["layer_wins"] == {"slow": 1, fast: 1, "nothing": 0}
assert summary["compared_by"] == "normalized_times" and summary["unequal_because"]
near(summary["normalized_times"]["slow"], 1.4)
near(summary["normalized_times"][fast], 1.3)
assert summary["normalized_times"]["nothing"] is None
near(summary["overall_speedup"], 1.4 / 1.3)
assert summary["fastest_backend"] == fast and fast in summary["recommendation"]
assert summary["peak_memory_mb"] == {"slow": 64, fast: None, "nothing": None}
assert summary["least_memory_backend"] is None

few = read(sys.argv[1], "few")["comparison_results"]
assert set(few) == {"error", "available_backends"} and few["available_backends"] == ["slow"]
