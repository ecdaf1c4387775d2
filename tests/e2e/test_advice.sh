# tests/e2e/test_advice.sh - models whose first recommendation is obvious.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"

"$python" - <<'PY' || fail "the models are written"
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def save(name, nodes, inputs, out, weights):
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(*out)], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), name + ".onnx")


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


nodes, at = [], "x"
for i in range(6):
    nodes += [node("Transpose", [at], [f"t{i}"], perm=[0, 2, 1], name=f"turn{i}"), node("Relu", [f"t{i}"], [f"r{i}"], name=f"relu{i}")]
    at = f"r{i}"
save("transposes", nodes, [tensor("x", [4, 256, 256])], (at, TensorProto.FLOAT, [4, 256, 256]), {})
save("lookup", [node("Gather", ["table", "ids"], ["rows"], name="embedding")], [tensor("ids", [8, 512], TensorProto.INT64)],
     ("rows", TensorProto.FLOAT, [8, 512, 256]), {"table": np.zeros((50000, 256), np.float32)})
PY
# rules MODEL: those of its profile, when it was steady.
rules() {
    exits 0 "$1 is profiled" "$assay" profile "$1" --threads 1 --iterations 15 --no-history --json
    "$python" -c '
import json, sys
print(" ".join(r["rule"] for r in json.load(open(sys.argv[1]))["recommendations"]))' "$tmp/out"
}
got=$(rules transposes.onnx)
check "transposes are named ($got)" sh -c "echo '$got' | grep -qE 'transposes|^noisy-machine$'"
got=$(rules lookup.onnx)
check "a table is to be made smaller, not fused ($got)" sh -c "echo '$got' | grep -qE 'lookup-tables|^noisy-machine$'"
check "nothing is to be fused" sh -c "! echo '$got' | grep -q memory-bound-elementwise"
models=${ASSAY_MODELS:-$here/../../../shared/models}
[ -d "$models" ] || models=/nowhere
if [ -f "$models/mobilenet_v2_qdq.onnx" ]; then
    got=$(rules "$models/mobilenet_v2_qdq.onnx")
    check "a quantized model is not to be quantized ($got)" sh -c "! echo '$got' | grep -q quantize-dense"
fi
finish
