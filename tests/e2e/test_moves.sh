# tests/e2e/test_moves.sh - operators that move, pick, place and sample elements, judged by numpy and torch.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, onnx, torch' 2>/dev/null || {
    echo "skipped: python3-numpy, python3-onnx or python3-torch is not installed"
    exit 77
}
exits 0 "the cases are written" "$python" -W ignore "$here/judge_moves.py" "$tmp/cases"
cases=$(tail -1 "$tmp/out")
[ "${cases:-0}" -ge 500 ] || fail "only ${cases:-no} cases were written"
for how in "" "-t 2" --memory; do
    # shellcheck disable=SC2086
    exits 0 "the cases are run" "$build/tests/onnx_run" --reference $how "$tmp/cases"
    grep -qx "right $cases of $cases" "$tmp/out" || {
        fail "not all are right with '$how'"
        head -20 "$tmp/out"
    }
done
finish
