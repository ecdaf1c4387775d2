# tests/e2e/check_one_value.py FOLDER - the documents of one model there report each metric with one value.
import csv, json, math, os, re, sys

folder = sys.argv[1]
load = lambda name: json.load(open(os.path.join(folder, name)))
profile, inspect, sweep, api, diff = (load(n + ".json") for n in ("profile", "inspect", "sweep", "api", "diff"))
page = open(os.path.join(folder, "page")).read()


def same(what, *values):
    assert all(v == values[0] for v in values), (what, values)


# Counts: of the graph, of the profile, of a sweep, of the C API.
row = sweep["rows"][0]
for key in ("parameters", "macs", "flops"):
    same(key, inspect["model"][key], profile["model"][key], row[key], api.get(key, row[key]))
same("parameter_bytes", inspect["model"]["parameter_bytes"], profile["model"]["parameter_bytes"],
     profile["memory"]["parameter_bytes"], api["parameter_bytes"])
same("batch", inspect["model"]["batch"], profile["model"]["batch"], row["batch"])
same("activation_bytes", profile["memory"]["activation_bytes"], row["activation_bytes"], api["activation_bytes"])
same("held", profile["memory"]["held_parameter_bytes"], api["held_parameter_bytes"])
same("bytes", sum(l["bytes"] for l in profile["layers"]), api["bytes"])
same("flops of layers", sum(l["flops"] for l in profile["layers"]), profile["model"]["flops"])

# CSV and JSON of one run: the very same digits.
rows = {r["name"]: r for r in csv.DictReader(open(os.path.join(folder, "csv", "layers.csv")))}
assert len(rows) == len(profile["layers"]) == profile["summary"]["total_layers"]
for layer in profile["layers"]:
    for key, text in rows[layer["name"]].items():
        value = layer[key]
        if isinstance(value, list):
            value = len(value)
        if value is None:
            assert text == "", (key, text)
        elif isinstance(value, bool):
            assert text == str(value).lower(), (key, text)
        elif isinstance(value, (int, float)):
            assert abs(float(text) - value) <= (0.0005001 if key.endswith("_ns") else 0), (key, text, value)
        else:
            assert text.lstrip("'") == value, (key, text, value)
samples = [float(r["latency_ns"]) for r in csv.DictReader(open(os.path.join(folder, "csv", "latency.csv")))]
assert len(samples) == len(profile["latency"]["samples_ns"])
assert all(abs(a - b) <= 0.0005001 for a, b in zip(samples, profile["latency"]["samples_ns"]))
assert math.isclose(sorted(samples)[3] / 2 + sorted(samples)[4] / 2, profile["latency"]["median_ns"], abs_tol=0.001)

# Sums: groups and the whole are what the layers are.
for group in ("operators", "scopes"):
    assert math.isclose(sum(g["self_ns"] for g in profile[group]), profile["summary"]["total_time_ns"], rel_tol=1e-9)
assert math.isclose(sum(l["self_ns"] for l in profile["layers"]), profile["summary"]["total_time_ns"], rel_tol=1e-9)
same("latency", profile["latency"]["median_ns"] / 1e6, profile["summary"]["latency_ms"])

# The page: the digits it shows are those of JSON, rounded.
percent = lambda x: f"{100 * x:.1f} %"
lines = {l.split("  ")[0].strip(): l for l in page.splitlines()}
for layer in profile["layers"]:
    line = lines[layer["name"]]
    assert percent(layer["share"]) in line, (line, layer["share"])
    if layer["roof_fraction"] is not None:
        assert percent(layer["roof_fraction"]) in line, (line, layer["roof_fraction"])
    if layer["bound"] == "memory":
        assert f"memory ({layer['bound_level']})" in line, line
assert percent(profile["summary"]["roof_fraction"]) in page

# A run against itself: the same times on both sides, which are those of the profile, and no difference.
assert len(diff["layers"]) == len(profile["layers"])
for layer in diff["layers"]:
    mine = next(l for l in profile["layers"] if l["name"] == layer["layer"])
    same("diff", *(layer[side][key] for side in ("session1", "session2") for key in ("self_ns", "compared_ns")))
    assert math.isclose(layer["session1"]["self_ns"], mine["self_ns"], rel_tol=1e-9), (layer, mine["self_ns"])
total = diff["improvements"]["total_time"]
same("diff latency", total["session1_ns"], total["session2_ns"])
assert math.isclose(total["session1_ns"], profile["latency"]["mean_ns"], rel_tol=1e-9)
other, both = load("again.json"), load("diff-2.json")
for layer in both["layers"]:
    for side, document in (("session1", profile), ("session2", other)):
        mine = next(l for l in document["layers"] if l["name"] == layer["layer"])
        assert math.isclose(layer[side]["compared_ns"], mine["self_ns"], rel_tol=1e-9), (layer, mine["self_ns"])
