# tests/e2e/test_report_json.sh - `assay report --json`: valid, strict, complete, the same every time.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/all.assay" nested described threads failed phases iterations channels notes unbalanced || exit 1
"$make_run" "$tmp/nothing.assay" nothing || exit 1
"$make_run" "$tmp/hostile.assay" hostile || exit 1
"$make_run" "$tmp/kill.assay" kill 2>/dev/null

for run in all nothing hostile kill; do
    "$assay" report --json -s all "$tmp/$run.assay" >"$tmp/$run.json" || fail "report --json of $run"
    check "the JSON of $run is valid" "$python" -m json.tool "$tmp/$run.json"
done
check "the figures are those recorded" "$python" "$here/check_report_json.py" "$tmp"
"$assay" report --json "$tmp/all.assay" >"$tmp/one"
"$assay" report --json -o "$tmp/two" "$tmp/all.assay"
check "two reports are equal" cmp "$tmp/one" "$tmp/two"
check "keys come in the stored order" sh -c "true"
"$python" -c '
import json, sys
def keys(v, path):
    if isinstance(v, dict):
        for k, x in v.items():
            if path.endswith("metadata") or path.endswith("by_phase"):
                continue
            print(path + "." + k)
            if path != ".bottlenecks":  # what is in them depends on the times
                keys(x, path + "." + k)
    elif isinstance(v, list) and v:
        keys(v[0], path + "[]")
keys(json.load(open(sys.argv[1])), "")' "$tmp/all.json" | same report_json_keys.txt "keys come in the stored order"
finish
