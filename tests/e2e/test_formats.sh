# tests/e2e/test_formats.sh - one grammar on every command: --format, the exports beside it, and one meaning per option.
. "$(dirname "$0")/lib.sh"
fast="--iterations 5 --warmup 0 --no-roofline"
"$make_run" "$tmp/run.assay" nested iterations || exit 1

# same_exports NAME COMMAND...: one call writes all exports; a report of its run prints the same.
same_exports() {
    name=$1
    shift
    rm -rf "$tmp/x"
    mkdir "$tmp/x"
    exits 0 "$name" "$assay" "$@" --export-json "$tmp/x/a.json" --export-csv "$tmp/x/csv" --export-markdown "$tmp/x/a.md"
    cp "$tmp/err" "$tmp/notes"
    for file in a.json a.md; do
        check "$name: $file is named" grep -q "^wrote $tmp/x/$file\$" "$tmp/notes"
    done
    check "$name: the folder is named" grep -qE "^[0-9]+ files? written to $tmp/x/csv\$" "$tmp/notes"
}
again() { # again SOURCE...: what --format prints of it equals the exports
    "$assay" "$@" --format json >"$tmp/b.json" && "$assay" "$@" --format markdown >"$tmp/b.md" && "$assay" "$@" --format csv >"$tmp/b.csv" || fail "$name: the formats"
    check "$name: JSON is the same" cmp "$tmp/x/a.json" "$tmp/b.json"
    check "$name: Markdown is the same" cmp "$tmp/x/a.md" "$tmp/b.md"
    check "$name: CSV is the same" sh -c "for f in '$tmp'/x/csv/*.csv; do cmp -s \$f '$tmp/b.csv' && exit 0; done; exit 1"
    check "$name: CSV is rectangular, with a header" "$python" -c 'import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert len(rows) > 1 and len({len(r) for r in rows}) == 1 and all(rows[0]) and len(set(rows[0])) == len(rows[0]), rows[0]
for row in rows[1:]:
    for key, text in zip(rows[0], row):
        assert not key.endswith("_ns") or len(text.partition(".")[2]) <= 3, (key, text)' "$tmp/b.csv"
}
same_exports profile profile zoo:mlp $fast --no-history --format json -o "$tmp/p.assay"
check "profile: what was printed is what was exported" cmp "$tmp/out" "$tmp/x/a.json"
check "profile: the run is named" grep -q "^wrote $tmp/p.assay\$" "$tmp/notes"
again report "$tmp/p.assay"
check "profile: all exports are of one measurement" "$python" -c 'import csv, json, sys
d = json.load(open(sys.argv[1])); rows = list(csv.DictReader(open(sys.argv[2], newline="")))
assert [r["name"] for r in rows] == [l["name"] for l in d["layers"]]
assert all(abs(float(r["self_ns"]) - l["self_ns"]) < 0.001 for r, l in zip(rows, d["layers"]))' "$tmp/x/a.json" "$tmp/x/csv/layers.csv"
same_exports sweep sweep zoo:mlp --batch 1,2 $fast -o "$tmp/s.assay"
again report "$tmp/s.assay"
same_exports machine machine --quick --threads 1 -o "$tmp/m.assay"
again report "$tmp/m.assay"
same_exports report report "$tmp/run.assay"
again report "$tmp/run.assay"
same_exports inspect inspect zoo:mlp
again inspect zoo:mlp
same_exports "diff of runs" diff "$tmp/run.assay" "$tmp/run.assay"
again diff "$tmp/run.assay" "$tmp/run.assay"
same_exports "diff of metrics" diff "$tmp/s.assay" "$tmp/s.assay"
again diff "$tmp/s.assay" "$tmp/s.assay"
same_exports "diff of models" diff zoo:mlp zoo:mlp:hidden=8
again diff zoo:mlp zoo:mlp:hidden=8
exits 0 "run" "$assay" run -o "$tmp/w.assay" --export-json "$tmp/x/a.json" --export-csv "$tmp/x/csv" --export-markdown "$tmp/x/a.md" -- sleep 0.1
check "run: the exports are named" grep -q "^wrote $tmp/x/a.json" "$tmp/err"
name=run
again report "$tmp/w.assay"

# Several models: one table, all documents, and a model that fails keeps its row.
for command in inspect "profile $fast --no-history"; do
    name="several models of $command"
    exits 3 "$name" "$assay" $command zoo:mlp "$tmp/none.onnx" zoo:mlp:hidden=8 --export-json "$tmp/x/m.json" --export-csv "$tmp/x/m"
    check "$name: all rows are shown" sh -c "grep -q '^zoo:mlp:hidden=8 ' '$tmp/out' && grep -q 'none.onnx: cannot open' '$tmp/out'"
    check "$name: the failure is reported" grep -q '^assay: 1 of 3 models failed' "$tmp/err"
    check "$name: documents and rows" "$python" -c 'import csv, json, sys
d = json.load(open(sys.argv[1])); rows = list(csv.DictReader(open(sys.argv[2], newline="")))
assert d["n_failed"] == 1 and [("error" in m) for m in d["models"]] == [False, True, False]
assert [bool(r["error"]) for r in rows] == [False, True, False]
assert all(v == "" for k, v in rows[1].items() if k not in ("model", "error"))
assert "p50_ns" not in rows[0] or (float(rows[0]["relative_to_first"]) == 1 and float(rows[2]["p50_ns"]) > 0)' "$tmp/x/m.json" "$tmp/x/m/models.csv"
done
exits 2 "a run of several models" "$assay" profile zoo:mlp zoo:mlp -o "$tmp/two.assay"
says "one by one"
exits 0 "notes are left out" "$assay" report -q "$tmp/run.assay" -o "$tmp/page" --export-json "$tmp/q.json"
check "by --quiet" sh -c "[ ! -s '$tmp/err' ] && [ -s '$tmp/page' ] && [ -s '$tmp/q.json' ]"
exits 0 "a page to standard output" "$assay" report "$tmp/run.assay" -o -
check "by -o -" sh -c "[ -s '$tmp/out' ] && [ ! -e ./- ]"
(cd "$tmp" && "$assay" run --report-file - -o r.assay -- true >stdout 2>/dev/null && [ -s stdout ] && [ ! -e ./- ]) || fail "--report-file - is standard output"
exits 2 "two formats" "$assay" report --json --format csv "$tmp/run.assay"
says "choose one of --json and --format csv"
for command in inspect profile sweep run report diff bench machine zoo verify bundle version help; do
    check "$command has --format" sh -c "'$assay' $command --help | grep -q -e '--format=FORMAT'"
done
exits 3 "an export that cannot be written is known before anything is measured" "$assay" profile zoo:mlp $fast --export-json "$tmp/none/x.json"
says "--export-json"
check "and nothing is printed" sh -c "[ ! -s '$tmp/out' ]"

"$assay" help --json >"$tmp/help.json"
check "a letter and a name have one meaning each" "$python" - "$tmp/help.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
letters, kinds, wrong = {}, {}, []
for command in d["commands"]:
    for option in command["options"] + d["common_options"]:
        where = f'{command["name"]} --{option["name"]}'
        if option["letter"] and letters.setdefault(option["letter"], option["name"]) != option["name"]:
            wrong.append(f'-{option["letter"]}: {where} and --{letters[option["letter"]]}')
        argument = option["argument"]
        kind = argument if argument in (None, "FILE", "DIR") else "file" if argument and argument.endswith("FILE") else "value"
        known, first = kinds.setdefault(option["name"], (kind, where))
        if known != kind:
            wrong.append(f"{where} takes {kind}, {first} takes {known}")
assert not wrong, wrong
for dropped in ("markdown", "csv", "runs", "key-file"):
    assert dropped not in kinds, dropped
PY
finish
