# tests/e2e/test_memory.sh - in builds that can: every allocation of every command fails once, and once for all after it.
# The command must then end with 3 and say so, or do without; it never crashes and leaves no half-written file.
. "$(dirname "$0")/lib.sh"

if ! ASSAY_ALLOC_COUNT=1 "$assay" version 2>&1 | grep -q '^allocations: [1-9]'; then
    echo "this build cannot make allocations fail"
    exit 0
fi
"$make_run" "$tmp/run.assay" failed phases iterations channels notes unbalanced hostile || exit 1
"$make_run" "$tmp/kill.assay" kill 2>/dev/null
mkdir "$tmp/d"
seeds=$here/../corpus/inspect
for command in "report -s all $tmp/run.assay" "report --format=markdown $tmp/run.assay" \
    "report --json -s all -o $tmp/d/json $tmp/run.assay" "report -q --export-csv $tmp/csv $tmp/run.assay" "verify $tmp/kill.assay" \
    "verify --json $tmp/kill.assay" "help report" "man" "completion bash" "inspect $seeds/attention.onnx" \
    "inspect --json --weights --train --fit 4KiB $seeds/attention.onnx" "inspect --format=csv $seeds/if.onnx" "inspect --format=markdown $seeds/loop.onnx" \
    "inspect --json $seeds/function.onnx" "inspect --weights --json $seeds/quant.onnx" "inspect --json $seeds/llama.gguf" \
    "inspect --weights $seeds/small.gguf" "inspect --json $seeds/loop.tflite" "inspect --train $seeds/conv.tflite" \
    "inspect --weights --json $seeds/two.safetensors" "inspect --group op --train zoo:mlp" "inspect --json --train zoo:llama:layers=1,seq=0,past=-1" \
    "zoo mlp:inputs=4,hidden=4 --force -o $tmp/d/mlp.onnx"; do
    n=$(ASSAY_ALLOC_COUNT=1 "$assay" $command 2>&1 >/dev/null | sed -n 's/^allocations: //p')
    check "allocations of '$command' are counted" [ "${n:-0}" -gt 0 ]
    ASSAY_ALLOC_FAIL=..$n "$assay" $command >"$tmp/runs" || fail "$command: not every allocation was tried"
    check "'$command' was run for each of $n" [ "$(grep -c -v '^[0-9]*+' "$tmp/runs")" = "$n" ]
    grep -v -E -x '[0-9]+[+]? (0( .*)?|3 assay: out of memory)' "$tmp/runs" | head -5 | while read -r nth status said; do
        fail "$command, allocation $nth: exit $status: $said"
    done
done
check "no half-written file stays" sh -c "! ls '$tmp/d' '$tmp/csv' | grep -q part"
finish
