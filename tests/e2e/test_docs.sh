# tests/e2e/test_docs.sh - README and docs: every command line is valid, links lead somewhere, the C of the README compiles.
. "$(dirname "$0")/lib.sh"

root=$(cd "$here/../.." && pwd)
"$assay" help --json >"$tmp/help.json"
check "commands, options, links and lengths" "$python" "$here/check_docs.py" "$root" "$tmp/help.json"

# The program in the README is complete: it compiles without a warning, runs, and leaves a run with its layer.
awk '/^```c$/ {inside = 1; next} /^```/ {inside = 0} inside' "$root/README.md" >"$tmp/net.c"
check "the README has a C program" grep -q 'int main' "$tmp/net.c"
case $build in
*asan* | *tsan* | *fuzz*) echo 'the C program is left out: the library needs a sanitizer' ;;
*)
    check "it compiles" ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I "$root/include" "$tmp/net.c" -o "$tmp/net" "$build/libassay-trace.a" -pthread
    check "it runs" sh -c "cd '$tmp' && ./net >/dev/null"
    check "its layer is in the run" sh -c "'$assay' report '$tmp/run.assay' --section layers | grep -q '^conv1 '"
    ;;
esac
finish
