# Holds the JSON of `assay profile` against what is documented: keys, types, and relations between figures.
import json
import math
import sys

j = json.load(open(sys.argv[1]), parse_constant=lambda word: sys.exit("not strict JSON: " + word))


def number(where, key, low=0.0, null=False):
    value = where[key]
    if value is None:
        assert null, key + " is null"
        return None
    assert isinstance(value, (int, float)) and not isinstance(value, bool), key
    assert value >= low, (key, value)
    return value


assert j["schema"] == "assay.profile" and j["schema_version"] == 2
for key in ("model", "machine", "config", "latency", "memory", "layers", "summary", "recommendations", "profiling_cost"):
    assert key in j, key

latency = j["latency"]
for key in ("median_ns", "mean_ns", "min_ns", "max_ns", "runs"):
    number(latency, key)
for key in ("std_ns", "p90_ns", "p95_ns", "p99_ns", "ci95_low_ns", "ci95_high_ns"):
    number(latency, key, null=True)
assert latency["min_ns"] <= latency["median_ns"] <= latency["max_ns"]
# Six runs are the fewest whose extremes hold the median 95 times of 100.
assert (latency["ci95_low_ns"] is None) == (latency["ci95_high_ns"] is None)
if latency["earlier_runs"] is not None:
    assert latency["earlier_runs"]["runs"] >= 3 and latency["earlier_runs"]["spread_share"] >= 0
if latency["runs"] < 6:
    assert latency["ci95_low_ns"] is None
if latency["ci95_low_ns"] is not None:
    assert latency["ci95_low_ns"] <= latency["median_ns"] <= latency["ci95_high_ns"]
assert latency["min_ns"] <= latency["mean_ns"] <= latency["max_ns"]
assert len(latency["samples_ns"]) == latency["runs"]
known = [latency[k] for k in ("p90_ns", "p95_ns", "p99_ns") if latency[k] is not None]
assert known == sorted(known)

memory = j["memory"]
for key in ("parameter_bytes", "activation_bytes", "workspace_bytes", "peak_bytes", "rss_bytes", "peak_rss_bytes"):
    number(memory, key)
assert 0 < number(memory, "memory_efficiency") <= 1
assert memory["peak_bytes"] >= memory["activation_bytes"] and memory["peak_bytes"] >= memory["held_parameter_bytes"]
assert memory["peak_rss_bytes"] >= memory["rss_bytes"]
assert memory["peak_rss_since"] in ("before the model was prepared", "the program began")
assert memory["memory_unavailable"] is None
assert (j["decoder_unavailable"] is None) or j["decoder"] is None
if memory["planned_activation_bytes"] is not None:
    assert memory["planned_activation_bytes"] == memory["activation_bytes"], memory
assert memory["parameter_memory_mb"] == memory["parameter_bytes"] / 2**20

layers = j["layers"]
assert layers
for layer in layers:
    for key in ("name", "op", "nodes", "calls", "self_ns", "share", "bound"):
        assert layer[key] is not None, key
    for key in ("macs", "flops", "attainable_gflops_per_second"):
        assert (layer[key] is not None) <= layer["counted"], key
    for key in ("macs", "flops", "bytes"):
        assert (layer[key] is not None) >= layer["counted"], key
    assert layer["bound"] in ("compute", "memory", "overhead", "unknown")
    assert (layer["bound_level"] is not None) == (layer["bound"] == "memory")
    assert layer["min_ns"] <= layer["mean_ns"] <= layer["max_ns"] and layer["self_ns"] > 0
    for key in ("gflops_per_second", "bytes_per_second", "roof_fraction"):
        number(layer, key, null=True)
    assert layer["reorder"] or len(layer["nodes"]) >= 1
    if layer["counted"] and layer["gflops_per_second"] is not None:
        assert math.isclose(layer["gflops_per_second"], layer["executed_flops"] / layer["self_ns"], rel_tol=1e-6)
        assert layer["flops"] - 2 * (layer["macs"] - layer["executed_macs"]) >= layer["executed_flops"] >= 0
assert math.isclose(sum(layer["share"] for layer in layers), 1, rel_tol=1e-6)
assert not j["model"]["counts_complete"] or sum(layer["macs"] for layer in layers) == j["model"]["macs"]
# Every node that does something is in exactly one layer.
nodes = [node for layer in layers for node in layer["nodes"]]
assert len(nodes) == len(set(nodes)) or "--twice" in sys.argv, sorted(n for n in nodes if nodes.count(n) > 1)[:3]

summary = j["summary"]
shares = [summary[k + "_bound_share"] for k in ("compute", "memory", "overhead", "unknown")]
assert math.isclose(sum(shares), 1, rel_tol=1e-6)
if summary["roof_fraction"] is not None and summary["attainable_gflops_per_second"]:
    assert math.isclose(summary["roof_fraction"], summary["gflops_per_second"] / summary["attainable_gflops_per_second"], rel_tol=1e-6)
# The verdict on the whole is what bounds most of its time.
most = max(("compute", "memory", "overhead", "unknown"), key=lambda k: summary[k + "_bound_share"])
assert summary[summary["bottleneck"] + "_bound_share"] == summary[most + "_bound_share"], summary
known = summary["bottleneck"] != "unknown"
assert summary["is_compute_bound"] == (summary["bottleneck"] == "compute" if known else None)
assert summary["is_memory_bound"] == (summary["bottleneck"] == "memory" if known else None)
assert summary["bottleneck"] in ("compute", "memory", "overhead", "unknown")
for group in (j["operators"], j["scopes"]):
    assert math.isclose(sum(g["self_ns"] for g in group), summary["total_time_ns"], rel_tol=1e-6)
    times = [g["self_ns"] for g in group]
    assert times == sorted(times, reverse=True)
for advice in j["recommendations"]:
    assert advice["rule"] and advice["action"] and 0 <= advice["severity"] <= 100 and advice["evidence"] and advice["confidence"] in ("low", "medium", "high")
number(j["profiling_cost"], "share", low=-1)
