# tests/e2e/test_stack_harm.sh - programs whose stacks cannot be trusted end watched as they end bare: their stacks are
# walked while they allocate, and nothing of theirs is read or changed that is not there.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer wants to be the first library'
    exit 77
fi
[ "$(uname -m)" = x86_64 ] || { echo 'skipped: stacks are not walked here'; exit 77; }
cc=$(command -v gcc || command -v cc)
[ -n "$cc" ] || { echo "no compiler"; exit 77; }
exits 0 "it compiles" "$cc" -O2 -g -o "$tmp/harm" "$here/stack_harm.c"
for what in coroutine pushes fault header gone moved; do
    "$tmp/harm" $what >"$tmp/bare.out" 2>"$tmp/bare.err"
    bare=$?
    check "$what runs bare" [ "$bare" -ne 9 ]
    exits "$bare" "$what ends watched as it does bare" "$assay" run -q -o "$tmp/harm.assay" -- "$tmp/harm" $what
    check "$what prints the same" cmp "$tmp/bare.out" "$tmp/out"
    rm -f "$tmp/harm.assay"
done
finish
