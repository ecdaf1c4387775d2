# tests/e2e/check_report_json.py - checks the JSON of the runs that test_report_json.sh made, in the folder given.
import json, math, sys


def strict(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}"
    return dict(pairs)


def load(name):
    def refuse(text):
        raise ValueError(text)

    text = open(f"{sys.argv[1]}/{name}.json", encoding="utf-8").read()
    return json.loads(text, object_pairs_hook=strict, parse_constant=refuse)


r = load("all")
assert r["schema"] == "assay.trace" and r["schema_version"] == 2
assert len(r["run"]["id"]) == 32 and r["run"]["health"]["status"] == "complete"
assert [f["word"] for f in r["run"]["health"]["findings"]] == ["unbalanced"]
layers = {l["name"]: l for l in r["layers"]}
expect = {"block": 250, "conv1": 251, "qkv": 251, "tiny": 250, "worker": 60, "shard1": 20, "fragile": 5,
          "linear": 10, "decode": 240, "noted": 3, "outer": 1, "never_ended": 0}
for name, calls in expect.items():
    assert layers[name]["calls"] == calls, (name, layers[name]["calls"])
assert layers["fragile"]["failed"] == 2 and layers["worker"]["n_threads"] == 3
assert layers["never_ended"]["unclosed_calls"] == 1
for key in ("mean_ns", "self_ns", "median_ns", "p99_ns", "cv", "flops", "gflops_per_s"):
    assert layers["never_ended"][key] is None, key
c = layers["conv1"]
assert c["op"] == "conv2d" and c["shape"] == "1x64x56x56" and c["metadata"]["author"] == "a test"
assert math.isclose(c["gflops_per_s"], c["flops"] * c["calls"] / c["total_ns"], rel_tol=1e-12)
assert c["metadata"]["flops"] == 24000 and layers["softmax"]["metadata"] == {}
for l in r["layers"]:
    if l["calls"]:
        assert l["min_ns"] <= l["median_ns"] <= l["p90_ns"] <= l["p95_ns"] <= l["p99_ns"] <= l["max_ns"], l["name"]
        assert l["min_ns"] <= l["mean_ns"] <= l["max_ns"] and l["ci95_low_ns"] <= l["median_ns"] <= l["ci95_high_ns"]
        assert l["self_ns"] <= l["total_ns"] and l["percentile_method"] == "linear" and l["exact"] is True
    if l["calls"] > 1:
        assert math.isclose(l["std_sample_ns"], l["std_ns"] * math.sqrt(l["calls"] / (l["calls"] - 1)), rel_tol=1e-9)
selfs = [l["self_ns"] or 0 for l in r["layers"]]
assert selfs == sorted(selfs, reverse=True)
assert math.isclose(sum(l["share"] or 0 for l in r["layers"]), 1, rel_tol=1e-6)

s = r["summary"]
assert s["total_layers"] == len(r["layers"]) and s["total_time_ns"] == sum(selfs)
assert s["total_calls"] == sum(l["calls"] for l in r["layers"])
assert math.isclose(s["average_time_per_call_ns"], s["total_time_ns"] / s["total_calls"])
means = [v for _, v in s["slowest_layers"]]
assert len(means) == 5 and means == sorted(means, reverse=True)
stds = [v for _, v in s["most_variable_layers"]]
assert stds == sorted(stds, reverse=True) and s["failed_calls"] == 2

assert sorted(t["index"] for t in r["threads"]) == [0, 1, 2, 3]
assert sum(l["calls"] for t in r["threads"] for l in t["layers"]) == s["total_calls"]
tree = {n["id"]: n for n in r["tree"]}
for n in r["tree"]:
    if n["parent"] is not None:
        assert n["parent"] < n["id"] and tree[n["parent"]]["depth"] == n["depth"] - 1
assert [p["name"] for p in r["phases"]] == ["forward", "backward", "optimizer", "data"]
assert all(p["calls"] == 10 for p in r["phases"])

assert r["iterations"]["n"] == 240 and r["iterations"]["first_is_outlier"] is True
wall = r["latency"]["wall"]
assert list(wall)[:7] == ["p50_us", "p95_us", "p99_us", "mean_us", "std_us", "n", "percentile_method"]
assert wall["n"] == 240 and wall["percentile_method"] == "nearest_rank" and wall["p50_us"] == wall["p50_ns"] // 1000
assert wall["p95_supported"] is True and wall["p99_supported"] is False
assert [(g["seq_len"], g["wall"]["n"]) for g in r["latency"]["by_seq_len"]] == [(128, 120), (512, 120)]
rss = {c["name"]: c for c in r["channels"]}["rss"]
assert rss["n"] == 50 and rss["unit"] == "bytes" and rss["min"] == 1e8 and rss["last"] == 1e8 + 49e5

assert len(r["timeline"]) == s["total_calls"] + 1
total = 0
for e in r["timeline"]:
    if e["status"] in ("ok", "failed"):
        total += e["execution_time_ns"]
    assert e["cumulative_time_ns"] == total
noted = [e["metadata"] for e in r["timeline"] if e["layer"] == "noted"]
assert noted == [{"tokens": 16 * i, "memory_usage": 0.5 + i} for i in range(3)]

e = load("nothing")
assert e["layers"] == [] and e["iterations"] is None and e["latency"] is None and e["summary"]["total_calls"] == 0
assert e["summary"]["average_time_per_call_ns"] is None and e["summary"]["wall_ns"] is None

h = load("hostile")
assert len(h["layers"]) == 13
raw = open(f"{sys.argv[1]}/hostile.json", "rb").read()
assert not any(b < 32 and b != 10 for b in raw), "a raw control"
assert b"\xe2\x80\xae" not in raw and b"<script" not in raw and b"\x1b" not in raw
names = {l["name"] for l in h["layers"]}
assert {"a|b|c", "new\nline", "\x1b[31mred\x1b[0m", "rtl\u202ecod.exe"} <= names

k = load("kill")
assert k["run"]["health"]["status"] == "not_closed" and k["run"]["health"]["ring_events"] > 0
assert {l["name"] for l in k["layers"] if l["open_calls"]} == {"train", "step"}
