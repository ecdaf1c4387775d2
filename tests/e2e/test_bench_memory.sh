#!/bin/sh
# In builds that can: allocations of `assay bench` fail, one here and there over the whole run. It ends with a sentence,
# never crashes, and what it left can be gone on with. usage: test_bench_memory.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
if ! ASSAY_ALLOC_COUNT=1 "$assay" version 2>&1 | grep -q '^allocations: [1-9]'; then
    echo "this build cannot make allocations fail"
    exit 77
fi
tiny="bench --workload attention --iterations 2 --lambda 0.5 --tau 1 --short-max-len 16 --long-min-len 17 --long-max-len 20
    --steps 2 --head-dim 8 --threads 1 --warmup 0 --replay-samples 1 --quiet"
n=$(ASSAY_ALLOC_COUNT=1 "$assay" $tiny --output-dir count 2>&1 >/dev/null | sed -n 's/^allocations: //p')
check "allocations are counted" [ "${n:-0}" -gt 100 ]
step=$((n / 40 + 1))
i=1
while [ $i -le "$n" ]; do
    for nth in $i $i+; do
        rm -rf out.d
        ASSAY_ALLOC_FAIL=$nth "$assay" $tiny --output-dir out.d >out 2>err
        status=$?
        case $status in 0 | 1) ;; 3) grep -q '^assay: ' err || fail "allocation $nth: no sentence: $(head -3 err)" ;; *) fail "allocation $nth: exit $status: $(head -3 err)" ;; esac
    done
    "$assay" $tiny --resume --output-dir out.d >out 2>err
    status=$?
    [ $status = 0 ] || [ $status = 1 ] || fail "going on after allocation $i: exit $status: $(head -3 err)"
    i=$((i + step))
done
finish
