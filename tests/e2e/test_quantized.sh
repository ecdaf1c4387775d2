# tests/e2e/test_quantized.sh - networks of few bits described in C: what is written is what was counted, and a judge takes it.
. "$(dirname "$0")/lib.sh"

# 64 x 128 and 2048 x 10 weights; a norm of 128 and biases of 138 as f32; 138 scales, one more and a zero point: 557 bytes
for case in "8 28938 29736 3.821" "4 28938 15400 7.254"; do
    set -- $case
    exits 0 "$1 bits" "$build/tests/model_quantized" "$1" "$tmp/q$1.onnx"
    check "$1 bits are counted: $2 $3 $4" grep -qx "$2 $3 $4" "$tmp/out"
    exits 0 "$1 bits are read" "$assay" inspect "$tmp/q$1.onnx" --json
    cp "$tmp/out" "$tmp/q$1.json"
    check "and counted the same" grep -q "\"parameters\": $2" "$tmp/q$1.json"
done
exits 3 "5 bits" "$build/tests/model_quantized" 5 "$tmp/q5.onnx"

if "$python" -c 'import onnx, numpy' 2>/dev/null; then
    cat >"$tmp/judge.py" <<'PY'
import sys
import onnx
from onnx import numpy_helper, TensorProto
model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, full_check=True)
inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
assert [d.dim_value for d in inferred.graph.output[0].type.tensor_type.shape.dim] == [1, 10]
weights = {t.name: t for t in model.graph.initializer}
first = numpy_helper.to_array(weights["fc1.weight"])
assert first.shape == (64, 128) and str(first.dtype) == "int8" and first.std() > 30, first
assert numpy_helper.to_array(weights["fc1.weight_scale"]).min() > 0
assert model.opset_import[0].version == 17
PY
    check "python3-onnx accepts 8 bits" "$python" "$tmp/judge.py" "$tmp/q8.onnx"
    # Its version knows no 4-bit numbers: what the file says of them is read without checks.
    cat >"$tmp/look.py" <<'PY'
import sys
import onnx
model = onnx.load(sys.argv[1])
assert model.opset_import[0].version == 21 and model.ir_version == 10
weights = {t.name: t for t in model.graph.initializer}
assert weights["fc1.weight"].data_type == 22 and len(weights["fc1.weight"].raw_data) == 64 * 128 // 2
for node in model.graph.node:
    if node.op_type.startswith("Reduce"):
        assert len(node.input) == 2 and not [a for a in node.attribute if a.name == "axes"], node
PY
    check "4 bits are in opset 21" "$python" "$tmp/look.py" "$tmp/q4.onnx"
else
    echo "python3-onnx, the judge, is not installed: files were not judged"
fi
finish
