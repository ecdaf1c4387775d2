# tests/e2e/test_session.sh - a session's JSON read back: pages, classic text, JSON, verdicts, and two of them compared.
. "$(dirname "$0")/lib.sh"

whole=$here/../corpus/session/whole.json
for section in summary layers memory leaks bottlenecks; do
    "$assay" report --section "$section" "$whole" >"$tmp/$section" || fail "section $section"
    [ -s "$tmp/$section" ] || fail "section $section is empty"
done
check "the baseline is told" grep -q 'baseline 100 MiB' "$tmp/memory"
check "the layer that leaks is named" grep -q 'fc: memory grew by 50.0 MiB' "$tmp/leaks"
check "what bounds a layer is told" grep -q 'conv1' "$tmp/bottlenecks"

"$assay" report --classic "$whole" >"$tmp/classic" || fail "the classic text"
check "the classic text has 80 columns" awk 'length > 80 { exit 1 }' "$tmp/classic"
"$assay" report --classic "$whole" | same session_classic.txt "the classic text is as stored"
"$assay" report --json "$whole" >"$tmp/again.json" || fail "the JSON"
check "the JSON is the same value" "$python" -c '
import json, sys
strict = lambda x: sys.exit("not JSON: " + x)
one, two = (json.load(open(p), parse_constant=strict) for p in sys.argv[1:])
sys.exit(one != two)' "$whole" "$tmp/again.json"
"$assay" report -o "$tmp/summary.txt" --section summary "$whole" || fail "a summary to a file"
check "the summary is in the file" test -s "$tmp/summary.txt"

"$assay" report --fail-on-leak "$whole" >/dev/null
[ $? -eq 1 ] || fail "a leak is the answer no"
"$assay" diff "$whole" "$whole" >"$tmp/diff" || fail "diff of sessions"
check "the same session twice differs in nothing" grep -q 'no difference shown' "$tmp/diff"

# What few sessions have is on the page of those that have it, and is a section of its own.
parts=$here/../corpus/session/parts.json
"$assay" report "$parts" >"$tmp/page" || fail "a session with all parts"
for section in anomalies distributed backends; do
    "$assay" report --section $section "$parts" >"$tmp/$section" || fail "section $section"
    check "section $section is on the page" sh -c "grep -qF \"\$(sed -n 2p '$tmp/$section')\" '$tmp/page'"
    "$assay" report --section $section "$whole" >"$tmp/none" || fail "section $section of a session without"
    check "a session without $section says so" grep -q '^not known' "$tmp/none"
done
check "the farthest anomalies come first" sh -c "sed -n '/^fc/,\$p' '$tmp/anomalies' | grep -q '^conv .*900.0 ms .*100.0 ms'"
check "a finding of severity high is told" grep -q '\[high\] synchronization_overhead' "$tmp/distributed"
check "a wait that is not known is a dash" grep -q '^n0 .*-$' "$tmp/distributed"
check "backends are recommended" grep -q 'Use A' "$tmp/backends"
check "a session without parts has none on its page" sh -c "! '$assay' report '$whole' | grep -q '^Anomalies'"
"$assay" report --classic "$parts" | grep -q 'Peak by the kernel *90.00 MB' || fail "the kernel's peak, classic"
"$assay" report --section memory "$parts" | grep -q 'the kernel saw a peak of 90.0 MiB' || fail "the kernel's peak"

# Options do what they say, or are refused in one sentence.
first() { "$assay" report --section layers "$@" "$parts" | sed -n 4p; }
check "layers by total time" test "$(first | cut -d' ' -f1)" = step
check "layers by p95" test "$(first --sort p95 | cut -d' ' -f1)" = conv
check "layers by name" test "$(first --sort name | cut -d' ' -f1)" = conv
check "layers as they came" test "$(first --sort first | cut -d' ' -f1)" = step
check "a unit" sh -c "'$assay' report --section layers --unit us --columns name,p99,calls '$parts' | grep -q '^step .*600000.000 us *10\$'"
"$assay" report --section leaks --leak-threshold 1 --leak-window 5 "$parts" >"$tmp/leaks" || fail "other limits of leaks"
check "windows are judged anew" grep -q '8 windows of 5 readings' "$tmp/leaks"
check "and that is said" grep -q 'from the 12 readings of resident' "$tmp/leaks"
"$assay" report --section leaks --leak-threshold 30 "$parts" | grep -q 'no window of readings grew' || fail "a high limit"
refused() {
    "$assay" report "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] || fail "$* is refused in one sentence"
}
refused --percentile 50 "$parts"
refused --thread 0 "$parts"
refused --columns name,flops "$parts"
refused --json --leak-window 5 "$parts"
refused --json --section heap "$parts"
"$python" "$here/make_session.py" 1 1 "$tmp/bare.json" && refused --leak-threshold 1 "$tmp/bare.json"
"$assay" report --json --section layers,anomalies --top 2 --sort name "$parts" >"$tmp/some.json" || fail "some of the JSON"
check "JSON has the sections and rows asked for" "$python" -c '
import json, sys
whole, some = (json.load(open(p)) for p in sys.argv[1:])
assert list(some) == ["schema", "schema_version", "assay_version", "timestamp", "layer_profiling", "anomalies"], list(some)
layers = some["layer_profiling"]
assert list(layers["layer_stats"]) == ["conv", "fc"] and len(layers["execution_history"]) == 2
assert layers["layer_stats"]["fc"] == whole["layer_profiling"]["layer_stats"]["fc"]
assert len(some["anomalies"]["anomalies"]) == 2 and some["anomalies"]["anomaly_count"] == 3' "$parts" "$tmp/some.json"
"$assay" report --json --section bottlenecks "$parts" | grep -q bottlenecks_why || fail "a section that is null has its reason"

# A layer is compared by its own time: what one inside it does is told of that one.
make() { "$python" "$here/make_session.py" "$@" || fail "a session for $*"; }
make 1 1 "$tmp/a.json"
make 1 2 "$tmp/b.json"
make 1.2 0.8 "$tmp/c.json"
make 1 2 "$tmp/old.json" old
"$assay" diff "$tmp/a.json" "$tmp/b.json" >"$tmp/ab" || fail "diff with a slower child"
check "a parent is not slower by its child" grep -q '^parent.*no difference shown' "$tmp/ab"
check "the child is slower" grep -q '^child.*slower' "$tmp/ab"
"$assay" diff "$tmp/a.json" "$tmp/c.json" >"$tmp/ac" || fail "diff with a slower parent"
check "a parent is slower by its own work" grep -q '^parent.*slower' "$tmp/ac"
"$assay" diff "$tmp/a.json" "$tmp/old.json" >"$tmp/aold" || fail "diff with an older file"
check "a file without self times is compared with inner layers" grep -q '^parent.*slower' "$tmp/aold"
check "and that is said" grep -q 'together with the layers inside' "$tmp/aold"
"$assay" diff --json "$tmp/a.json" "$tmp/old.json" | grep -q '"compared_time": "inclusive"' || fail "JSON says so too"

printf '{"schema":"other"}' >"$tmp/other.json"
printf '{"schema":"assay.session","schema_version":9}' >"$tmp/later.json"
printf '{"schema":' >"$tmp/cut.json"
for bad in other later cut; do
    "$assay" report "$tmp/$bad.json" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 3 ] || fail "$bad.json is refused with 3"
    [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] || fail "$bad.json is refused in one sentence"
done
"$assay" report --csv "$tmp/csv" "$whole" 2>"$tmp/err"
[ $? -eq 2 ] || fail "CSV of a session is wrong use"
"$assay" report --classic --json "$whole" 2>"$tmp/err"
[ $? -eq 2 ] || fail "two forms at once are wrong use"
finish
