# tests/e2e/test_manager_run.sh - what a manager found, as a run and as its document: pages, classic text, JSON, verdicts, diff.
. "$(dirname "$0")/lib.sh"

made=$build/tests/manager_made
# A program's own export: the document is what report prints of it, and either file makes the same pages.
"$build/examples/program" -o "$tmp/real.json" --iterations 30 >/dev/null || fail "a program that exports JSON"
"$assay" report --json "$tmp/real.json" >"$tmp/again.json" || fail "the JSON"
check "export writes what report --json prints" cmp "$tmp/real.json" "$tmp/again.json"
"$build/examples/program" -o "$tmp/real.assay" --iterations 30 >/dev/null || fail "a program that exports a run"
check "the run is intact" "$assay" verify "$tmp/real.assay"
"$assay" report --json "$tmp/real.assay" >"$tmp/of_run.json" || fail "the JSON of a run"
check "its document is judged" "$python" "$here/check_session.py" "$tmp/of_run.json" 30
for form in "" --format=markdown --classic --json "--section all --top 3" "--sort name --wide"; do
    "$assay" report $form "$tmp/real.assay" >"$tmp/one" || fail "report $form of the run"
    "$assay" report $form "$tmp/of_run.json" >"$tmp/two" || fail "report $form of the document"
    check "the run and its document make the same page: $form" cmp "$tmp/one" "$tmp/two"
done
"$assay" report --export-csv "$tmp/csv1" "$tmp/real.assay" && "$assay" report --export-csv "$tmp/csv2" "$tmp/of_run.json" || fail "CSV"
check "and the same CSV" diff -r "$tmp/csv1" "$tmp/csv2"
check "one metric has one value in JSON and CSV" "$python" -c '
import csv, json, sys
stats = json.load(open(sys.argv[1]))["layer_profiling"]["layer_stats"]
rows = list(csv.DictReader(open(sys.argv[2])))
assert len(rows) == len(stats)
for r in rows:
    s = stats[r["name"]]
    assert int(r["calls"]) == s["call_count"] and int(r["failed"]) == s["failed_count"]
    for key, time in (("total_ns", "total_time"), ("self_ns", "self_time"), ("mean_ns", "mean_time"), ("p95_ns", "p95_time"), ("std_ns", "std_time")):
        assert abs(float(r[key]) - s[time] * 1e9) <= 1, (r["name"], key)' "$tmp/of_run.json" "$tmp/csv1/layers.csv"

# Its newest calls are spans, which traces show; so are those of its document.
"$assay" export --to chrome-trace "$tmp/real.assay" >"$tmp/trace.json" || fail "a chrome trace of a run"
"$assay" export --to chrome-trace "$tmp/of_run.json" >"$tmp/trace2.json" || fail "a chrome trace of its document"
check "the same trace" cmp "$tmp/trace.json" "$tmp/trace2.json"
check "every call that the run lists is a span, at its time" "$python" -c '
import collections, json, sys
trace, doc = (json.load(open(p)) for p in sys.argv[1:])
open_, spans = collections.defaultdict(list), []
for e in trace["traceEvents"]:
    if e["ph"] == "X":
        spans.append((e["name"], e["dur"]))
    elif e["ph"] == "B":
        open_[e["tid"]].append(e)
    elif e["ph"] == "E":
        begun = open_[e["tid"]].pop()
        spans.append((begun["name"], e["ts"] - begun["ts"]))
assert not any(open_.values())
history = doc["layer_profiling"]["execution_history"]
want = collections.Counter(h["layer"] for h in history)
assert collections.Counter(n for n, _ in spans) == want, want
# A span is begin to end; the time reported leaves out what profiling took inside it.
shortest = {}
for h in history:
    shortest[h["layer"]] = min(shortest.get(h["layer"], 1e9), h["execution_time"] * 1e6)
assert all(dur >= shortest[name] - 1 for name, dur in spans)' "$tmp/trace.json" "$tmp/of_run.json"
check "perfetto too" sh -c "'$assay' export --to perfetto '$tmp/real.assay' >'$tmp/p.pftrace' && test -s '$tmp/p.pftrace'"

# Every part, made by hand.
parts=$tmp/parts.json
"$made" parts "$parts" || fail "a run with all parts"
"$made" 1 1 "$tmp/bare.json" || fail "a run with layers alone"
"$assay" report "$parts" >"$tmp/page" || fail "the page of all parts"
for section in summary layers slowest memory leaks bottlenecks anomalies distributed backends; do
    "$assay" report --section $section "$parts" >"$tmp/$section" || fail "section $section"
    [ -s "$tmp/$section" ] || fail "section $section is empty"
done
for section in anomalies distributed backends bottlenecks leaks memory; do
    check "section $section is on the page" sh -c "grep -qF \"\$(sed -n 2p '$tmp/$section')\" '$tmp/page'"
    "$assay" report --section $section "$tmp/bare.json" >"$tmp/none" || fail "section $section of a run without"
    check "a run without $section says so" grep -q '^unknown' "$tmp/none"
done
check "the baseline is there" grep -q 'baseline 50.0 MiB' "$tmp/memory"
check "the kernel's peak is there" grep -q 'the kernel saw a peak of 90.0 MiB' "$tmp/memory"
check "the layer that leaks is named" grep -q 'fc: memory grew by 50.0 MiB' "$tmp/leaks"
check "what bounds a layer is there" grep -q 'conv: io' "$tmp/bottlenecks"
check "the farthest anomalies come first" sh -c "sed -n '/^fc/,\$p' '$tmp/anomalies' | sed -n 2p | grep -q '^conv .*900.0 ms .*100.0 ms'"
check "a finding has its severity" grep -q 'synchronization_overhead, severity 40' "$tmp/distributed"
check "a wait that is unknown is a dash" grep -q '^n0 .*-$' "$tmp/distributed"
check "backends are recommended" grep -q 'Use A' "$tmp/backends"
check "a run without parts has none on its page" sh -c "! '$assay' report '$tmp/bare.json' | grep -q '^Anomalies'"
"$assay" report --classic "$parts" >"$tmp/classic" || fail "the classic text"
check "the classic text has 80 columns" awk 'length > 80 { exit 1 }' "$tmp/classic"
check "the classic text has the percentile analysis" grep -q 'step .*50.0 % overhead' "$tmp/classic"
check "and the kernel's peak" grep -q 'Peak RSS (kernel) *90.00 MB' "$tmp/classic"
check "nested layers count once" grep -q 'Total time *3000.000 ms' "$tmp/classic"
"$assay" report --classic "$parts" | same manager_classic.txt "the classic text is as stored"
"$assay" report --fail-on-leak "$parts" >/dev/null
[ $? -eq 1 ] || fail "a leak is the answer no"
"$assay" report --fail-on-leak --json "$tmp/bare.json" >/dev/null || fail "no leak is the answer yes"

# Options do what they say, or are refused in one sentence.
first() { "$assay" report --section layers "$@" "$parts" | sed -n 4p | cut -d' ' -f1; }
check "layers by self time" test "$(first)" = conv
check "layers by total time" test "$(first --sort total)" = step
check "layers by p95" test "$(first --sort p95)" = conv
check "layers by name" test "$(first --sort name)" = conv
check "layers as they came" test "$(first --sort first)" = step
check "a unit" sh -c "'$assay' report --section layers --unit us --columns name,p99,calls '$parts' | grep -q '^step .*600000.* 10\$'"
"$assay" report --section leaks --leak-threshold 1 --leak-window 5 "$parts" >"$tmp/leaks" || fail "other limits of leaks"
check "windows are judged anew" grep -q '8 windows of 5 samples' "$tmp/leaks"
check "and that is said" grep -q 'from the 12 RSS samples' "$tmp/leaks"
"$assay" report --section leaks --leak-threshold 30 "$parts" | grep -q 'no window of samples grew' || fail "a high limit"
refused() {
    "$assay" report "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] || fail "$* is refused in one sentence"
}
refused --percentile 50 "$parts"
refused --thread 0 "$parts"
refused --section heap "$parts"
refused --json --section heap "$parts"
refused --classic --json "$parts"
refused --leak-threshold 1 "$tmp/bare.json"
"$assay" report --json --section layers,anomalies --top 2 --sort name "$parts" >"$tmp/some.json" || fail "some of the JSON"
check "JSON has the sections and rows asked for" "$python" -c '
import json, sys
whole, some = (json.load(open(p)) for p in sys.argv[1:])
assert list(some) == ["schema", "schema_version", "assay_version", "timestamp", "layer_profiling", "anomalies", "run_file"], list(some)
layers = some["layer_profiling"]
assert list(layers["layer_stats"]) == ["conv", "fc"] and len(layers["execution_history"]) == 2
assert layers["layer_stats"]["fc"] == whole["layer_profiling"]["layer_stats"]["fc"]
assert layers["execution_history"][0]["phase"] == "forward" and layers["execution_history"][1]["reason"] == "no room"
assert whole["extensions"] == {"depths": {"calls": 3}, "fails": None, "fails_reason": "it failed"}
assert whole["memory_profiling"]["snapshots"][0]["metadata"] == {"a": 1}
assert len(some["anomalies"]["anomalies"]) == 2 and some["anomalies"]["anomaly_count"] == 3' "$parts" "$tmp/some.json"
"$assay" report --json --section bottlenecks "$tmp/bare.json" | grep -q bottlenecks_reason || fail "a section that is null has its reason"

# A layer is compared by its own time: what one inside it does is counted for that one.
make() { "$made" "$@" || fail "a run for $*"; }
make 1 1 "$tmp/a.json"
make 1 2 "$tmp/b.assay"
make 1.2 0.8 "$tmp/c.json"
make 1 2 "$tmp/old.json" old
"$assay" diff "$tmp/a.json" "$tmp/a.json" | grep -q 'no significant difference' || fail "the same run twice differs in nothing"
"$assay" diff "$tmp/a.json" "$tmp/b.assay" >"$tmp/ab" || fail "diff with a slower child"
check "a parent is not slower by its child" grep -q '^parent.*not significant' "$tmp/ab"
check "the child is slower" grep -q '^child.*slower' "$tmp/ab"
"$assay" diff "$tmp/a.json" "$tmp/c.json" >"$tmp/ac" || fail "diff with a slower parent"
check "a parent is slower by its own work" grep -q '^parent.*slower' "$tmp/ac"
"$assay" diff "$tmp/a.json" "$tmp/old.json" >"$tmp/aold" || fail "diff with a run without self times"
check "a run without self times is compared with inner layers" grep -q '^parent.*slower' "$tmp/aold"
check "and that is said" grep -q 'compared by total time' "$tmp/aold"
"$assay" diff --json "$tmp/a.json" "$tmp/old.json" | grep -q '"compared_time": "inclusive"' || fail "JSON says so too"

printf '{"schema":"other"}' >"$tmp/other.json"
printf '{"schema":"assay.manager","schema_version":2}' >"$tmp/bare_doc.json"
printf '{"schema":' >"$tmp/cut.json"
for bad in other bare_doc cut; do
    "$assay" report "$tmp/$bad.json" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 3 ] || fail "$bad.json is refused with 3"
    [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] || fail "$bad.json is refused in one sentence"
done
finish
