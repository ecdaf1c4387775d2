# tests/e2e/test_compiled_out.sh - with ASSAY_DISABLE marks leave no trace: the code of a function with marks is the code
# of the same function without, in C and in C++.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
command -v objdump >/dev/null || { echo "needs objdump"; exit 77; }
cat >"$tmp/marked.c" <<'EOF'
#include <assay/scope.h>
int work(int x);
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
finish
