# tests/e2e/check_advice.py - a table of models, each made so that one recommendation is obviously the first: by construction
# one cause takes most of the time. usage: check_advice.py ASSAY MODELS FOLDER
import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

assay, models, folder = sys.argv[1:4]
F32, F16, U8, I8, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT64
TRIES = 4
random = np.random.default_rng(7)
node = helper.make_node
flat = lambda *shape: (random.standard_normal(shape) * 0.05).astype(np.float32)


def save(name, nodes, inputs, output, weights, opset=17):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                              [helper.make_tensor_value_info(*output)], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


def chain(op, n, at="x", **attrs):
    nodes = []
    for i in range(n):
        nodes.append(node(op, [at], [f"{op}{i}"], name=f"{op.lower()}_{i}", **attrs))
        at = f"{op}{i}"
    return nodes, at


# ---- the models ----

def gemv(batch):
    w = {f"w{i}": flat(2048, 2048) for i in range(12)}
    nodes, at = [], "x"
    for i in range(12):
        nodes.append(node("MatMul", [at, f"w{i}"], [f"y{i}"], name=f"fc{i}"))
        at = f"y{i}"
    return save(f"gemv_{batch}", nodes, [("x", F32, [batch, 2048])], (at, F32, [batch, 2048]), w)


def gemv_fixed():
    w = {"shape": np.array([1, 2048], np.int64), **{f"w{i}": flat(2048, 2048) for i in range(12)}}
    nodes, at = [], "x"
    for i in range(12):
        nodes.append(node("MatMul", [at, f"w{i}"], [f"y{i}"], name=f"fc{i}"))
        at = f"y{i}"
        if i == 0:
            nodes.append(node("Reshape", [at, "shape"], ["fixed"], name="fixes_the_batch"))
            at = "fixed"
    return save("gemv_fixed", nodes, [("x", F32, [1, 2048])], (at, F32, [1, 2048]), w)


def dense():
    w = {f"w{i}": flat(1024, 1024) for i in range(4)}
    nodes, at = [], "x"
    for i in range(4):
        nodes += [node("MatMul", [at, f"w{i}"], [f"m{i}"], name=f"fc{i}"), node("Relu", [f"m{i}"], [f"y{i}"], name=f"relu{i}")]
        at = f"y{i}"
    return save("dense", nodes, [("x", F32, [1024, 1024])], (at, F32, [1024, 1024]), w)


def convs():
    w = {f"w{i}": flat(128, 128, 3, 3) for i in range(4)}
    nodes, at = [], "x"
    for i in range(4):
        nodes += [node("Conv", [at, f"w{i}"], [f"c{i}"], name=f"conv{i}", pads=[1, 1, 1, 1]), node("Relu", [f"c{i}"], [f"y{i}"], name=f"relu{i}")]
        at = f"y{i}"
    return save("convs", nodes, [("x", F32, [1, 128, 56, 56])], (at, F32, [1, 128, 56, 56]), w)


def elementwise():
    nodes, at = [], "x"
    for i in range(8):  # nothing that a kernel library would join by itself
        op = ("Floor", "Round", "Ceil", "Sign")[i % 4]
        nodes.append(node(op, [at], [f"y{i}"], name=f"{op.lower()}_{i}"))
        at = f"y{i}"
    return save("elementwise", nodes, [("x", F32, [1, 64, 512, 512])], (at, F32, [1, 64, 512, 512]), {})


def transpose_pairs(n, name):
    nodes, at = [], "x"
    for i in range(n):
        nodes += [node("Transpose", [at], [f"a{i}"], name=f"to_{i}", perm=[0, 2, 3, 1]),
                  node("Relu", [f"a{i}"], [f"r{i}"], name=f"relu_{i}"),
                  node("Transpose", [f"r{i}"], [f"b{i}"], name=f"back_{i}", perm=[0, 3, 1, 2])]
        at = f"b{i}"
    return save(name, nodes, [("x", F32, [4, 64, 96, 96])], (at, F32, [4, 64, 96, 96]), {})


def transposes():
    nodes, at = [], "x"
    for i in range(6):
        nodes += [node("Transpose", [at], [f"t{i}"], perm=[2, 0, 1], name=f"turn{i}"), node("Relu", [f"t{i}"], [f"r{i}"], name=f"relu{i}")]
        at = f"r{i}"
    return save("transposes", nodes, [("x", F32, [256, 256, 64])], (at, F32, [256, 256, 64]), {})


def casts():
    nodes, at = [], "x"
    for i in range(4):
        nodes += [node("Cast", [at], [f"h{i}"], name=f"to_half_{i}", to=F16), node("Cast", [f"h{i}"], [f"f{i}"], name=f"to_float_{i}", to=F32)]
        at = f"f{i}"
    return save("casts", nodes, [("x", F32, [8, 64, 128, 128])], (at, F32, [8, 64, 128, 128]), {})


def lookup(rows, width, ids):
    return save(f"lookup_{rows}", [node("Gather", ["table", "ids"], ["rows"], name="embedding")], [("ids", I64, [ids, 512])],
                ("rows", F32, [ids, 512, width]), {"table": np.zeros((rows, width), np.float32)})


def batch_norms():
    c = 64
    w = {"s": np.ones(c, np.float32), "b": np.zeros(c, np.float32), "m": np.zeros(c, np.float32), "v": np.ones(c, np.float32)}
    nodes, at = [], "x"
    for i in range(4):
        nodes.append(node("BatchNormalization", [at, "s", "b", "m", "v"], [f"y{i}"], name=f"bn{i}"))
        at = f"y{i}"
    return save("batch_norms", nodes, [("x", F32, [8, c, 112, 112])], (at, F32, [8, c, 112, 112]), w)


def half():
    w = {f"w{i}": flat(256, 256).astype(np.float16) for i in range(4)}
    nodes, at = [], "x"
    for i in range(4):
        nodes.append(node("MatMul", [at, f"w{i}"], [f"y{i}"], name=f"fc{i}"))
        at = f"y{i}"
    return save("half", nodes, [("x", F16, [128, 256])], (at, F16, [128, 256]), w)


def plain():
    return save("plain", [node("CumSum", ["x", "axis"], ["s"], name="sum"), node("Mod", ["s", "two"], ["y"], name="mod", fmod=1)], [("x", F32, [64, 128, 512])],
                ("y", F32, [64, 128, 512]), {"axis": np.array(2, np.int64), "two": np.array([2], np.float32)})


def quantized_conv(name, zero, dtype, act):
    """Convolutions between (de)quantizations; symmetric outputs behind a Relu are what the engine cannot join."""
    np_type = np.int8 if dtype == I8 else np.uint8
    w = {"s": np.array(0.05, np.float32), "z": np.array(zero, np_type), "ws": np.array(0.01, np.float32), "wz": np.array(0, np.int8)}
    nodes, at = [node("QuantizeLinear", ["x", "s", "z"], ["q_in"], name="q_in"), node("DequantizeLinear", ["q_in", "s", "z"], ["d_in"], name="d_in")], "d_in"
    for i in range(4):
        w[f"w{i}"] = random.integers(-60, 60, (128, 128, 3, 3)).astype(np.int8)
        nodes += [node("DequantizeLinear", [f"w{i}", "ws", "wz"], [f"f{i}"], name=f"dw{i}"),
                  node("Conv", [at, f"f{i}"], [f"c{i}"], name=f"conv{i}", pads=[1, 1, 1, 1])]
        at = f"c{i}"
        if act:
            nodes.append(node(act, [at], [f"a{i}"], name=f"act{i}"))
            at = f"a{i}"
        nodes += [node("QuantizeLinear", [at, "s", "z"], [f"q{i}"], name=f"q{i}"), node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], name=f"d{i}")]
        at = f"d{i}"
    return save(name, nodes, [("x", F32, [1, 128, 28, 28])], (at, F32, [1, 128, 28, 28]), w)


def tiny_ops(n):
    nodes, at = [], "x"
    for i in range(n):
        op = ("Floor", "Round", "Ceil")[i % 3]
        nodes.append(node(op, [at], [f"y{i}"], name=f"{op.lower()}_{i}"))
        at = f"y{i}"
    return save(f"tiny_{n}", nodes, [("x", F32, [1, 64])], (at, F32, [1, 64]), {})


def tiny_gemms():
    w = {f"w{i}": flat(8, 8) for i in range(200)}
    nodes, at = [], "x"
    for i in range(200):
        nodes.append(node("MatMul", [at, f"w{i}"], [f"y{i}"], name=f"fc{i}"))
        at = f"y{i}"
    return save("tiny_gemms", nodes, [("x", F32, [2, 8])], (at, F32, [2, 8]), w)


def causal_decoder():
    d, n, heads = 256, 64, 4
    w = {k: flat(d, d) for k in ("wq", "wk", "wv", "wo")}
    w.update(table=flat(512, d), mask=np.triu(np.full((n, n), -1e9, np.float32), 1), split=np.array([1, n, heads, d // heads], np.int64),
             join=np.array([1, n, d], np.int64), scale=np.array(0.125, np.float32))
    nodes = [node("Gather", ["table", "input_ids"], ["x"], name="embedding")]
    for k in "qkv":
        nodes += [node("MatMul", ["x", "w" + k], [k + "0"], name=k), node("Reshape", [k + "0", "split"], [k + "1"], name=k + "_split"),
                  node("Transpose", [k + "1"], [k + "2"], name=k + "_heads", perm=[0, 2, 3, 1] if k == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["q2", "k2"], ["s0"], name="scores"), node("Mul", ["s0", "scale"], ["s1"], name="scaled"), node("Add", ["s1", "mask"], ["s2"], name="masked"),
              node("Softmax", ["s2"], ["p"], name="softmax", axis=-1), node("MatMul", ["p", "v2"], ["o0"], name="attended"),
              node("Transpose", ["o0"], ["o1"], name="merge", perm=[0, 2, 1, 3]), node("Reshape", ["o1", "join"], ["o2"], name="joined"), node("MatMul", ["o2", "wo"], ["y"], name="out")]
    return save("causal_decoder", nodes, [("input_ids", I64, [1, n])], ("y", F32, [1, n, d]), w)


def reorders():
    w = {f"w{i}": flat(64, 64, 1, 1) for i in range(6)}
    nodes, at = [], "x"
    for i in range(6):  # an operator that reads plain tensors between convolutions
        nodes += [node("Conv", [at, f"w{i}"], [f"c{i}"], name=f"conv{i}"), node("CumSum", [f"c{i}", "axis"], [f"y{i}"], name=f"cumsum{i}")]
        at = f"y{i}"
    w["axis"] = np.array(3, np.int64)
    return save("reorders", nodes, [("x", F32, [1, 64, 64, 64])], (at, F32, [1, 64, 64, 64]), w)


# Model, threads, rules of which one must be first, rules that must not be there, words the first must have. On one thread
# that others are there may be the first word; what comes next must be right then.
one, two = ["--threads", "1"], ["--threads", "2"]
table = [
    (gemv(1), one, ["memory-bound-weights"], ["lookup-tables"], "--batch"),
    (gemv(2), one, ["memory-bound-weights"], [], "--batch"),
    (gemv_fixed(), one, ["memory-bound-weights"], [], "dynamic batch axis"),
    (dense(), one, ["quantize-dense-layers"], ["memory-bound-weights"], "int8"),
    (convs(), one, ["quantize-dense-layers"], ["reorders"], "int8"),
    (elementwise(), one, ["memory-bound-elementwise"], ["quantize-dense-layers"], "fuse"),
    (transpose_pairs(4, "pairs"), one, ["transpose-pairs"], ["quantize-dense-layers"], "to_0 and back_0"),
    (transpose_pairs(1, "pair"), one, ["transpose-pairs"], [], "undo each other"),
    (transposes(), one, ["transposes"], ["transpose-pairs", "memory-bound-weights"], "layout"),
    (casts(), one, ["cast-chains"], [], "to_half_0 and to_float_0"),
    (lookup(50000, 256, 8), one, ["lookup-tables"], ["memory-bound-elementwise", "memory-bound-weights"], "table"),
    (lookup(200000, 64, 32), one, ["lookup-tables"], ["memory-bound-elementwise", "memory-bound-weights"], "table"),
    (batch_norms(), [*one, "--no-fuse"], ["unfused-batch-norm"], [], "--no-fuse"),
    (half(), one, ["plain-products"], ["quantize-dense-layers"], "f32"),
    (plain(), one, ["plain-kernels"], ["quantize-dense-layers"], "plain C"),
    (quantized_conv("symmetric", 0, I8, "Relu"), one, ["float-fallback"], ["quantize-dense-layers"], "zero point"),
    (quantized_conv("elu", 3, U8, "Elu"), one, ["float-fallback"], ["quantize-dense-layers"], "f32 because"),
    (tiny_ops(300), one, ["overhead"], ["far-below-roof", "memory-bound-weights"], "fewer"),
    (tiny_ops(40), one, ["overhead"], ["far-below-roof", "slow-kernels"], "fewer"),
    (tiny_gemms(), one, ["overhead"], ["far-below-roof"], "larger"),
    (tiny_gemms(), two, ["overhead", "fewer-threads"], ["far-below-roof"], ""),
    (causal_decoder(), one, None, [], ""),
    (reorders(), one, ["plain-kernels", "reorders"], ["quantize-dense-layers"], ""),
]
if os.path.isdir(models):
    table += [
        (f"{models}/bert_tiny_qa.onnx", two, ["fewer-threads", "overhead"], ["far-below-roof"], ""),
        (f"{models}/mobilenet_v2_qdq.onnx", one, None, ["quantize-dense-layers"], ""),
    ]


def recommend(path, options):
    """What is recommended; None: no measurement was steady enough."""
    for attempt in range(TRIES):
        out = subprocess.run([assay, "profile", path, *options, "--time", str(0.4 * (attempt + 1)), "--no-history", "--json"], capture_output=True, text=True)
        if out.returncode != 0:
            sys.exit(f"{path}: {out.stderr}")
        doc = json.loads(out.stdout)
        if not doc["summary"]["unsteady"]:
            return [r for r in doc["recommendations"] if r["rule"] != "noisy-machine"]
    return None


def judge(path, options, first, never, words):
    """What is recommended and what is wrong about it; None: not steady."""
    found = recommend(path, options)
    if found is None:
        return None
    wrong = []
    if len(found) > 5 or any(r["expected_gain"] is not None and r["expected_gain"] < 0.01 for r in found) or any(not r["evidence"] or not r["action"] for r in found):
        wrong.append("more than five, below 1 %, or without evidence or action")
    if first and found and found[0]["rule"] == "more-threads" and options == one:
        found = found[1:]
    rules = [r["rule"] for r in found]
    if first and (not rules or rules[0] not in first):
        wrong.append(f"wanted {' or '.join(first)} first")
    elif first and words not in (found[0]["action"] or "") + found[0]["evidence"]:
        wrong.append(f"'{words}' is not in: {found[0]['action']}")
    if path.endswith("causal_decoder.onnx") and "no-kv-cache" not in rules:
        wrong.append("a decoder without a cache is not named")
    if set(never) & set(rules):
        wrong.append(f"never {never}")
    return rules, wrong


bad, judged = [], 0
for path, options, first, never, words in table:
    name = " ".join([os.path.basename(path), *options])
    # Other work on the machine can make one layer slow in one measurement: two of three decide.
    results = []
    while results.count(True) < 2 and results.count(False) < 2 and (not results or not results[0]):
        got = judge(path, options, first, never, words)
        if got is None:
            break
        print(f"{name}: {got[0]} {'; '.join(got[1])}", flush=True)
        results.append(not got[1])
    if not results:
        print(f"{name}: not judged, no steady measurement")
        continue
    judged += 1
    if results.count(False) >= 2:
        bad.append(name)
print(f"{judged} of {len(table)} judged, {len(bad)} wrong")
if judged < 0.6 * len(table):
    print("too few were judged: the machine is too busy")
    sys.exit(77)
sys.exit(1 if bad else 0)
