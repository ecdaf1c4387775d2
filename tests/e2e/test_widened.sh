# tests/e2e/test_widened.sh - weights stored in fewer bits: rates are of the bytes that kernels read, the same
# whatever the file holds; a table that is looked up counts with the rows taken.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"

exits 0 "f32" "$assay" zoo llama:layers=2,ffn=704,vocab=2048 -o f32.gguf
exits 0 "f16" "$assay" zoo llama:layers=2,ffn=704,vocab=2048,dtype=f16 -o f16.gguf
for name in Q8_0 Q4_0; do
    check "$name is written" "$python" "$here/../helpers/gguf_blocks.py" f32.gguf $name.gguf $name
done
for name in f32 f16 Q8_0 Q4_0; do
    exits 0 "$name is profiled" "$assay" profile --threads 1 --shape tokens=1x1 --iterations 20 --no-roofline --no-history -o $name.assay \
        --export-json $name.json $name.gguf
done
check "bytes are those that kernels read" "$python" - <<'PY'
import json

files = {name: json.load(open(name + ".json")) for name in ("f32", "f16", "Q8_0", "Q4_0")}
plain = {l["name"]: l for l in files["f32"]["layers"]}
assert files["f32"]["memory"]["widened_weights"] == 0
for name, document in files.items():
    for layer in document["layers"]:
        for key in ("bytes", "weight_bytes"):
            assert layer[key] == plain[layer["name"]][key], (name, layer["name"], key, layer[key], plain[layer["name"]][key])
        assert abs(layer["bytes_per_second"] - layer["bytes"] / layer["self_ns"] * 1e9) <= 1e-6 * layer["bytes_per_second"]
    memory = document["memory"]
    assert memory["held_parameter_bytes"] == files["f32"]["memory"]["held_parameter_bytes"], name
    if name != "f32":
        # Of 32 elements: f16 64 bytes, Q8_0 34, Q4_0 18, f32 128.
        assert memory["widened_held_bytes"] * {"f16": 64, "Q8_0": 34, "Q4_0": 18}[name] == memory["widened_stored_bytes"] * 128, (name, memory)
out = plain["output"]
assert out["weight_bytes"] == 2048 * 512 * 4 or out["weight_bytes"] % 4096 == 0, out["weight_bytes"]
PY
exits 0 "the page" "$assay" report Q4_0.assay --width 80
check "says that they were widened" grep -q 'are widened to f32: .* (7.1x)' "$tmp/out"

"$python" - <<'PY' || fail "a model with a large table is written"
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
graph = helper.make_graph(
    [helper.make_node("Gather", ["table", "ids"], ["rows"], name="lookup")], "g",
    [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, 64])], [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [1, 64, 64])],
    [numpy_helper.from_array(np.zeros((400000, 64), np.float32), "table")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "table.onnx")
PY
exits 0 "a lookup" "$assay" profile --threads 1 --iterations 20 --no-history --json table.onnx
check "reads the rows taken, not the table" "$python" -c '
import json, sys
layer = json.load(open(sys.argv[1]))["layers"][0]
assert layer["bytes"] == 2 * 64 * 64 * 4 + 64 * 8, layer["bytes"]
assert layer["weight_bytes"] <= 64 * 64 * 4 + 64 * 8 + 64 * 64 * 4
assert layer["bound_level"] != "DRAM", layer' "$tmp/out"
finish
