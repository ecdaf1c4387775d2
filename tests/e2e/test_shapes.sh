# tests/e2e/test_shapes.sh - python3-onnx's own inference agrees with ours on every file of Debian's conformance set and of
# the model set, wherever both know a dimension.
. "$(dirname "$0")/lib.sh"
data=/usr/lib/python3/dist-packages/onnx/backend/test/data
models=${ASSAY_MODELS:-$here/../../../shared/models}

$python -c 'import onnx' 2>/dev/null || {
    echo "skipped: python3-onnx, the judge, is not installed"
    exit 77
}
{
    for kind in node pytorch-converted pytorch-operator simple; do
        [ ! -d "$data/$kind" ] || find -L "$data/$kind" -name model.onnx
    done | sort
    ls "$models"/*.onnx 2>/dev/null
} >"$tmp/files"
[ -s "$tmp/files" ] || {
    echo "skipped: neither libonnx-testdata nor a model set is here"
    exit 77
}
check "wherever python3-onnx and we know a dimension, we agree" \
    xargs $python "$here/check_shapes.py" "$build/tests" <"$tmp/files"
cat "$tmp/check.out"
finish
