# tests/e2e/test_engine_cases.sh - ONNX's own test cases run through the engine: with the library's kernels and with plain
# C, fused and node by node, in one arena and with every tensor apart.
. "$(dirname "$0")/lib.sh"
data=${ONNX_TEST_DATA:-/usr/lib/python3/dist-packages/onnx/backend/test/data}
at_least=1069

[ -d "$data/node" ] || {
    echo "skipped: libonnx-testdata is not installed"
    exit 77
}
for options in "" "--reference" "--no-fuse" "--memory" "--reference -t 2"; do
    # shellcheck disable=SC2086
    exits 0 "the cases run with '$options'" "$build/tests/onnx_run" $options "$data"
    echo "options '$options':"
    cat "$tmp/out"
    right=$(sed -n 's/^right \([0-9]*\) of .*/\1/p' "$tmp/out")
    cases=$(sed -n 's/^right [0-9]* of //p' "$tmp/out")
    [ "${cases:-0}" -ge 1072 ] || fail "1072 cases are expected, ${cases:-none} found"
    [ "${right:-0}" -ge "$at_least" ] || fail "with '$options' only ${right:-none} of $cases are right, not $at_least"
done
finish
