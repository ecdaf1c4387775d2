# tests/e2e/test_report_csv.sh - `assay report --export-csv`: the files, their headers and what stands in them.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/all.assay" nested threads failed iterations channels notes unbalanced || exit 1
"$make_run" "$tmp/hostile.assay" hostile || exit 1
exits 0 "a folder and its parents are made" "$assay" report --export-csv "$tmp/a/b/c" "$tmp/all.assay"
check "the page is printed as well" grep -q "^Layers" "$tmp/out"
check "it says what was written" grep -q "6 files" "$tmp/err"
exits 0 "existing files are replaced" "$assay" report --quiet --export-csv "$tmp/a/b/c" "$tmp/all.assay"
check "--quiet says nothing" sh -c "[ ! -s '$tmp/err' ]"
for file in layers threads tree timeline latency channels; do
    head -1 "$tmp/a/b/c/$file.csv" | sed "s/^/$file: /"
done | same report_csv_headers.txt "the headers are those of the specification"
check "no other file is left" sh -c "[ \$(ls '$tmp/a/b/c' | wc -l) = 6 ]"
exits 0 "hostile names" "$assay" report --csv-safe --export-csv "$tmp/h" "$tmp/hostile.assay"
"$assay" report -q --export-csv "$tmp/plain" "$tmp/hostile.assay" >/dev/null || fail "CSV without guards"
check "no control character reaches a CSV file" sh -c "! LC_ALL=C grep -l '[[:cntrl:]]' '$tmp'/h/*.csv"
check "the files say what the JSON says" "$python" - "$assay" "$tmp" <<'PY'
import csv, json, subprocess, sys
assay, tmp = sys.argv[1:]
r = json.loads(subprocess.run([assay, "report", "--json", "-s", "all", tmp + "/all.assay"], capture_output=True, check=True).stdout)
rows = {n: list(csv.DictReader(open(f"{tmp}/a/b/c/{n}.csv", newline=""))) for n in ("layers", "threads", "tree", "timeline", "latency", "channels")}
assert len(rows["layers"]) == len(r["layers"])
for row, layer in zip(rows["layers"], r["layers"]):
    for key, text in row.items():
        value = layer[key]
        assert text == ("" if value is None else text), (key, text)
        if isinstance(value, (int, float)):
            assert abs(float(text) - value) <= (0.0005 * (1 + 1e-9) + 1e-12 * abs(value) if key.endswith("_ns") else 0), (key, text, value)
        else:
            assert text == (value or ""), (key, text, value)
assert len(rows["timeline"]) == len(r["timeline"]) and len(rows["tree"]) == len(r["tree"])
assert [x["notes"] for x in rows["timeline"] if x["layer"] == "noted"][1] == "tokens=-1 tokens=16 memory_usage=1.5"
assert len(rows["latency"]) == 240 and float(rows["latency"][0]["wall_time_us"]) == r["iterations"]["first_ns"] / 1000
assert {x["seq_len"] for x in rows["latency"]} == {"128", "512"}
assert rows["channels"][0]["channel"] == "rss"
h = list(csv.DictReader(open(f"{tmp}/h/layers.csv", newline="")))
assert len(h) == 13 and all(not x["name"].startswith(("=", "+", "-", "@")) for x in h)
plain = list(csv.DictReader(open(f"{tmp}/plain/layers.csv", newline="")))
guarded = [x["name"] for x in plain if x["name"].startswith(("=", "+", "-", "@"))]
assert guarded and all("'" + name in [x["name"] for x in h] for name in guarded), guarded
assert all(len(x) == len(h[0]) and None not in x for x in h)
PY
finish
