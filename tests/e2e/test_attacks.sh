# tests/e2e/test_attacks.sh - files that mean harm: each ends with status 3 and one sentence, in little memory, and no file
# outside the folder of the model is opened.
. "$(dirname "$0")/lib.sh"
attacks=$tmp/attacks/files

check "the files are made" $python "$here/../corpus_maker/onnx_attacks.py" "$attacks"
if "$assay" help inspect >/dev/null 2>&1; then
    set -- "$assay" inspect
    stages=--inference
else
    set -- "$build/tests/model_dump"
    stages=
fi
memory=--memory
# Sanitizers keep shadows of all memory: what they take says nothing.
grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" && memory=
check "every file is refused as it should be" $python "$here/check_attacks.py" $memory $stages "$attacks" "$@"

if strace -o "$tmp/probe" true 2>/dev/null; then
    for file in "$attacks"/path_*.onnx "$attacks"/place_*.onnx; do
        strace -f -e trace=file -o "$tmp/trace" "$@" "$file" >/dev/null 2>&1
        grep -E 'secret|passwd|proc/version|link_folder|inner_link|hard\.bin' "$tmp/trace" | grep -v '\.onnx"' | grep -vE '= -1 ' |
            grep -v 'hard\.bin.*RESOLVE_BENEATH' | grep -v 'openat(.*O_PATH) = ' >"$tmp/opened" # looked at, not opened
        [ ! -s "$tmp/opened" ] || fail "$(basename "$file") leads out of its folder: $(head -1 "$tmp/opened")"
    done
else
    echo "strace cannot run here: which files are opened was not looked at"
fi

# Kinds of files that are no files.
mkfifo "$tmp/pipe"
for what in "$tmp/pipe" "$tmp" /dev/null /dev/zero; do
    timeout 10 "$@" "$what" >/dev/null 2>"$tmp/err"
    [ $? = 3 ] || fail "$what is not refused"
    grep -q 'not a model file' "$tmp/err" || fail "$what is not named for what it is: $(cat "$tmp/err")"
done
truncate -s 1G "$tmp/sparse.onnx"
exits 3 "a gigabyte of zeros" "$@" "$tmp/sparse.onnx"
says "zeros"
finish
