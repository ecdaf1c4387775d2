# tests/e2e/test_sweep.sh - `assay sweep`: rows, scaling, limits, rows that fail, every form, wrong words.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
fast="--no-roofline --iterations 5 --warmup 1 --threads 1"

exits 0 "batches" "$assay" sweep zoo:mlp --batch 1,2,4,8 $fast --json
check "have every key and scale exactly" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))
assert m["schema"] == "assay.sweep" and len(m["rows"]) == 4
for row, batch in zip(m["rows"], (1, 2, 4, 8)):
    assert row["error"] is None and row["batch"] == row["setting"]["batch"] == batch
    for key in ("latency_ms", "parameters", "flops", "samples_per_second", "memory_mb", "gflops_per_second", "peak_bytes",
                "samples_per_second_per_mb", "speedup", "runs"):
        assert row[key] > 0, key
    assert abs(row["samples_per_second"] * row["latency_ms"] / 1000 / batch - 1) < 1e-9
    assert row["flops"] == batch * m["rows"][0]["flops"]
s = m["scaling"]
assert s["axis"] == "batch" and "%.2f" % s["flops"]["exponent"] == "1.00" and s["flops"]["points"] == 4
assert m["rows"][m["best_row"]]["samples_per_second"] == max(r["samples_per_second"] for r in m["rows"])
assert m["verdict"] == "unknown"' "$tmp/out"

typed="--no-roofline --iterations 5 --warmup 1"
exits 0 "threads before batches" "$assay" sweep zoo:mlp --threads 1,2 --batch 1,4 $typed --json
check "are the first axis" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))
assert m["scaling"]["axis"] == "threads", m["scaling"]["axis"]
assert [(r["threads"], r["batch"]) for r in m["rows"]] == [(1, 1), (1, 4), (2, 1), (2, 4)]' "$tmp/out"

exits 0 "a page" "$assay" sweep zoo:mlp --batch 1,2,4 $fast --width 80
check "says how the work grows" grep -q "^  work .* to the power 1.00" "$tmp/out"
exits 0 "Markdown" "$assay" sweep zoo:mlp --batch 1,2 $fast --format=markdown
check "has whole tables" "$python" "$here/check_markdown.py" "$tmp/out"
exits 0 "CSV" "$assay" sweep zoo:mlp --batch 1,2 --key hidden=16,32 $fast --export-csv "$tmp/csv"
check "has a row for each combination" "$python" -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 4 and all(None not in r and r["error"] == "" for r in rows)
assert all(float(r["median_ns"]) > 0 for r in rows)
assert len({r["setting"] for r in rows}) == 4' "$tmp/csv/sweep.csv"

# Limits that nothing keeps.
exits 1 "no setting is fast enough" "$assay" sweep zoo:mlp --batch 1,2 $fast --max-latency 0.000001
check "is said" grep -q "no setting is within the limits" "$tmp/out"
exits 1 "no setting is small enough" "$assay" sweep zoo:mlp --batch 1,2 $fast --fit 1KiB --json
check "has no best row" grep -q '"best_row": null' "$tmp/out"
exits 0 "limits that all keep" "$assay" sweep zoo:mlp --batch 1,2 $fast --max-latency 100000 --json
check "have a best row" grep -Eq '"best_row": [01]' "$tmp/out"

# One setting fails, the others are measured: a batch that no memory holds.
exits 0 "a setting that fails" "$assay" sweep zoo:mlp --batch 1,2000000000 $fast --json
check "is a row with its error" "$python" -c '
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert rows[0]["error"] is None and rows[0]["latency_ms"] > 0
assert rows[1]["error"] and rows[1]["latency_ms"] is None' "$tmp/out"
exits 0 "and on a page" "$assay" sweep zoo:mlp --batch 1,2000000000 $fast
check "says why" grep -q "^batch 2000000000 failed: " "$tmp/out"

exits 2 "nothing varies" "$assay" sweep zoo:mlp $fast
says "name what varies"
exits 2 "a word for a number" "$assay" sweep zoo:mlp --batch 1,two
says "whole numbers above 0"
exits 2 "no name" "$assay" sweep zoo:mlp --key 1,2
says "NAME=VALUE"
exits 2 "a key that is none" "$assay" sweep zoo:mlp --key nonsense=1,2 $fast
exits 2 "a limit that is none" "$assay" sweep zoo:mlp --batch 1,2 --fit much
says "512MiB"
exits 2 "more threads than can run" "$assay" sweep zoo:mlp --threads 1,4096
says "CPU"
exits 2 "two forms at once" "$assay" sweep zoo:mlp --batch 1,2 --json --format=markdown
says "choose one of"
exits 2 "no model" "$assay" sweep --batch 1,2
finish
