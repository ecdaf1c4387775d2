# tests/e2e/test_machine_study.sh - the studies of `assay machine`: operations and overhead, every form, wrong use.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"

exits 0 "operations" "$assay" machine --operations --quick --size 64 --json
check "have every key and agree with each other" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))
assert m["schema"] == "assay.operations" and m["size"] == 64 and m["threads"] == 1, m
rows = {o["operation"]: o for o in m["operations"]}
assert set(rows) == {"elementwise", "matmul", "reduction", "conv3x3", "depthwise_conv3x3", "attention", "layer_norm",
                     "softmax", "embedding", "transpose", "activation"}
assert rows["elementwise"]["flops"] == rows["reduction"]["flops"] == 32 * 64
assert rows["matmul"]["flops"] == 2 * 32 * 64 * 64
classes = ("memory-bound", "compute-bound", "overhead-bound")
for name, o in rows.items():
    for key in ("latency_ms", "bytes", "roof_fraction", "ridge", "ci95_low_ns", "bytes_per_second"):
        assert o[key] > 0, (name, key)
    assert o["ci95_low_ns"] <= o["latency_ms"] * 1e6 <= o["ci95_high_ns"], name
    assert o["efficiency_class"] in classes and o["optimization_focus"] and o["kernel"], name
    if o["flops"]:
        assert o["flops"] / 2 < o["executed_flops"] <= o["flops"], name # without those in padding
        rate = o["executed_flops"] / (o["latency_ms"] * 1e6)
        assert abs(o["gflops_per_second"] / rate - 1) < 1e-9, name
        assert abs(o["intensity"] / (o["executed_flops"] / o["bytes"]) - 1) < 1e-9, name
    else:
        assert o["gflops_per_second"] == 0 and name in ("embedding", "transpose")
    if o["roof_fraction"] < 0.2:
        wanted = classes[2]
    else:
        wanted = classes[o["intensity"] >= o["ridge"]]
    assert o["efficiency_class"] == wanted, (name, o)
rates = {n: o["gflops_per_second"] for n, o in rows.items() if o["flops"]}
assert rates[m["most_efficient"]] == max(rates.values()) and rates[m["least_efficient"]] == min(rates.values())
counts = [sum(o["efficiency_class"] == c for o in rows.values()) for c in classes]
assert counts == [m["memory_bound"], m["compute_bound"], m["overhead_bound"]]
assert m["priority"] in ("memory", "compute", "overhead") and m["advice"]' "$tmp/out"
check "the machine itself is not in it" sh -c "! grep -q ridge_points '$tmp/out'"

exits 0 "overhead" "$assay" machine --overhead --quick --json
check "has every key and agrees with itself" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))
level = lambda f: "low" if f < 2 else "moderate" if f < 10 else "high"
assert m["schema"] == "assay.overhead"
assert m["factor"] > 0 and m["overhead_class"] == level(m["factor"]) and m["hint"]
probes = {p["probe"]: p for p in m["probes"]}
for name in ("clock_counter", "clock_system", "scope_recorded", "iteration_mark", "sample"):
    assert probes[name]["ns"] > 0, name
assert probes["scope_no_session"]["least_ns"] < probes["scope_recorded"]["least_ns"]
for p in m["profilers"]:
    assert p["baseline_ms"] > 0 and p["profiled_ms"] > 0 and p["factor"] > 0, p
    assert p["overhead_class"] == level(p["factor"]) and p["hint"]
    assert abs(p["cost_share"] - (p["factor"] - 1)) < 1e-9
assert {p["profiler"] for p in m["profilers"]} >= {"latency_each", "profile_tiny_steps", "profile_large_steps",
                                                   "memory_tiny_steps"}
for b in m["budget"]:
    assert abs(b["shortest_1_percent_ns"] - 100 * b["cost_ns"]) <= 1e-6 * b["shortest_1_percent_ns"]
    assert b["shortest_5_percent_ns"] <= b["shortest_1_percent_ns"]
assert len(m["best_practices"]) >= 3' "$tmp/out"

for study in operations overhead; do
    for width in 80 160; do
        exits 0 "$study on $width columns" "$assay" machine --$study --quick --width $width --glyphs unicode
        check "no line is longer than $width" "$python" -c '
import sys
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    if len(line) > int(sys.argv[2]):
        sys.exit(line)' "$tmp/out" $width
        check "the machine is named" sh -c "head -2 '$tmp/out' | grep -q 'usable CPU'"
        check "its peaks are not shown" sh -c "! grep -q '^Computing' '$tmp/out'"
    done
    exits 0 "$study in Markdown" "$assay" machine --$study --quick --format=markdown
    check "has whole tables" "$python" "$here/check_markdown.py" "$tmp/out"
done
exits 0 "overhead for people" "$assay" machine --overhead --quick
for words in "^Probes" "^Runs" "^Budget" "^Best practice" "a scope, recorded .* ns" "A function measured call by call"; do
    check "it has $words" grep -Eq "$words" "$tmp/out"
done
exits 0 "operations for people" "$assay" machine --operations --quick
for words in "^Matrix multiply .*-bound" "^Attention .*-bound" "^  most efficient" "^  least efficient" "^  priority "; do
    check "it has $words" grep -Eq "$words" "$tmp/out"
done
exits 0 "a number of threads" "$assay" machine --operations --quick --threads 1 --json
check "is what runs" grep -q '"threads": 1,' "$tmp/out"

exits 2 "both at once" "$assay" machine --operations --overhead
says "ask for one at a time"
exits 2 "a size of nothing" "$assay" machine --size 64
says "add --operations"
exits 2 "no size" "$assay" machine --operations --size 0
exits 2 "too large a size" "$assay" machine --operations --size 100000
exits 2 "overhead on threads" "$assay" machine --overhead --threads 2
says "leave out --threads"
finish
