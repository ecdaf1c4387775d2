# tests/e2e/check_diff_kinds.py - judges `assay diff` of sweeps, machines and models: check_diff_kinds.py WHAT FILES...
import json, sys


def load(path):
    return json.load(open(path))


def near(a, b):
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def check_rows(rows):
    for r in rows:
        before, after = r["before"], r["after"]
        if before is None or after is None or before <= 0:
            assert r["change_percent"] is None, r
        else:
            assert near(r["change_percent"], 100 * (after - before) / before), r


def sweep(diff, small, large):
    d = load(diff)
    assert d["schema"] == "assay.diff_metrics" and d["kind"] == "sweep" and d["n_metrics"] == len(d["metrics"]) == 9
    check_rows(d["metrics"])
    found = {r["metric"]: r for r in d["metrics"]}
    for side, path in (("before", small), ("after", large)):
        for row in load(path)["rows"]:
            name = "batch %d: " % row["batch"]
            assert near(found[name + "latency p50"][side], row["median_ns"]), row
            assert found[name + "peak memory"][side] == row["peak_bytes"]
            assert near(found[name + "samples"][side], row["samples_per_second"])
    assert d["n_tested"] == 2
    for batch in (1, 2):
        row = found["batch %d: latency p50" % batch]
        assert row["verdict"] == "slower" and row["test"]["p_corrected"] < 0.001 and row["test"]["session1_n"] == 60
    assert found["batch 4: latency p50"]["before"] is None and found["batch 4: latency p50"]["verdict"] == "only in B"
    assert found["batch 1: samples"]["verdict"] is None and found["batch 1: samples"]["test"] is None
    assert near(d["slower_percent"], max(100 * found["batch %d: latency p50" % b]["test"]["shift_share"] for b in (1, 2)))


# Against the results in the folders.
def bench(path, *folders):
    d = load(path)
    check_rows(d["metrics"])
    found = {r["metric"]: r for r in d["metrics"]}
    assert d["kind"] == "bench" and d["n_tested"] == len(load(folders[0] + "/results.json")["settings"])
    for side, folder in zip(("before", "after"), folders):
        for row in load(folder + "/results.json")["settings"]:
            assert near(found[row["setting"] + ": latency p50"][side], row["latency"]["median_ns"]), row
    assert found["softmax: latency p50"]["verdict"] == "slower" and found["softmax: latency p50"]["test"]["basis"] == "samples"


def equal(a, b):
    a, b = load(a), load(b)
    assert a["metrics"] == b["metrics"] and a["slower_percent"] == b["slower_percent"]


def same(path, kind):
    d = load(path)
    assert d["kind"] == kind and len(d["metrics"]) > 5
    check_rows(d["metrics"])
    assert all(r["before"] == r["after"] is not None for r in d["metrics"])
    assert all(r["verdict"] in (None, "no significant difference") for r in d["metrics"])
    assert (d["n_tested"] > 0) == (kind == "operations") and d["slower_percent"] == (0 if d["n_tested"] else None)


# Two models: one number of a weight, one attribute and one node differ; a weight is gone, another new.
def make(folder):
    import numpy, onnx
    from onnx import helper, numpy_helper

    rng = numpy.random.default_rng(1)
    weight = rng.standard_normal((4, 3, 3, 3)).astype(numpy.float32)
    keep = rng.standard_normal((4,)).astype(numpy.float32)
    for side in "ab":
        w = weight.copy()
        pads = [1, 1, 1, 1]
        if side == "b":
            w[3, 2, 2, 2] += 1
            pads = [0, 0, 0, 0]
        nodes = [
            helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], name="conv", pads=pads),
            helper.make_node("Relu", ["c"], ["r"], name="relu"),
        ]
        weights = [numpy_helper.from_array(w, "conv.weight"), numpy_helper.from_array(keep, "conv.bias")]
        weights.append(numpy_helper.from_array(keep[:1], "only.a" if side == "a" else "only.b"))
        if side == "b":
            nodes.append(helper.make_node("Sigmoid", ["r"], ["s"], name="extra"))
        nodes.append(helper.make_node("Mul", ["s" if side == "b" else "r", weights[2].name], ["y"], name="scale"))
        size = 8 if side == "a" else 6
        x = helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])
        y = helper.make_tensor_value_info("y", 1, [1, 4, size, size])
        model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], weights), opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, folder + "/" + side + ".onnx")


def models(path, folder):
    import onnx, onnx.numpy_helper

    d = load(path)
    side = [onnx.load(folder + "/%s.onnx" % s) for s in "ab"]
    assert d["schema"] == "assay.diff_model" and d["same"] is False
    check_rows(d["totals"])
    totals = {r["metric"]: r for r in d["totals"]}
    for key, model, name in (("before", side[0], "a"), ("after", side[1], "b")):
        out = 8 if name == "a" else 6
        sizes = {w.name: onnx.numpy_helper.to_array(w).size for w in model.graph.initializer}
        assert totals["layers"][key] == len(model.graph.node)
        assert totals["MACs"][key] == out * out * 4 * 27, totals["MACs"]
        assert totals["weights as stored"][key] == 4 * sum(sizes.values())
        inspected = load(folder + "/%s.inspect.json" % name)["model"]
        for metric, told in (("parameters", "parameters"), ("FLOPs", "flops"), ("bytes moved", "bytes_moved")):
            assert totals[metric][key] == inspected[told], (metric, inspected)
    layers = {r["layer"]: r for r in d["layers"]["rows"]}
    assert set(layers) == {"conv", "relu", "extra", "scale"}, layers
    assert layers["conv"]["change"] == "changed" and layers["conv"]["parts"] == ["shapes", "attributes"], layers["conv"]
    assert layers["relu"]["parts"] == ["shapes"] and layers["scale"]["parts"] == ["inputs", "shapes"]
    assert layers["extra"] == {"layer": "extra", "change": "added", "before": None, "after": "Sigmoid", "parts": []}
    weights = {r["tensor"]: r for r in d["weights"]["rows"]}
    assert {n: r["change"] for n, r in weights.items()} == {"conv.weight": "changed", "only.a": "removed", "only.b": "added"}
    assert weights["conv.weight"]["parts"] == ["numbers"] and weights["conv.weight"]["after"] == "f32 4x3x3x3"
    for part in ("layers", "weights"):
        rows = [r["change"] for r in d[part]["rows"]]
        assert [d[part][k] for k in ("added", "removed", "changed")] == [rows.count(k) for k in ("added", "removed", "changed")]
    assert (d["layers"]["n_before"], d["layers"]["n_after"], d["weights"]["n_before"]) == (3, 4, 3)


def zoo(path):
    d = load(path)
    totals = {r["metric"]: r for r in d["totals"]}
    hidden = lambda h: 784 * h + h + h * h + h + h * 10 + 10
    assert totals["parameters"]["before"] == hidden(256) and totals["parameters"]["after"] == hidden(300)
    assert d["layers"]["changed"] == 5 and d["weights"]["changed"] == 6


globals()[sys.argv[1]](*sys.argv[2:])
