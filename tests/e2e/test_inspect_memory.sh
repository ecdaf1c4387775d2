# tests/e2e/test_inspect_memory.sh - `assay inspect` takes at most 64 MB and twice the file, with every option, for models made
# to be much more than their bytes.
. "$(dirname "$0")/lib.sh"

grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" && { echo 'skipped: sanitizers keep shadows of all memory'; exit 77; }
"$python" -c 'import onnx' 2>/dev/null || { echo 'skipped: python3-onnx is not there'; exit 77; }
check "the models are made" "$python" "$here/../corpus_maker/dense_models.py" "$tmp/models"
check "no option takes more" "$python" "$here/check_inspect_memory.py" "$assay" "$tmp/models"
finish
