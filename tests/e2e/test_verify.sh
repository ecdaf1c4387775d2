# tests/e2e/test_verify.sh - `assay verify`: whole, killed, damaged, cut, and files that are no runs.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/run.assay" nested threads || exit 1
"$make_run" "$tmp/kill.assay" kill 2>/dev/null
cp "$tmp/kill.assay" "$tmp/gone.assay"
for what in events block_header cut unclosed unknown; do
    "$python" "$here/patch_run.py" $what "$tmp/run.assay" "$tmp/$what.assay" || fail "patch_run.py $what"
done

exits 0 "a whole run" "$assay" verify "$tmp/run.assay"
check "is said to be whole" grep -q ": intact" "$tmp/out"
exits 0 "a killed program with its ring" "$assay" verify "$tmp/kill.assay"
check "says what came from the ring" grep -q "[0-9] events recovered from its ring" "$tmp/out"
exits 1 "a killed program without its ring" "$assay" verify "$tmp/gone.assay"
check "says that the ring is gone" grep -q "no ring is left" "$tmp/out"
exits 1 "a run with a flipped bit" "$assay" verify "$tmp/events.assay"
check "counts what was passed over" grep -Eq "corrupt: 1 block skipped \([0-9,]+ bytes, at least [0-9,]+ events" "$tmp/out"
exits 1 "a run with a flipped bit in a block's header" "$assay" verify "$tmp/block_header.assay"
check "counts it too" grep -q "corrupt: 1 block" "$tmp/out"
exits 1 "a run cut off" "$assay" verify "$tmp/cut.assay"
check "says where it ends" grep -q "incomplete: the file ends inside a block" "$tmp/out"
exits 1 "a run without its end" "$assay" verify "$tmp/unclosed.assay"
exits 0 "a run with a block of a later minor version" "$assay" verify "$tmp/unknown.assay"
check "says so" grep -q "only a later version" "$tmp/out"
exits 3 "no run at all" "$assay" verify "$here/lib.sh"
says "not a run file"
for run in run kill gone events cut; do
    "$assay" verify --json "$tmp/$run.assay" >"$tmp/$run.json"
    echo $? >"$tmp/$run.status"
    check "the JSON of $run is valid and agrees with the exit status" "$python" -c '
import json, sys
r = json.load(open(sys.argv[1] + ".json"))
status = int(open(sys.argv[1] + ".status").read())
assert r["schema"] == "assay.verify" and r["schema_version"] == 2
assert r["whole"] == (status == 0), (r["whole"], status)
assert r["whole"] == (not any(f["level"] == "loss" for f in r["health"]["findings"]))' "$tmp/$run"
done
# A table of what was checked.
for run in run kill events cut; do
    "$assay" verify --format csv "$tmp/$run.assay" >"$tmp/$run.csv"
    check "the table of $run agrees with the JSON" "$python" -c '
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + ".csv")))
r = json.load(open(sys.argv[1] + ".json"))
assert list(rows[0]) == ["path", "kind", "check", "result", "sentence"], rows[0]
assert rows[0]["check"] == "whole" and (rows[0]["result"] == "ok") == r["whole"], rows[0]
result = {"note": "ok", "warning": "warning", "loss": "failed"}
wanted = [(f["level"], f["text"]) for f in r["health"]["findings"]]
assert [x["sentence"] for x in rows[1:1 + len(wanted)]] == [t for _, t in wanted], rows
assert all(x["result"] == result.get(l, "warning") for x, (l, _) in zip(rows[1:], wanted)), (rows, wanted)
assert all(x["path"].endswith(".assay") and x["kind"] == "trace" for x in rows)' "$tmp/$run"
done
exits 1 "a page as Markdown" "$assay" verify --format markdown "$tmp/events.assay"
check "is a list" grep -q "^- .*: not intact$" "$tmp/out"
"$assay" report "$tmp/events.assay" >"$tmp/out"
check "a report begins with the damage" sh -c "sed -n 1p '$tmp/out' | grep -q corrupt"
exits 3 "a file that is not there, with a key" "$assay" verify --public-key "$tmp/any.pem" /nonexistent; says "cannot open /nonexistent"
finish
