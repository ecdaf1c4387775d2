# tests/e2e/test_attacks_profile.sh - files that mean harm when they are run: `assay profile` ends with the status that is
# expected, one sentence and no figure where it fails, in bounded memory; what never ends can be stopped.
. "$(dirname "$0")/lib.sh"
"$assay" help profile >/dev/null 2>&1 || exit 77
attacks=$tmp/attacks

memory=--memory
# Sanitizers keep shadows of all memory: what they take says nothing.
grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" && memory=
set -- "$assay" profile --quiet --no-roofline --iterations 1 --warmup 0 --time 0.1

check "the files are made" $python "$here/../corpus_maker/run_attacks.py" "$attacks/run"
check "every file is run or refused as it should be" $python "$here/check_run_attacks.py" $memory "$attacks/run" "$@"
check "every file is run or refused, node by node in plain C" $python "$here/check_run_attacks.py" $memory "$attacks/run" "$@" \
    --no-fuse --kernels reference

# What readers and shape rules refuse is refused before a run too. Sanitizers see the same readers in the tests of `inspect`.
[ -n "$memory${ASSAY_LONG:-}" ] && for kind in onnx gguf safetensors tflite; do
    check "the $kind files are made" $python "$here/../corpus_maker/${kind}_attacks.py" "$attacks/$kind/files"
    check "no $kind file gets as far as a figure" $python "$here/check_run_attacks.py" --refused "$attacks/$kind/files" "$@"
done

# A Loop of ten million rounds is stopped by the signals that stop any program.
for signal in INT TERM; do
    check "a long loop is stopped by SIG$signal" $python "$here/stop_endless.py" "$signal" "$@" "$attacks/run/endless.onnx"
done
finish
