# tests/e2e/test_compiled_out.sh - with ASSAY_DISABLE marks leave no trace: the code of a function with marks is the code
# of the same function without, in C and in C++. A program that uses only marks, macros and sessions needs no library then.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
command -v objdump >/dev/null || { echo "needs objdump"; exit 77; }
cat >"$tmp/marked.c" <<'EOF'
#include <assay/manager.h>
#include <assay/session.h>
int work(int x);
extern struct assay_manager *manager;
int function(int n)
{
    int sum = 0;

    ASSAY_FUNCTION_SCOPE();
    for (int i = 0; i < n; i++) {
        ASSAY_SCOPE("scope");
        ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
        ASSAY_BEGIN("begin");
        assay_iteration((uint64_t)i);
        assay_iteration_length(7);
        sum += ASSAY_CALL("call", work(i));
        assay_sample(1, sum);
        assay_note("key", sum);
        ASSAY_INSTANT("instant");
        assay_message("text");
        assay_async_begin("span", 1);
        assay_async_end("span", 1);
        assay_flow_begin("flow", 1);
        assay_flow_step("flow", 1);
        assay_flow_end("flow", 1);
        ASSAY_MANAGER_LAYER(manager, "layer");
        if (assay_session_open("run.assay", NULL, NULL) < 0)
            return 1;
        ASSAY_SWITCH("a");
        ASSAY_SWITCH_END();
        assay_begin(3);
        assay_end_failed(3);
        if (sum > 1000)
            ASSAY_END_FAILED("begin");
        else
            ASSAY_END("begin");
    }
    assay_iteration_end();
    return sum;
}
EOF
cat >"$tmp/plain.c" <<'EOF'
int work(int x);
int function(int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += work(i);
    return sum;
}
EOF
for compiler in cc c++ clang clang++; do
    command -v $compiler >/dev/null || continue
    language=c
    case $compiler in *++) language=c++ ;; esac
    for level in 1 2 3; do
        for name in marked plain; do
            $compiler -x $language -O$level -DASSAY_DISABLE -I "$root/include" -c -o "$tmp/$name.o" "$tmp/$name.c" || exit 1
            objdump -d --no-show-raw-insn "$tmp/$name.o" | sed 1,6d >"$tmp/$name.s"
            size -A "$tmp/$name.o" | awk '$1 ~ /^\.(data|bss|tdata|tbss)$/ { n += $2 } END { print n + 0 }' >"$tmp/$name.size"
        done
        check "$compiler -O$level: the same instructions" cmp -s "$tmp/marked.s" "$tmp/plain.s"
        check "$compiler -O$level: no data" cmp -s "$tmp/marked.size" "$tmp/plain.size"
    done
done

# Warnings are errors: macros that nest on one line shadow nothing.
for compiler in cc c++ clang clang++; do
    command -v $compiler >/dev/null || continue
    language='c -std=c11' shadow=-Wshadow
    case $compiler in *++) language='c++ -std=c++17' ;; esac
    # g++ warns of C headers in which a struct and a function have one name.
    [ $compiler != c++ ] || shadow=
    for level in 0 2; do
        check "$compiler -O$level: links without the library" $compiler -x $language -O$level -DASSAY_DISABLE -Wall -Wextra \
            -Wpedantic $shadow -Werror -I "$root/include" -o "$tmp/disabled" "$root/tests/consumer/disabled.c" -pthread
        check "$compiler -O$level: and works" "$tmp/disabled" "$tmp/run.assay"
        check "$compiler -O$level: and records nothing" test ! -e "$tmp/run.assay"
    done
    if ! nm -D "$build/libassay.so" | grep -qE '__(asan|tsan)_'; then
        check "$compiler: with the library" $compiler -x $language -O2 -Wall -Wextra -Wpedantic $shadow -Werror \
            -I "$root/include" -o "$tmp/enabled" "$root/tests/consumer/disabled.c" -L "$build" -lassay "-Wl,-rpath,$build" -pthread
        check "$compiler: it works" "$tmp/enabled" "$tmp/enabled.assay"
        check "$compiler: every timer is closed" sh -c "'$assay' report --json '$tmp/enabled.assay' |
            '$python' -c 'import json, sys; d = json.load(sys.stdin)
assert [l[\"calls\"] for l in d[\"layers\"] if l[\"category\"] == \"timer\"].count(3) == 4, d[\"layers\"]
assert d[\"run\"][\"health\"][\"unclosed_calls\"] == d[\"run\"][\"health\"][\"open_calls\"] == 0'"
        rm -f "$tmp/enabled.assay"
    fi
done
finish
