# tests/e2e/test_profile.sh - `assay profile`: its forms, its options, its words for mistakes. No figure of time is judged.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME=$tmp/cache
quick="--iterations 12 --warmup 1 --time 0.2 -q"
profile() {
    # shellcheck disable=SC2086
    "$assay" profile $quick "$@"
}

# The page, and that peaks are measured once.
exits 0 "a small model is profiled" "$assay" profile --iterations 12 --warmup 1 --time 0.2 --width 80 zoo:mlp
cp "$tmp/out" "$tmp/page"
for word in 'threads' 'executed as' 'latency' 'throughput' 'memory' 'roofline' 'profiling' 'By operator' 'By layer' 'Slowest layer'; do
    check "the page has '$word'" grep -q "$word" "$tmp/page"
done
check "no line is wider than 80 columns" "$python" -c "
import sys
wide = [l for l in open('$tmp/page', encoding='utf-8') if len(l.rstrip('\n')) > 80]
sys.exit(repr(wide[:3]) if wide else 0)"
peaks=$tmp/cache/assay/$(peaks_name)
check "peaks are kept" test -s "$peaks"
cp "$peaks" "$tmp/before"
exits 0 "a second run" profile zoo:mlp
check "a second run measures no peaks" cmp "$tmp/before" "$peaks"

# JSON, on one thread and two, fused and not, both kernel sets.
for options in "--threads 1" "--threads 2" "--no-fuse" "--kernels reference" "--fill zeros" "--batch 3"; do
    # shellcheck disable=SC2086
    exits 0 "JSON with $options" profile --json $options zoo:mlp
    cp "$tmp/out" "$tmp/p.json"
    check "the JSON with $options is as documented" "$python" "$here/check_profile_json.py" "$tmp/p.json"
done
profile --json zoo:squeezenet1_1 --shape input=1x3x64x64 >"$tmp/p.json"
check "the JSON of a CNN is as documented" "$python" "$here/check_profile_json.py" "$tmp/p.json"
check "convolutions are fused with what follows" "$python" -c "
import json
j = json.load(open('$tmp/p.json'))
conv = [l for l in j['layers'] if l['op'] == 'Conv']
assert conv and all('Relu' in l['fused'] for l in conv), [(l['name'], l['fused']) for l in conv]
assert any(len(l['nodes']) > 1 for l in conv)"
profile --json --no-fuse zoo:squeezenet1_1 --shape input=1x3x64x64 >"$tmp/p.json"
check "--no-fuse runs node by node" "$python" -c "
import json
j = json.load(open('$tmp/p.json'))
assert all(l['reorder'] or len(l['nodes']) == 1 for l in j['layers'])
assert not any(l['fused'] for l in j['layers'])"
profile --json --no-roofline zoo:mlp >"$tmp/p.json"
check "without peaks the roofline is unknown and says so" "$python" -c "
import json
j = json.load(open('$tmp/p.json'))
assert j['machine']['peaks_unavailable'] and j['machine']['peak_f32_flops_per_second'] is None
assert all(l['bound'] == 'unknown' and l['roof_fraction'] is None for l in j['layers'])"

# Other forms.
exits 0 "Markdown" profile --format=markdown zoo:mlp
check "the rows of a Markdown table have as many cells as its title" "$python" "$here/check_markdown.py" "$tmp/out"
exits 0 "CSV" profile --export-csv "$tmp/csv" zoo:mlp
for file in layers operators scopes latency memory; do
    check "$file.csv has a title and rows" "$python" -c "
import csv
rows = list(csv.DictReader(open('$tmp/csv/$file.csv')))
assert rows and None not in rows[0]"
done
check "the CSV of layers holds the documented keys" "$python" -c "
import csv
r = list(csv.DictReader(open('$tmp/csv/layers.csv')))[0]
for k in 'name op calls self_ns share macs flops bytes gflops_per_second bytes_per_second bound roof_fraction'.split():
    assert k in r, k"

# A run that other commands read, and a trace that other tools do.
exits 0 "a run and a trace" profile -o "$tmp/run.assay" --trace "$tmp/trace.json" zoo:mlp
check "the run is whole" "$assay" verify "$tmp/run.assay"
"$assay" report "$tmp/run.assay" --json >"$tmp/r.json"
check "the run holds the layers of the model" "$python" -c "
import json
j = json.load(open('$tmp/r.json'))
assert any(l['op'] == 'Gemm' for l in j['layers']), [l['name'] for l in j['layers']]"
check "the trace is strict JSON with layers" "$python" -c "
import json
j = json.load(open('$tmp/trace.json'))
events = j['traceEvents'] if isinstance(j, dict) else j
assert any(e.get('ph') in ('X', 'B') for e in events)"
exits 0 "a trace alone" profile --trace "$tmp/trace2.json" zoo:mlp
check "a trace alone is written" test -s "$tmp/trace2.json"
exits 0 "a page in a file" profile -o "$tmp/page.txt" zoo:mlp
check "the page is in the file" grep -q roofline "$tmp/page.txt"
profile zoo:squeezenet1_1 --iterations 2 --warmup 0 --no-history --roofline "$tmp/roof.svg" >/dev/null 2>&1
check "no labels of the roofline's picture overlap" "$python" -c "
import xml.dom.minidom
boxes = []
for t in xml.dom.minidom.parse('$tmp/roof.svg').getElementsByTagName('text'):
    if t.hasAttribute('transform') or float(t.getAttribute('y')) < 30:
        continue
    words, size = t.firstChild.data, float(t.getAttribute('font-size'))
    width, x, y = 0.6 * size * len(words), float(t.getAttribute('x')), float(t.getAttribute('y'))
    left = {'end': x - width, 'middle': x - width / 2}.get(t.getAttribute('text-anchor'), x)
    boxes.append((words, left, y - 0.7 * size, left + width, y + 0.2 * size))
for i, a in enumerate(boxes):
    for b in boxes[:i]:
        assert a[1] >= b[3] or b[1] >= a[3] or a[2] >= b[4] or b[2] >= a[4], (a, b)
assert any('f32 peak' in b[0] for b in boxes) and any('/s' not in b[0] and b[0][0].isalpha() for b in boxes), boxes"

# Inputs from files.
"$python" - "$tmp" <<'PY'
import sys
import numpy as np
t = sys.argv[1]
np.save(t + "/x.npy", np.ones((1, 784), np.float32))
np.save(t + "/wrong.npy", np.ones((1, 785), np.float32))
np.save(t + "/ints.npy", np.ones((1, 784), np.int64))
PY
name=$("$assay" inspect --json zoo:mlp | "$python" -c "import json,sys; print(json.load(sys.stdin)['inputs'][0]['name'])")
exits 0 "an input from a file" profile --json --input "$name=$tmp/x.npy" zoo:mlp
check "the file is named" grep -q 'x.npy' "$tmp/out"
exits 2 "a file of another shape" profile --input "$name=$tmp/wrong.npy" zoo:mlp
says "785"
exits 2 "a file of another type" profile --input "$name=$tmp/ints.npy" zoo:mlp
says "i64"
exits 2 "an input that is not there" profile --input "nothing=$tmp/x.npy" zoo:mlp
says "nothing"
exits 3 "a file that is not there" profile --input "$name=$tmp/absent.npy" zoo:mlp
says "absent.npy"
printf 'no numbers' >"$tmp/bad.npy"
exits 3 "a file that is no array" profile --input "$name=$tmp/bad.npy" zoo:mlp
says "bad.npy"

# What cannot be run is said before anything is.
"$python" - "$tmp" <<'PY'
import sys
import onnx
from onnx import TensorProto as T, helper as h
def save(name, nodes, ins, outs, **more):
    graph = h.make_graph(nodes, "g", ins, outs)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13), h.make_opsetid("some.where", 2)], ir_version=8), sys.argv[1] + "/" + name)
f = lambda n, s: h.make_tensor_value_info(n, T.FLOAT, s)
save("unknown.onnx", [h.make_node("Sparkle", ["x"], ["y"], name="the_node", domain="some.where")], [f("x", [2])], [f("y", [2])])
save("fails.onnx", [h.make_node("Gather", ["x", "i"], ["y"], name="far_gather")],
     [f("x", [2]), h.make_tensor_value_info("i", T.INT64, [1])], [f("y", [1])])
save("large.onnx", [h.make_node("Expand", ["x", "s"], ["y"], name="wide"), h.make_node("Exp", ["y"], ["z"])],
     [f("x", [1])], [f("z", None)])
m = onnx.load(sys.argv[1] + "/large.onnx")
m.graph.initializer.append(h.make_tensor("s", T.INT64, [2], [1 << 20, 1 << 22]))
onnx.save(m, sys.argv[1] + "/large.onnx")
PY
exits 3 "an operator nobody knows" profile "$tmp/unknown.onnx"
says "Sparkle"
grep -q "the_node" "$tmp/err" && grep -q "opset 2" "$tmp/err" || fail "node and opset are not named: $(cat "$tmp/err")"
exits 3 "a model larger than memory" profile "$tmp/large.onnx"
says "GiB"
printf '\x93NUMPY\x01\x00v\x00{"descr": "<i8", "fortran_order": False, "shape": (1,), }' >/dev/null
"$python" -c "import numpy as np; np.save('$tmp/far.npy', np.array([7], np.int64))"
exits 3 "a run that fails is a failure, not a number" profile --input "i=$tmp/far.npy" "$tmp/fails.onnx"
says "far_gather"
check "and prints no figures" test ! -s "$tmp/out"
exits 3 "weights alone" profile "$tmp/x.npy"
exits 2 "a wrong word" profile --kernels fast zoo:mlp
exits 2 "a wrong time" profile --time never zoo:mlp
says "--time"
exits 2 "a wrong loop" profile --loop abc zoo:mlp
says "OUTPUT=INPUT"
exits 2 "a loop between things that are not there" profile --loop a=b zoo:mlp
exits 2 "two forms at once" profile --json --format=markdown zoo:mlp
says "choose one of"
np="$tmp/x.npy"
exits 2 "a batch of an input that a file fixes" profile --input "$name=$np" --batch 3 zoo:mlp
says "the file given for input 'input' already fixes the batch"

# What was asked for is kept word by word.
exits 0 "settings" profile --json --dim batch=1 --input "$name=$np" zoo:mlp:batch=0
cp "$tmp/out" "$tmp/p.json"
check "the command and its settings are in the JSON" "$python" -c "
import json
c = json.load(open('$tmp/p.json'))['config']
assert c['command'][1:2] == ['profile'] and c['command'][-1] == 'zoo:mlp:batch=0' and '--dim' in c['command'], c
assert c['dim'] == ['batch=1'] and c['input'] == ['$name=$np'], c
assert c['shape'] == c['value'] == c['loop'] == []"

# In whatever order, the column adds up row by row.
for sort in time graph bytes op; do
    exits 0 "sorted by $sort" profile --sort $sort --section layers --width 240 zoo:mlp
    check "shares add up in the order of $sort" "$python" -c "
import re
rows = [re.findall(r'([0-9.]+) %', l) for l in open('$tmp/out', encoding='utf-8') if 'Gemm' in l]
sum = 0
for r in rows:
    sum += float(r[0])
    assert abs(float(r[1]) - sum) < 0.3, rows
assert len(rows) >= 3"
done

# What a limit of addresses does not hold is refused before, with amounts. A sanitizer needs addresses for its shadow.
grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" || (
    ulimit -v 400000 2>/dev/null || exit 0
    profile zoo:vgg16 >"$tmp/out" 2>"$tmp/err"
    [ $? = 3 ] || fail "a model beyond the limit of addresses is refused"
    grep -q 'GiB, and .* GiB are available' "$tmp/err" || fail "the limit of addresses is told with amounts: $(cat "$tmp/err")"
)

# How much runs differ is learned from run to run, for the same settings alone.
(
    XDG_CACHE_HOME=$tmp/history
    export XDG_CACHE_HOME
    for i in 1 2 3 4; do
        "$assay" profile zoo:mlp --iterations 20 --time 1 --no-roofline --json >"$tmp/h$i.json" 2>/dev/null || fail "run $i"
    done
    "$assay" profile zoo:mlp --iterations 20 --time 1 --no-roofline --batch 2 --json >"$tmp/other.json" 2>/dev/null
    "$assay" profile zoo:mlp --iterations 20 --time 1 --no-roofline --no-history --json >"$tmp/none.json" 2>/dev/null
    "$python" - "$tmp" <<'PY' || fail "what earlier runs say"
import json, math, statistics, sys
runs = [json.load(open(f"{sys.argv[1]}/h{i}.json"))["latency"] for i in range(1, 5)]
assert [r["earlier_runs"] is None for r in runs] == [True, True, True, False]
medians = [r["median_ns"] for r in runs[:3]]
told = runs[3]["earlier_runs"]
assert told["runs"] == 3 and abs(told["spread_share"] - statistics.stdev(map(math.log, medians))) < 1e-6, told
factor = math.exp(4.302653 * told["spread_share"] * math.sqrt(1 + 1 / 3))
middle = math.exp((3 * math.log(statistics.median(medians)) + math.log(runs[3]["median_ns"])) / 4)
assert abs(told["between_high_ns"] / (middle * factor) - 1) < 1e-4, told
assert abs(told["between_low_ns"] / (middle / factor) - 1) < 1e-4, told
for r in runs:  # of this process: between what it saw
    assert r["ci95_low_ns"] is None or r["min_ns"] <= r["ci95_low_ns"] <= r["median_ns"] <= r["ci95_high_ns"] <= r["max_ns"], r
for name in ("other", "none"):
    assert json.load(open(f"{sys.argv[1]}/{name}.json"))["latency"]["earlier_runs"] is None
PY
)

finish
