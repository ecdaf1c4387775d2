# tests/e2e/test_kept.sh - activations kept for the backward pass, in exports of small networks of the usual kinds: within 5 % of
# what PyTorch's autograd saves. Skipped without PyTorch.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
"$python" -c 'import torch' 2>/dev/null || {
    echo "skipped: python3-torch is not installed"
    exit 77
}
"$python" "$here/check_kept.py" "$assay" || fail "what is kept is what PyTorch keeps"
finish
