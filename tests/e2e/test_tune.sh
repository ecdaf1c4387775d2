# tests/e2e/test_tune.sh - `assay tune`: which settings are tried, which are named best, and models whose batch is fixed.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
fast="--no-roofline --iterations 5 --warmup 1"

exits 0 "a model" "$assay" tune zoo:mlp $fast --json
check "is tried with batches and threads, and the best are those of the table" "$python" -c '
import json, os, sys
m = json.load(open(sys.argv[1]))
assert m["schema"] == "assay.sweep", m["schema"]
cpus = len(os.sched_getaffinity(0))
threads = sorted({r["threads"] for r in m["rows"]})
assert {r["batch"] for r in m["rows"]} == {1, 4, 16, 64}
assert threads[0] == 1 and threads[-1] <= cpus and all(b <= 2 * a for a, b in zip(threads, threads[1:]))
rates = [r["samples_per_second"] for r in m["rows"]]
times = [r["median_ns"] for r in m["rows"]]
best, fastest = m["rows"][m["best_row"]], m["rows"][m["fastest_row"]]
assert best["samples_per_second"] == max(rates) and fastest["median_ns"] == min(times)
known = [r for r in m["rows"] if r is not best]
def tested(r):
    return None not in (r["ci95_low_ns"], best["ci95_high_ns"])
def equal(r):
    return tested(r) and r["ci95_low_ns"] / r["batch"] <= best["ci95_high_ns"] / best["batch"]
assert m["best_equal"] == sum(map(equal, known)), m["best_equal"]
assert m["best_untested"] == sum(not tested(r) for r in known), m["best_untested"]' "$tmp/out"
exits 0 "its page" "$assay" tune zoo:mlp --batch 1,16 --threads 1 $fast --width 100
check "names the command for the best, with what did not vary" grep -qE "assay profile zoo:mlp --batch (1|16) --threads 1$" "$tmp/out"
exits 0 "with a key" "$assay" tune zoo:mlp --key hidden=64 --batch 1,16 --threads 1 $fast --width 100
check "the best is named too" grep -q "^  best " "$tmp/out"
exits 1 "a limit that no setting keeps" "$assay" tune zoo:mlp --batch 1,4 --threads 1 --max-latency 0.0000001 $fast
exits 2 "words that are none" "$assay" tune zoo:mlp --threads many
exits 2 "no model" "$assay" tune

"$python" - "$tmp/fixed.onnx" <<'PY'
import sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Reshape", ["a", "shape"], ["y"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
                          [numpy_helper.from_array(np.ones((8, 4), np.float32), "w"), numpy_helper.from_array(np.array([1, 4], np.int64), "shape")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), sys.argv[1])
PY
if [ "$(nproc)" -gt 1 ]; then
    exits 0 "a model that fixes its batch" "$assay" tune "$tmp/fixed.onnx" $fast --json
    check "is tried with threads alone" "$python" -c '
import json, sys
assert {r["batch"] for r in json.load(open(sys.argv[1]))["rows"]} == {1}' "$tmp/out"
    check "and the reason is given" grep -q "dynamic axes" "$tmp/err"
else
    exits 2 "nothing to try" "$assay" tune "$tmp/fixed.onnx" $fast
fi
exits 0 "threads that a trial chooses" "$assay" profile zoo:mlp --threads auto --iterations 20 --no-history --json
check "are some of those there are" "$python" -c '
import json, os, sys
m = json.load(open(sys.argv[1]))
assert 1 <= m["config"]["threads"] <= len(os.sched_getaffinity(0))
t = m["thread_trial"]
assert t is None or (t["threads"] == m["config"]["threads"] < t["against"] and t["factor"] < 1)' "$tmp/out"
finish
