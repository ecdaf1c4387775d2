# tests/e2e/test_onnx_read.sh - every ONNX file of Debian's conformance set and of the model set: read, compared with
# python3-onnx, written, read again, and judged by its checker.
. "$(dirname "$0")/lib.sh"
data=/usr/lib/python3/dist-packages/onnx/backend/test/data
models=${ASSAY_MODELS:-$here/../../../shared/models}

# Ours: no judge needed.
check "a call is replaced by its function" "$build/tests/model_dump" "$here/../corpus/onnx/function.onnx"
cp "$tmp/check.out" "$tmp/function.json"
check "its nodes and default attributes are in place" $python "$here/check_onnx_function.py" "$tmp/function.json"
for seed in "$here"/../corpus/onnx/*.onnx; do
    check "$(basename "$seed") is read" "$build/tests/model_dump" "$seed"
    rm -f "$tmp/copy.onnx" # a model is not replaced
    check "$(basename "$seed") is written" "$build/tests/model_copy" "$seed" "$tmp/copy.onnx"
done
[ ! -s "$tmp/failures" ] || finish

$python -c 'import onnx, numpy' 2>/dev/null || {
    echo "skipped: python3-onnx, the judge, is not installed"
    exit 77
}
{
    [ -d "$data" ] && find -L "$data" -name model.onnx | sort
    ls "$models"/*.onnx 2>/dev/null
} >"$tmp/files"
[ -s "$tmp/files" ] || {
    echo "skipped: neither libonnx-testdata nor a model set is here"
    exit 77
}
echo "$(wc -l <"$tmp/files") files"
check "what we read is what python3-onnx reads, and what we write it accepts" \
    xargs $python "$here/check_onnx_read.py" "$build/tests" "$tmp" <"$tmp/files"
finish
