# tests/e2e/test_attacks_formats.sh - GGUF, safetensors and TensorFlow Lite files that mean harm: each ends with status 3
# and one sentence, in little memory; a shard outside the folder is not opened.
. "$(dirname "$0")/lib.sh"

set -- "$build/tests/model_dump"
"$assay" help inspect >/dev/null 2>&1 && set -- "$assay" inspect
memory=--memory
# Sanitizers keep shadows of all memory: what they take says nothing.
grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" && memory=
for kind in gguf safetensors tflite; do
    folder=$tmp/attacks/$kind
    check "the $kind files are made" $python "$here/../corpus_maker/${kind}_attacks.py" "$folder"
    check "every $kind file is refused as it should be" $python "$here/check_attacks.py" $memory "$folder" "$@"
done

if strace -o "$tmp/probe" true 2>/dev/null; then
    cp "$tmp/attacks/safetensors/good.part" "$tmp/attacks/outside.safetensors"
    for file in "$tmp"/attacks/safetensors/shard_*.json; do
        strace -f -e trace=file -o "$tmp/trace" "$@" "$file" >/dev/null 2>&1
        grep -E 'outside\.safetensors|passwd|link\.safetensors' "$tmp/trace" | grep -vE '= -1 ' >"$tmp/opened"
        [ ! -s "$tmp/opened" ] || fail "$(basename "$file") leads out of its folder: $(head -1 "$tmp/opened")"
    done
else
    echo "strace cannot run here: which files are opened was not looked at"
fi
finish
