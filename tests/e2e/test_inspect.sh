# tests/e2e/test_inspect.sh - `assay inspect`: its forms, its options, its words for mistakes.
. "$(dirname "$0")/lib.sh"

inspect() {
    "$assay" inspect --glyphs unicode --width 80 "$@"
}

inspect zoo:mlp >"$tmp/out"
check "the page of a small model" sh -c "[ -s '$tmp/out' ]"
same inspect_mlp.txt "the page of a small model" <"$tmp/out"
inspect --group op zoo:squeezenet1_1 -s layers | same inspect_group_op.txt "layers grouped by operator"
inspect --train --optimizer adamw zoo:mlp -s training | same inspect_training.txt "memory of training"
inspect --weights zoo:mlp -s weights | same inspect_weights.txt "statistics of seeded weights"

# Two runs give identical bytes, in every form.
for form in --json --format=csv --format=markdown --wide; do
    "$assay" inspect $form zoo:resnet18 >"$tmp/one"
    "$assay" inspect $form zoo:resnet18 >"$tmp/two"
    check "two runs of $form are equal" cmp "$tmp/one" "$tmp/two"
done

# JSON: strict, with the keys users rely on.
"$assay" inspect --json zoo:resnet18 >"$tmp/r18.json"
check "JSON has the documented keys" "$python" "$here/check_inspect_json.py" "$tmp/r18.json"
"$assay" inspect --json --group scope zoo:resnet18 >"$tmp/groups.json"
check "groups sum to the whole" "$python" -c "
import json
j = json.load(open('$tmp/groups.json'))
assert sum(g['macs'] for g in j['groups']) == j['model']['macs'] == 1814073344
assert sum(g['parameters'] for g in j['groups']) == j['model']['parameters']
assert any(g['name'] == 'layer1.0' for g in j['groups']), [g['name'] for g in j['groups']]"

"$assay" inspect --json --group op --sort macs zoo:alexnet >"$tmp/groups.json"
check "groups are sorted as layers are" "$python" -c "
import json
g = [g['macs'] for g in json.load(open('$tmp/groups.json'))['groups']]
assert g == sorted(g, reverse=True) and g[0] == 655566528, g"
inspect --group op -c name,layers,macs --exact -s layers zoo:alexnet >"$tmp/out"
check "--columns chooses those of groups" grep -Eq '^Conv +5 +655,566,528$' "$tmp/out"
check "the table ends with the sum" sh -c "tail -1 '$tmp/out' | grep -Eq '^total +19 +714,188,480\$'"

"$assay" inspect --json --group tree zoo:resnet18 >"$tmp/tree.json"
check "in a tree a scope holds what is inside it" "$python" -c "
import json
g = json.load(open('$tmp/tree.json'))['groups']
assert sum(x['macs'] for x in g if x['depth'] == 1) == 1814073344
at = [x['name'] for x in g].index('layer2')
assert [x['name'] for x in g[at:at + 4]] == ['layer2', 'layer2.0', 'layer2.0.downsample', 'layer2.1']
assert g[at]['macs'] == g[at + 1]['macs'] + g[at + 3]['macs']"

# CSV: one row a layer, sums exact.
"$assay" inspect --format=csv zoo:resnet18 >"$tmp/r18.csv"
check "CSV sums to the whole" "$python" -c "
import csv
rows = list(csv.DictReader(open('$tmp/r18.csv')))
assert sum(int(r['macs']) for r in rows) == 1814073344
assert sum(int(r['parameters']) for r in rows) == 11689512"
"$assay" inspect --format=markdown zoo:resnet18 >"$tmp/r18.md"
check "the rows of a Markdown table have as many cells as its title" "$python" "$here/check_markdown.py" "$tmp/r18.md"

# Order and choice.
"$assay" inspect --json --sort macs --top 3 zoo:alexnet >"$tmp/top.json"
check "--sort and --top" "$python" -c "
import json
j = json.load(open('$tmp/top.json'))
m = [l['macs'] for l in j['layers']]
assert len(m) == 3 and m == sorted(m, reverse=True) and j['layers_left_out'] > 0"
inspect -c name,macs --exact zoo:alexnet -s layers >"$tmp/out"
check "--columns and --exact" grep -Eq '^features\.0.* 70,276,800$' "$tmp/out"

# Widths, glyphs, colours.
for width in 80 100 160; do
    "$assay" inspect --width $width --glyphs ascii zoo:resnet18 >"$tmp/out"
    check "no line is longer than $width columns" awk -v w=$width 'length > w {print; bad = 1} END {exit bad}' "$tmp/out"
    check "no line ends with a blank at $width" sh -c "! grep -n ' \$' '$tmp/out'"
    check "ASCII mode has no byte above 127" sh -c "! LC_ALL=C grep -n '[^ -~]' '$tmp/out'"
done
"$assay" inspect --color always zoo:mlp >"$tmp/out"
check "--color always colours" grep -q "$(printf '\033\\[1m')" "$tmp/out"

# What fits.
"$assay" inspect --json --fit 64MiB zoo:mlp >"$tmp/fit.json"
check "--fit finds a batch that fits, and no larger one would" "$python" "$here/check_fit.py" "$assay" "$tmp/fit.json"

# How it grows: with the batch, an open dimension, a key of a built-in model.
"$assay" inspect --json --train --scale batch=1,4 zoo:resnet18 >"$tmp/scale.json"
check "four samples cost four times one; the parameters stay" "$python" -c "
import json
a, b = json.load(open('$tmp/scale.json'))['scaling']['rows']
assert (a['value'], b['value']) == (1, 4) and b['macs'] == 4 * a['macs'] and b['parameters'] == a['parameters']
assert b['activation_bytes_peak'] == 4 * a['activation_bytes_peak'] and b['training_bytes_peak'] > a['training_bytes_peak']"
"$assay" inspect --json --scale seq=8,1024 zoo:gpt2:seq=0 >"$tmp/scale.json"
check "attention grows with the square of the length" "$python" -c "
import json
assert [r['macs'] for r in json.load(open('$tmp/scale.json'))['scaling']['rows']] == [989435904, 145824153600]"
"$assay" inspect --json --scale hidden=256,512 zoo:mlp >"$tmp/scale.json"
check "a wider model has more parameters" "$python" -c "
import json
assert [r['parameters'] for r in json.load(open('$tmp/scale.json'))['scaling']['rows']] == [
    784 * h + h + h * h + h + h * 10 + 10 for h in (256, 512)]"
exits 2 "a scale of nothing" "$assay" inspect --scale batch=0 zoo:mlp
says "NAME=N,N"

# A decoder that has no cache computes what it computed before.
"$assay" inspect --json zoo:gpt2:seq=64,layers=1 >"$tmp/gpt.json"
check "computing again is found" "$python" -c "
import json
j = json.load(open('$tmp/gpt.json'))
assert j['recomputed_tokens'] == 63 and json.load(open('$tmp/r18.json'))['recomputed_tokens'] is None"

# Bounds of a decoder: a token reads every weight but the table it looks its row up in.
"$assay" inspect --json --bandwidth 50 zoo:llama:layers=2,width=256,heads=8,kv_heads=2,ffn=512,vocab=1000,seq=16,context=100 >"$tmp/llama.json"
check "tokens a second are bounded by the bytes that must be read" "$python" -c "
import json
j = json.load(open('$tmp/llama.json'))
d, m = j['decoder'], j['model']
table = 1000 * 256 * 4
kv = 2 * 2 * 2 * 32 * 2
assert d['kv_bytes_per_token'] == kv
streamed = m['parameter_bytes'] - table
assert abs(d['tokens_per_second_bound'] - 50e9 / streamed) < 1e-6 * d['tokens_per_second_bound']
full = 50e9 / (streamed + kv * 100)
assert abs(d['tokens_per_second_bound_at_context'] - full) < 1e-6 * full"

# What is narrow already is no candidate; the largest float weight is the first one.
"$assay" inspect --json zoo:alexnet >"$tmp/alexnet.json"
check "candidates for quantisation come by size" "$python" -c "
import json
q = json.load(open('$tmp/alexnet.json'))['quantisation_candidates']
assert [c['parameters'] for c in q[:2]] == [9216 * 4096, 4096 * 4096], q
assert q[0]['saved_bytes_at_8_bits'] == 3 * 9216 * 4096"

# A file of weights alone: what is not known is null, never 0.
"$python" -c "
import json, struct
h = json.dumps({'w': {'dtype': 'F32', 'shape': [4, 4], 'data_offsets': [0, 64]}}).encode()
open('$tmp/w.safetensors', 'wb').write(struct.pack('<Q', len(h)) + h + bytes(64))"
"$assay" inspect --json "$tmp/w.safetensors" >"$tmp/w.json"
check "costs and activations of weights alone are null" "$python" -c "
import json
j = json.load(open('$tmp/w.json'))
assert j['model']['parameters'] == 16 and j['memory']['parameter_bytes'] == 64
assert j['model']['macs'] is j['model']['flops'] is j['model']['activation_bytes_peak'] is None
assert j['memory']['activation_bytes_peak'] is j['memory']['peak_memory_mb'] is j['per_sample'] is j['backward'] is None
assert all(d['total_bytes'] is None and d['fits_in'] is None for d in j['deployment'])"

# Rates a user gives.
"$assay" inspect --json --gflops 50 zoo:resnet18 >"$tmp/rate.json"
check "the least time at a rate" "$python" -c "
import json
m = json.load(open('$tmp/rate.json'))['model']
assert abs(m['min_latency_seconds'] - m['flops'] / 50e9) < 1e-12"

# Mistakes.
exits 2 "no model" "$assay" inspect
says "needs MODEL"
exits 3 "a model that is not there" "$assay" inspect "$tmp/absent.onnx"
says "absent.onnx"
exits 2 "an unknown built-in model" "$assay" inspect zoo:resnet51
says "resnet50"
exits 2 "an unknown input" "$assay" inspect --shape y=1x2 zoo:mlp
says "has no input 'y'"
exits 2 "a shape that is none" "$assay" inspect --shape input=1xbad zoo:mlp
says "1x3x224x224"
exits 2 "a dimension that is not there" "$assay" inspect --dim nothing=3 zoo:mlp
says "no symbolic dimension 'nothing'"
exits 2 "sharing among nobody" "$assay" inspect --zero 2 zoo:mlp
says "--ranks"
exits 2 "an unknown column" "$assay" inspect --columns nothing_like_it zoo:mlp
says "it is one of name, op"
exits 2 "two forms at once" "$assay" inspect --json --format=csv zoo:mlp
says "choose one"
exits 2 "an amount of memory that is none" "$assay" inspect --fit many zoo:mlp
says "amount of memory"
mkdir "$tmp/folder"
exits 3 "a folder" "$assay" inspect "$tmp/folder"
says "folder"
printf '<!DOCTYPE html><html>' >"$tmp/page.onnx"
exits 3 "an HTML page" "$assay" inspect "$tmp/page.onnx"
says "HTML"
: >"$tmp/empty.onnx"
exits 3 "an empty file" "$assay" inspect "$tmp/empty.onnx"
says "empty"
exits 2 "numbers that do not fill an input with an open dimension" "$assay" inspect --value x=1,2,3 "$here/../corpus/inspect/conv.onnx"
says "input 'x' has 192 elements, but 3 were given"
exits 2 "a dimension given twice" "$assay" inspect --dim N=3 --dim N=4 "$here/../corpus/inspect/conv.onnx"
says "would be 3 and 4"
finish
