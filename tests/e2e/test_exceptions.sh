# tests/e2e/test_exceptions.sh - C++: scopes that an exception leaves end as failed, and only those.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer needs sanitized programs"
    exit 77
fi
for compiler in c++ clang++; do
    command -v $compiler >/dev/null || continue
    $compiler -std=c++17 -O2 -Wall -Wextra -Wpedantic -Wshadow -Werror -I "$root/include" -o "$tmp/exceptions" \
        "$root/tests/consumer/exceptions.cpp" "$build/libassay-trace.a" -pthread || exit 1
    check "$compiler: it runs" "$tmp/exceptions" "$tmp/run.assay"
    "$assay" report --json "$tmp/run.assay" >"$tmp/report.json"
    check "$compiler: calls and failures" "$python" - "$tmp/report.json" <<'EOF2'
import json, sys
d = json.load(open(sys.argv[1]))
got = {l["name"]: (l["calls"], l["failed"]) for l in d["layers"]}
assert got == {"outer": (10, 0), "work": (10, 2), "plain": (10, 0), "cleanup": (10, 0), "handler": (2, 2)}, got
assert d["run"]["health"]["status"] == "complete", d["run"]["health"]
EOF2
    rm -f "$tmp/run.assay"
done
c++ -std=c++17 -DASSAY_DISABLE -Wall -Wextra -Werror -I "$root/include" -o "$tmp/disabled" \
    "$root/tests/consumer/exceptions.cpp" && check "without marks it needs no library" "$tmp/disabled" "$tmp/run.assay"
finish
