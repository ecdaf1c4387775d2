# tests/e2e/test_conformance.sh - the outputs of ONNX's own test cases, as Debian ships them: their types as we infer them, and
# the numbers we compute on the way.
. "$(dirname "$0")/lib.sh"
data=${ONNX_TEST_DATA:-/usr/lib/python3/dist-packages/onnx/backend/test/data}
at_least=1072

[ -d "$data/node" ] || {
    echo "skipped: libonnx-testdata is not installed"
    exit 77
}
exits 0 "the conformance cases are judged" "$build/tests/onnx_conformance" "$data"
cat "$tmp/out"
right=$(sed -n 's/^right \([0-9]*\) of .*/\1/p' "$tmp/out")
cases=$(sed -n 's/^right [0-9]* of //p' "$tmp/out")
computed=$(sed -n 's/^numbers of \([0-9]*\) outputs.*/\1/p' "$tmp/out")
[ "${cases:-0}" -ge 1072 ] || fail "1072 cases are expected, ${cases:-none} found"
[ "${right:-0}" -ge "$at_least" ] || fail "only ${right:-none} of $cases are right, not $at_least"
[ "${computed:-0}" -ge 600 ] || fail "the numbers of only ${computed:-no} outputs were computed"
finish
