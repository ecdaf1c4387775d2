# tests/e2e/test_run_hostile.sh - a program that writes nonsense into what it shares with assay cannot crash or mislead it.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer wants to be the first library'
    exit 77
fi
"$python" "$here/check_hostile_target.py" "$build" "$tmp" || fail 'a program has misled assay'
finish
