# tests/e2e/test_profile_bodies.sh - layers inside If and Loop: what ran is what is counted, as often as it ran.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME=$tmp/cache
quick="--iterations 12 --warmup 1 --time 0.2 -q --no-history"
profile() {
    # shellcheck disable=SC2086
    "$assay" profile $quick "$@"
}

"$python" - "$tmp" <<'PY'
import sys
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh
t = sys.argv[1]
f = lambda n, s: h.make_tensor_value_info(n, T.FLOAT, s)
def save(name, nodes, ins, outs, inits=()):
    graph = h.make_graph(nodes, "g", ins, outs, [nh.from_array(a, n) for n, a in inits])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), t + "/" + name)
b = h.make_tensor_value_info
w = ("w", np.ones((64, 64), np.float32))
# A loop whose rounds only the input tells.
body = h.make_graph([h.make_node("MatMul", ["s", "w"], ["s2"], name="mm"), h.make_node("Identity", ["c"], ["c2"])],
                    "body", [b("i", T.INT64, []), b("c", T.BOOL, []), f("s", [8, 64])], [b("c2", T.BOOL, []), f("s2", [8, 64])])
save("loop.onnx", [h.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)],
     [b("n", T.INT64, []), f("x", [8, 64])], [f("y", [8, 64])], [w])
for n in (0, 1, 5):
    np.save(t + "/n%d.npy" % n, np.int64(n))
# A loop that grows what it carries: every round has another shape.
body = h.make_graph([h.make_node("Concat", ["s", "one"], ["s2"], axis=0, name="grow"), h.make_node("MatMul", ["s2", "w"], ["m"], name="mm"),
                     h.make_node("ReduceMax", ["m"], ["r"], keepdims=0), h.make_node("Identity", ["c"], ["c2"])],
                    "body", [b("i", T.INT64, []), b("c", T.BOOL, []), f("s", [None, 64])],
                    [b("c2", T.BOOL, []), f("s2", [None, 64]), f("r", [])])
save("grow.onnx", [h.make_node("Loop", ["n", "", "x"], ["y", "z"], name="loop", body=body), h.make_node("MatMul", ["x", "w"], ["o"], name="outer")],
     [b("n", T.INT64, []), f("x", [8, 64])], [f("y", [None, 64]), f("z", [None]), f("o", [8, 64])],
     [w, ("one", np.ones((1, 64), np.float32))])
# One product in each side of an If, of different size, between two outside.
then = h.make_graph([h.make_node("MatMul", ["a", "w"], ["t"], name="small")], "then", [], [f("t", [8, 64])])
other = h.make_graph([h.make_node("MatMul", ["a", "w"], ["e0"], name="large"), h.make_node("MatMul", ["e0", "w"], ["e"], name="large2")],
                     "else", [], [f("e", [8, 64])])
save("if.onnx", [h.make_node("MatMul", ["x", "w"], ["a"], name="outer"), h.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
                 h.make_node("Greater", ["m", "zero"], ["c"]), h.make_node("If", ["c"], ["d"], name="if", then_branch=then, else_branch=other),
                 h.make_node("MatMul", ["d", "w"], ["y"], name="outer2")],
     [f("x", [8, 64])], [f("y", [8, 64])], [w, ("zero", np.float32(0))])
# A loop that dice end: other rounds in every run.
body = h.make_graph([h.make_node("MatMul", ["s", "w"], ["s2"], name="mm"), h.make_node("RandomUniform", [], ["r"], shape=[], dtype=1),
                     h.make_node("Less", ["r", "most"], ["c2"])],
                    "body", [b("i", T.INT64, []), b("c", T.BOOL, []), f("s", [8, 64])], [b("c2", T.BOOL, []), f("s2", [8, 64])])
save("dice.onnx", [h.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)],
     [f("x", [8, 64])], [f("y", [8, 64])], [w, ("n", np.int64(1000)), ("most", np.float32(0.9))])
# A state that comes out of the side that a number chooses, through a view.
then = h.make_graph([h.make_node("Add", ["state", "x"], ["t"])], "then", [], [f("t", [8, 64])])
other = h.make_graph([h.make_node("Sub", ["state", "x"], ["e"])], "else", [], [f("e", [8, 64])])
save("state.onnx", [h.make_node("Equal", ["k", "sixteen"], ["c"]), h.make_node("If", ["c"], ["d"], name="if", then_branch=then, else_branch=other),
                    h.make_node("Identity", ["d"], ["new"]), h.make_node("MatMul", ["x", "w"], ["y"])],
     [f("x", [8, 64]), f("state", [8, 64]), b("k", T.INT64, [])], [f("y", [8, 64]), f("new", [8, 64])],
     [w, ("sixteen", np.int64(16))])
np.save(t + "/k.npy", np.int64(16))
np.save(t + "/plus.npy", np.ones((8, 64), np.float32))
np.save(t + "/minus.npy", -np.ones((8, 64), np.float32))
PY

for n in 0 1 5; do
    exits 0 "a loop of $n rounds" profile --json --threads 1 --input "n=$tmp/n$n.npy" "$tmp/loop.onnx"
    cp "$tmp/out" "$tmp/p.json"
    check "the JSON of a loop of $n rounds is as documented" "$python" "$here/check_profile_json.py" "$tmp/p.json"
    check "a loop is counted as often as it ran: $n" "$python" -c "
import json, math
j = json.load(open('$tmp/p.json'))
assert j['model']['counts_complete']
assert j['model']['macs'] == $n * 8 * 64 * 64, j['model']['macs']
mm = [l for l in j['layers'] if l['name'] == 'mm']
assert len(mm) == ($n > 0)
for l in mm:
    assert l['calls'] == $n and l['counted'] and l['macs'] == $n * 8 * 64 * 64
    assert l['bytes'] == $n * 4 * (2 * 8 * 64 + 64 * 64), l['bytes']
    assert l['weight_bytes'] == $n * 4 * 64 * 64
s = j['summary']
if $n:
    assert math.isclose(s['gflops_per_second'], j['model']['flops'] / j['latency']['median_ns'], rel_tol=1e-6)"
done

exits 0 "a loop of rounds that differ" profile --json --threads 1 --input "n=$tmp/n5.npy" "$tmp/grow.onnx"
cp "$tmp/out" "$tmp/p.json"
check "the JSON of rounds that differ is as documented" "$python" "$here/check_profile_json.py" "$tmp/p.json"
check "what differs from round to round is said not to be counted" "$python" -c "
import json
j = json.load(open('$tmp/p.json'))
by = {l['name']: l for l in j['layers']}
assert not j['model']['counts_complete']
mm = by['mm']
assert mm['calls'] == 5 and not mm['counted'] and mm['bound'] == 'unknown'
for key in ('macs', 'flops', 'gflops_per_second', 'attainable_gflops_per_second', 'roof_fraction'):
    assert mm[key] is None, key
assert by['outer']['counted'] and by['outer']['macs'] == 8 * 64 * 64
s = j['summary']
for key in ('gflops_per_second', 'attainable_gflops_per_second', 'roof_fraction', 'computational_efficiency'):
    assert s[key] is None, key"
exits 0 "CSV of rounds that differ" profile --export-csv "$tmp/csv" --input "n=$tmp/n5.npy" "$tmp/grow.onnx"
check "what is not counted is empty in CSV" "$python" -c "
import csv
r = [r for r in csv.DictReader(open('$tmp/csv/layers.csv')) if r['name'] == 'mm'][0]
assert r['macs'] == '' and r['flops'] == '' and r['roof_fraction'] == '', r"
exits 0 "the page of rounds that differ" profile --input "n=$tmp/n5.npy" "$tmp/grow.onnx"
check "the page says what it knows at least" grep -q 'at least .*FLOP/s' "$tmp/out"

for side in plus:3 minus:4; do
    exits 0 "an If: ${side%:*}" profile --json --threads 1 --input "x=$tmp/${side%:*}.npy" "$tmp/if.onnx"
    cp "$tmp/out" "$tmp/p.json"
    check "the JSON of an If is as documented: $side" "$python" "$here/check_profile_json.py" "$tmp/p.json"
    check "the side that ran is counted: $side" "$python" -c "
import json
j = json.load(open('$tmp/p.json'))
assert j['model']['counts_complete'] and j['model']['macs'] == ${side#*:} * 8 * 64 * 64, j['model']['macs']
assert all(l['counted'] for l in j['layers'])
s, peak = j['summary'], j['machine']['peak_f32_flops_per_second']
assert s['unknown_bound_share'] == 0
assert s['attainable_gflops_per_second'] <= 1.001e-9 * peak"
done

exits 0 "a loop of other rounds in every run" profile --json --threads 1 "$tmp/dice.onnx"
check "rounds that differ from run to run are said not to be counted" "$python" -c "
import json
j = json.load(open('$tmp/out'))
mm = [l for l in j['layers'] if l['name'] == 'mm'][0]
assert not mm['counted'] and mm['macs'] is None and not j['model']['counts_complete']"

# The same by the C API.
for n in 0 1 5; do
    exits 0 "measure.h with $n rounds" "$build/tests/model_measure" "$tmp/loop.onnx" n "$tmp/n$n.npy"
    check "measure.h counts $n rounds" grep -q "^flops $((n * 65536)) complete 1 rate known" "$tmp/out"
    check "measure.h counts a layer in $n rounds" grep -q "^layer mm flops $((n * 65536)) " "$tmp/out"
    check "the layers of $n rounds add up" grep -q '^shares 1.000000' "$tmp/out"
done
check "a layer that ran has its rate" grep -q '^layer mm .* rate known' "$tmp/out"
for model in "grow.onnx n $tmp/n5.npy" dice.onnx; do
    # shellcheck disable=SC2086
    exits 0 "measure.h: $model" "$build/tests/model_measure" "$tmp"/$model
    check "no rate of what is not counted: $model" grep -q 'complete 0 rate unknown' "$tmp/out"
    check "no verdict on what is not counted: $model" grep -q '^bottleneck unknown' "$tmp/out"
    check "the reason is told: $model" grep -q '^reason not every layer is counted' "$tmp/out"
    check "the reason of a layer is told: $model" grep -q '^layer mm .* not counted' "$tmp/out"
done

# Numbers that are given are constants: no activation by the plan nor by the count, and the same state.
for given in "--value k=16" "--input k=$tmp/k.npy"; do
    # shellcheck disable=SC2086
    exits 0 "a state with $given" profile --json --threads 1 --loop new=state $given "$tmp/state.onnx"
    check "the memory with $given is as planned" "$python" -c "
import json
j = json.load(open('$tmp/out'))
m = j['memory']
given = '$given'.startswith('--value')
assert m['kv_cache_bytes'] == 2 * 4 * 8 * 64, m
assert m['planned_activation_bytes'] == (m['activation_bytes'] if given else None), m
assert j['decoder'] is None or j['decoder']['cache_bytes'] == 4 * 8 * 64
how = [i['filled_with'] for i in j['model']['inputs'] if i['name'] == 'k'][0]
assert how == 'as given: 16' if given else how.startswith('file '), how"
done
exits 2 "numbers given twice" profile --value k=16 --input "k=$tmp/k.npy" "$tmp/state.onnx"
says "one of the two"
finish
