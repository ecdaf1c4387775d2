# tests/e2e/test_open_sizes.sh - every page of a model with open dimensions states the sizes taken and who gave them: inspect,
# profile and sweep, as text, Markdown and JSON. Skipped without python3-onnx.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
"$python" -c 'import numpy, onnx' 2>/dev/null || {
    echo "skipped: python3-onnx is not installed"
    exit 77
}
"$python" - <<'PY' || fail "a model with open dimensions is written"
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper

w = numpy_helper.from_array(numpy.ones((8, 4), numpy.float32), "w")
tensors = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in (("x", ["batch", "steps", 8]), ("z", ["batch", None, 4]))]
out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "z"], ["y"])]
onnx.save(helper.make_model(helper.make_graph(nodes, "g", tensors, [out], [w]), opset_imports=[helper.make_opsetid("", 13)]), "open.onnx")
numpy.save("z.npy", numpy.ones((3, 5, 4), numpy.float32))
PY
once="--iterations 2 --warmup 0 --no-history --no-roofline --quiet"

# sizes_are FORM WANTED...: the last document lists exactly these sizes.
sizes_are()
{
    check "$1: the sizes and their sources" "$python" - "$tmp/out" "$@" <<'PY'
import json, sys

d = json.load(open(sys.argv[1]))
if "dimensions" in d:
    got = [f"{x['symbol'] or x['input'] + '[' + str(x['axis']) + ']'} {x['value']} ({x['source']})" for x in d["dimensions"]]
else:
    got = [f"{x['name']} {x['value']} ({x['source']})" for x in (d["sizes"] if "sizes" in d else d["model"]["sizes"])]
assert sorted(got) == sorted(sys.argv[3:]), (got, sys.argv[3:])
PY
}

exits 0 "inspect" "$assay" inspect --json open.onnx --batch 2 --dim steps=5 --shape z=2x5x4
sizes_are inspect "batch 2 (--shape)" "steps 5 (--dim)" "z[1] 5 (--shape)"
exits 0 "inspect with defaults" "$assay" inspect --json open.onnx --dim steps=128
sizes_are inspect "batch 1 (default)" "steps 128 (--dim)" "z[1] 128 (default)"
for form in text markdown; do
    exits 0 "inspect as $form" "$assay" inspect --format $form --width 100 open.onnx --dim steps=128
    check "inspect as $form: the sizes" grep -q 'sizes.*batch 1 (default), steps 128 (--dim), z.*1.* 128 (default)' "$tmp/out"
done

exits 0 "profile" "$assay" profile $once --json open.onnx --input z=z.npy --dim steps=5
sizes_are profile "batch 3 (--input)" "steps 5 (--dim)" "z[1] 5 (--input)"
exits 0 "profile with defaults" "$assay" profile $once open.onnx --dim steps=128 -o run.assay
for form in text markdown; do
    exits 0 "profile as $form" "$assay" report --format $form --width 100 run.assay
    check "profile as $form: what was given" grep -q 'sizes: steps 128 (--dim)' "$tmp/out"
    check "profile as $form: what was not" grep -q "dimension 1 of input 'z' was taken as 128" "$tmp/out"
done

exits 0 "sweep" "$assay" sweep --iterations 2 --warmup 0 --quiet --json open.onnx --batch 1,2 --dim steps=128
sizes_are sweep "steps 128 (--dim)" "z[1] 128 (default)"
for form in text markdown; do
    exits 0 "sweep as $form" "$assay" sweep --iterations 2 --warmup 0 --quiet --format $form --width 100 open.onnx --batch 1,2 --dim steps=128
    check "sweep as $form: the sizes" grep -q 'sizes: steps 128 (--dim), z.*1.* 128 (default)' "$tmp/out"
done
finish
