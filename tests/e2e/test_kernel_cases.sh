# tests/e2e/test_kernel_cases.sh - every kernel on types, opsets and shapes that ONNX's own cases leave out; numpy and torch
# are the judges.
. "$(dirname "$0")/lib.sh"

"$python" -c 'import numpy, onnx, torch' 2>/dev/null || {
    echo "skipped: python3-onnx or python3-torch is not installed"
    exit 77
}
cases=$("$python" "$here/kernel_cases.py" "$tmp/cases") || fail "the cases cannot be made"
[ "${cases:-0}" -ge 1800 ] || fail "1800 cases are expected, ${cases:-none} made"
for threads in 1 3; do
    # It ends with 1 when a case is not right, which the lines tell.
    "$build/tests/onnx_run" --reference -t $threads "$tmp/cases" >"$tmp/out" 2>&1
    right=$(sed -n 's/^right \([0-9]*\) of .*/\1/p' "$tmp/out")
    [ "${right:-0}" -eq "$cases" ] || {
        fail "with $threads threads only ${right:-none} of $cases are right"
        head -20 "$tmp/out"
    }
done
finish
