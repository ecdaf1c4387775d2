# tests/e2e/test_heavy.sh - sound models that ask for much: counts past 64 bits, very many findings, symbols and inputs.
# Each is inspected in little time and memory, and what is cut or left out is said.
. "$(dirname "$0")/lib.sh"

check "the files are made" $python "$here/../corpus_maker/onnx_attacks.py" --heavy "$tmp/heavy"
# Sanitizers keep shadows of all memory and take their time: limits say nothing there.
limits=yes
grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" && limits=
for file in "$tmp"/heavy/*.onnx; do
    for how in "" --json "--json --weights --train --batch 8 --fit 1GiB"; do
        exits 0 "inspect $how of $(basename "$file")" $python "$here/run_limited.py" $((64000000 + 2 * $(stat -c %s "$file"))) "$limits" \
            "$assay" inspect $how "$file"
    done
done

"$assay" inspect --json "$tmp/heavy/loop.onnx" >"$tmp/loop.json"
check "no share of a sum that was cut" $python -c "
import json
j = json.load(open('$tmp/loop.json'))
assert j['model']['macs'] == 2**64 - 1 and j['model']['complete'] is False, j['model']
assert all(l.get('macs_share') is None for l in j['layers']), j['layers']"
"$assay" inspect --json "$tmp/heavy/unknown.onnx" >"$tmp/unknown.json"
check "findings that are not kept are counted" $python -c "
import json
j = json.load(open('$tmp/unknown.json'))
assert len(j['findings']) == 1000 and j['findings_lost'] == 19000, (len(j['findings']), j['findings_lost'])"
check "and said" sh -c "'$assay' inspect '$tmp/heavy/unknown.onnx' | grep -q '19000 more are not listed'"
check "inputs past the usual number are left out" sh -c "'$assay' inspect '$tmp/heavy/inputs.onnx' | grep -q '^49900 more; --top N'"
finish
