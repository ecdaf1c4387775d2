#!/bin/sh
# The example that leaks: the layer is named, and nobody is blamed when nothing leaks. usage: test_leak_example.sh BUILD
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: the heap of a sanitizer does not tell what is in use'
    exit 77
fi
exits 1 'a leak was found' "$build/examples/leak"
grep -qE '^remember leaks: 2\.9[0-9] KiB a request' "$tmp/out" || fail "the leak is not named: $(cat "$tmp/out")"
[ "$(grep -c leaks "$tmp/out")" -eq 1 ] || fail "innocent layers are named: $(cat "$tmp/out")"
exits 0 'a cache that is emptied does not leak' "$build/examples/leak" --evict
grep -qx 'no layer leaks' "$tmp/out" || fail "a leak where there is none: $(cat "$tmp/out")"
finish
