# tests/e2e/test_leak_corpus.sh - programs whose leaks are known get the right verdict: a few of them, and all with ASSAY_LONG.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "skipped: heaps are not watched by a library with a sanitizer"
    exit 77
fi

if [ "${ASSAY_LONG:-}" ]; then
    "$python" "$here/check_leak_corpus.py" "$build" "$tmp" || fail "a verdict is wrong"
    # Shorter: what cannot be known then is not guessed.
    "$python" "$here/check_leak_corpus.py" "$build" "$tmp" --quick --seconds 1.5 || fail "a verdict of a short program is wrong"
else
    "$python" "$here/check_leak_corpus.py" "$build" "$tmp" --quick --seconds 3 || fail "a verdict is wrong"
fi
finish
