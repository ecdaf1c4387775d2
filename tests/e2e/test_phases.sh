# tests/e2e/test_phases.sh - a text model with a cache has two phases, each with layers, roofline and recommendations: the prefill
# and one new token with the cache of that length. Counts are those of a model inferred for each phase.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
model=zoo:llama:layers=2,seq=0,past=-1
fast="--iterations 4 --warmup 1 --no-history --threads 1"

exits 0 "both phases" "$assay" profile $model $fast --dim seq=24 -o run.assay --quiet
exits 0 "as JSON" "$assay" report --json run.assay
cp "$tmp/out" both.json
exits 0 "the prefill alone" "$assay" inspect --json $model --dim seq=24 --dim past=0
cp "$tmp/out" prefill.json
exits 0 "the new token alone" "$assay" inspect --json $model --dim seq=1 --dim past=24
cp "$tmp/out" decode.json
check "each phase has counts, layers, roofline and recommendations of its own" "$python" - <<'PY'
import json

both, prefill, decode = (json.load(open(n + ".json")) for n in ("both", "prefill", "decode"))
d = both["decode"]
assert both["phase"] == "prefill" and (d["tokens"], d["past_tokens"], d["batch"]) == (1, 24, 1), d["past_tokens"]
assert both["model"]["macs"] == prefill["model"]["macs"], (both["model"]["macs"], prefill["model"]["macs"])
assert d["macs"] == decode["model"]["macs"] and d["flops"] == decode["model"]["flops"] and d["counts_complete"]
for part in (both, d):
    assert sum(l["macs"] for l in part["layers"]) == (part.get("model") or part)["macs"]
    assert abs(sum(l["share"] for l in part["layers"]) - 1) < 1e-9 and part["operators"] and isinstance(part["recommendations"], list)
    assert abs(sum(l["self_ns"] for l in part["layers"]) - part["summary"]["total_time_ns"]) < 1
    assert part["summary"]["roof_fraction"] is not None
# Keys and values of 24 tokens come in, of 25 go out, in f32: 2 layers, 4 heads of keys, 32 numbers each.
token = decode["decoder"]["kv_bytes_per_token"] * 2
assert d["memory"]["kv_cache_bytes"] == (24 + 25) * token, (d["memory"]["kv_cache_bytes"], token)
assert abs(d["summary"]["tokens_per_second"] * d["latency"]["median_ns"] / 1e9 - 1) < 1e-9
PY
exits 0 "the page" "$assay" report --width 100 run.assay
check "names the phase of each table" grep -q "^By layer: prefill of 24 tokens" "$tmp/out"
check "also that of decoding" grep -q "^By layer: decode with 24 tokens in the cache" "$tmp/out"
exits 0 "one part" "$assay" report -s decode run.assay
check "is that phase" grep -q "^One token: decode with 24 tokens in the cache" "$tmp/out"
check "alone" sh -c '! grep -q prefill "$1"' - "$tmp/out"
exits 0 "as CSV" "$assay" report --quiet --export-csv tables run.assay
check "layers of decoding are a table" sh -c 'test "$(wc -l <tables/decode_layers.csv)" -gt 20'

check "inspect counts both phases" "$python" - <<'PY'
import json

prefill, decode = (json.load(open(n + ".json")) for n in ("prefill", "decode"))
a, b = prefill["phases"]
assert (a["phase"], a["tokens"], a["past_tokens"]) == ("prefill", 24, 0) and (b["phase"], b["tokens"], b["past_tokens"]) == ("decode", 1, 24)
assert a["macs"] == prefill["model"]["macs"] and a["bytes_moved"] == prefill["model"]["bytes_moved"]
assert b["macs"] == decode["model"]["macs"] and b["bytes_moved"] == decode["model"]["bytes_moved"]
token = decode["decoder"]["kv_bytes_per_token"] * 2
assert (a["cache_bytes"], b["cache_bytes"]) == (24 * token, 25 * token)
# The types are those of the phase that was asked for, and the counts too.
assert prefill["inputs"][0]["shape"] == [1, 24] and [p["phase"] for p in decode["phases"]] == ["decode"]
assert not [f for f in prefill["recommendations"] if f["rule"] == "no-kv-cache"]
PY
exits 0 "without a cache" "$assay" inspect --json zoo:llama:layers=1,seq=8
check "there are no phases, and advice to have one" "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["phases"] == [] and [f for f in d["recommendations"] if f["rule"] == "no-kv-cache"]' "$tmp/out"

# Where the inference is of one token with a cache, it is that phase and the only one.
exits 0 "decoding alone" "$assay" profile $model $fast --dim seq=1 --dim past=8 --json
check "is its own phase" "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["phase"] == "decode" and d["decode"] is None' "$tmp/out"
# No cache, no phases.
exits 0 "a text model without a cache" "$assay" profile zoo:llama:layers=1,seq=8 $fast --json
check "has none" "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["phase"] is None and d["decode"] is None' "$tmp/out"
exits 0 "nor has a network for pictures" "$assay" profile zoo:mlp $fast
check "and its page says nothing of it" sh -c '! grep -q "prefill\|decode" "$1"' - "$tmp/out"
finish
