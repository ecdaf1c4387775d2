# tests/e2e/test_batch_axis.sh - which dimension counts samples: by symbols, by what the first nodes do, by --batch-axis; where
# nothing shows it, it is unknown and metrics are per inference.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"

"$python" - <<'PY' || fail "the models are written"
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, nodes, shape, out, weights):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
                              [numpy_helper.from_array(np.zeros(s, np.float32), n) if not isinstance(s, list)
                               else numpy_helper.from_array(np.array(s, np.int64), n) for n, s in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), name + ".onnx")


node = helper.make_node
save("detector", [node("Sub", ["x", "mean"], ["a"]), node("Unsqueeze", ["a", "axes"], ["b"]), node("Conv", ["b", "w"], ["y"])],
     [3, 32, 32], [1, 4, 30, 30], {"mean": (3, 1, 1), "axes": [0], "w": (4, 3, 3, 3)})
save("picture", [node("Conv", ["x", "w"], ["y"])], [5, 3, 32, 32], [5, 4, 30, 30], {"w": (4, 3, 3, 3)})
save("moved", [node("Transpose", ["x"], ["a"], perm=[3, 0, 1, 2]), node("Conv", ["a", "w"], ["y"])],
     [3, 32, 32, 5], [5, 4, 30, 30], {"w": (4, 3, 3, 3)})
save("recurrent", [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=8)], [21, 3, 4], [21, 1, 3, 8], {"w": (1, 32, 4), "r": (1, 32, 8)})
save("rows", [node("MatMul", ["x", "w"], ["y"])], [10, 2, 4], [10, 2, 8], {"w": (4, 8)})
save("named", [node("MatMul", ["x", "w"], ["y"])], [10, "N", 4], [10, "N", 8], {"w": (4, 8)})
save("signal", [node("Reshape", ["x", "s"], ["a"]), node("Conv", ["a", "w"], ["y"])], [1600], [1, 2, 1598], {"s": [1, 1, -1], "w": (2, 1, 3)})
PY
# batch WANTED MODEL OPTION...: as inspect prints it; null has a reason.
batch() {
    number=$1
    shift
    exits 0 "$*" "$assay" inspect --json "$@"
    check "$*: batch $number" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))["model"]
assert json.dumps(m["batch"]) == sys.argv[2] and (m["batch"] is None) == bool(m["batch_reason"]), (m["batch"], m["batch_reason"])' "$tmp/out" "$number"
}
batch null detector.onnx
batch 5 picture.onnx
batch 5 moved.onnx
batch 3 recurrent.onnx
batch null rows.onnx
batch 1 named.onnx
batch 6 named.onnx --batch 6
batch 7 recurrent.onnx --batch 7
batch 9 moved.onnx --batch 9
batch null signal.onnx
batch 2 rows.onnx --batch-axis x=1
batch 4 rows.onnx --batch-axis x=1 --batch 4
exits 0 "twice the batch" "$assay" inspect recurrent.onnx --scale batch=3,6 --json
check "is twice the work, not twice the length" "$python" -c '
import json, sys
rows = json.load(open(sys.argv[1]))["scaling"]["rows"]
assert [r["batch"] for r in rows] == [3, 6] and rows[1]["macs"] == 2 * rows[0]["macs"], rows' "$tmp/out"
exits 2 "a batch for an input that is one sample" "$assay" inspect detector.onnx --batch 4
check "says why and what to type" grep -q 'adds the batch dimension itself; name it with --batch-axis' "$tmp/err"
exits 2 "an axis that is not there" "$assay" inspect rows.onnx --batch-axis x=3
exits 2 "an input that is not there" "$assay" inspect rows.onnx --batch-axis y=0
exits 2 "no axis" "$assay" inspect rows.onnx --batch-axis x
exits 0 "a profile of one sample" "$assay" profile detector.onnx --iterations 5 --no-roofline --no-history --width 100
check "counts inferences, not samples" grep -q 'inferences/s' "$tmp/out"
exits 0 "and in JSON" "$assay" profile detector.onnx --iterations 5 --no-roofline --no-history --json
check "samples are unknown" "$python" -c '
import json, sys
j = json.load(open(sys.argv[1]))
assert j["summary"]["samples_per_second"] is None and j["summary"]["inferences_per_second"] > 0 and j["model"]["batch"] is None' "$tmp/out"
exits 0 "a sweep of one sample" "$assay" sweep detector.onnx --threads 1,2 --iterations 5 --warmup 1 --no-roofline --json
check "counts inferences too" "$python" -c '
import json, sys
for r in json.load(open(sys.argv[1]))["rows"]:
    assert r["batch"] is None and r["samples_per_second"] is None and abs(r["inferences_per_second"] * r["latency_ms"] / 1000 - 1) < 1e-9, r' "$tmp/out"
exits 0 "its page" "$assay" sweep detector.onnx --threads 1,2 --iterations 5 --warmup 1 --no-roofline --width 100
check "says inferences" sh -c "grep -q 'inferences/s' '$tmp/out' && ! grep -q 'samples/s' '$tmp/out'"
exits 0 "inspect of one sample" "$assay" inspect detector.onnx --json
check "divides nothing by a batch that is unknown" "$python" -c '
import json, sys
assert json.load(open(sys.argv[1]))["per_sample"] is None' "$tmp/out"

"$python" - <<'PY' || fail "a model with open dimensions is written"
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq", 4])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "seq", 8])], [numpy_helper.from_array(np.zeros((4, 8), np.float32), "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "open.onnx")
PY
exits 0 "a profile of open dimensions" "$assay" profile open.onnx --iterations 5 --no-roofline --no-history --width 100 -o open.assay
check "says which sizes were taken" grep -q "dimension 'seq' was taken as 128; give it with --dim seq=N" "$tmp/out"
check "the batch is said once" sh -c "! grep -q \"dimension 'batch'\" '$tmp/out'"
exits 0 "its report" "$assay" report open.assay --width 100
check "says it again" grep -q "dimension 'seq' was taken as 128" "$tmp/out"
exits 0 "with sizes given" "$assay" profile open.onnx --dim seq=6 --iterations 5 --no-roofline --no-history
check "nothing is assumed" sh -c "! grep -q 'was taken as' '$tmp/out'"
finish
