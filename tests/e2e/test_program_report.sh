# tests/e2e/test_program_report.sh - `assay report` on runs of `assay run`: page, sections, JSON, CSV, verdict.
. "$(dirname "$0")/lib.sh"
sample=$build/tests/program_sample

"$sample" "$tmp/leak.assay" leaks marks || exit 1
"$sample" "$tmp/plain.assay" noheap waits || exit 1
"$sample" "$tmp/short.assay" short nonames leaks || exit 1
"$sample" "$tmp/hostile.assay" hostile leaks marks || exit 1
"$sample" "$tmp/many.assay" many || exit 1
"$make_run" "$tmp/layers.assay" nested || exit 1

exits 0 "the page of a program" "$assay" report --section all "$tmp/leak.assay"
for words in 'exit status 0 after 14.00 s' '0.97 of 4' '1,234' 'load_weights+0x1b0 (a.out)' 'cblas_sgemm' \
    'make_temp+0x20 (libfoo.so.1)' 'the heap grew by 1.20 MiB/s' 'parse_row+0x4c (a.out)' 'visible from outside' \
    'processors-idle' 'samples, one every 50.00 ms' 'a table of live blocks'; do
    check "the page says $words" grep -qF -e "$words" "$tmp/out"
done
exits 0 "the page without a choice" "$assay" report "$tmp/leak.assay"
check "layers that were not marked do not stand on it" sh -c "! grep -q 'No layer' '$tmp/out'"
# Without a choice: what it used, what limits it, who holds the memory, in that order.
for run in leak plain short hostile many; do
    COLUMNS=80 "$assay" report "$tmp/$run.assay" >"$tmp/page"
    check "the page of $run has at most 60 lines" [ "$(wc -l <"$tmp/page")" -le 60 ]
    grep -oE '^(Program|Bottlenecks|Leaks|Heap|GEMM calls|Processes|Cost of profiling)\b' "$tmp/page" | tr '\n' ' ' >"$tmp/order"
    check "parts of $run are in order" grep -qE '^Program Bottlenecks Leaks Heap (GEMM calls )?(Processes )?Cost of profiling $' "$tmp/order"
done
exits 0 "a program without a heap" "$assay" report "$tmp/plain.assay"
check "why the heap was not watched is said" grep -q 'Not watched: the program is static' "$tmp/out"
exits 0 "a program that was over at once" "$assay" report "$tmp/short.assay"
check "no verdict from few readings" grep -q '^not enough data: ' "$tmp/out"
check "no names" grep -q 'no symbol names' "$tmp/out"
exits 0 "many sites" "$assay" report --top 3 --section heap "$tmp/many.assay"
check "what is left out is counted" grep -q '4996 more sites' "$tmp/out"
check "mappings stand apart" grep -q '^Mappings  address space' "$tmp/out"

# Two runs side by side: sites, GEMM calls and processes.
exits 0 "two runs of programs" "$assay" diff --top 5 "$tmp/leak.assay" "$tmp/plain.assay"
check "sites that one of them lacks" grep -q 'parse_row (a.out).* only A' "$tmp/out"
exits 0 "the same as JSON" "$assay" diff --json "$tmp/leak.assay" "$tmp/plain.assay"
check "sites, GEMM calls and processes are there" "$python" - "$tmp/out" <<'PY'
import json, sys
program = json.load(open(sys.argv[1]))["program"]
site = next(s for s in program["sites"] if s["name"].startswith("parse_row"))
assert site["peak_live_bytes"][1] is None and site["peak_live_bytes"][0] > 0, site
assert any(p["name"].startswith("cblas_sgemm") and len(p["time_ns"]) == 2 for p in program["products"])
assert all(len(p["cpu_ns"]) == 2 for p in program["processes"]) and program["processes"]
PY
exits 0 "the classic text" "$assay" report --classic "$tmp/leak.assay"
check "it has the program's own verdict" grep -q 'leak: memory keeps growing and is not freed' "$tmp/out"
check "it says that nothing was marked" grep -q 'No layers were marked' "$tmp/out"
if grep -q 'potential leak' "$tmp/out"; then
    fail "the classic text counts no windows of a program's start"
fi
exits 1 "growth that stays" "$assay" report --fail-on-leak "$tmp/leak.assay"
exits 0 "the summary of a program" "$assay" report --section summary "$tmp/leak.assay"
check "it has the program's figures" grep -q 'CPU utilization' "$tmp/out"

for section in program processes heap products memory leaks bottlenecks; do
    exits 0 "section $section" "$assay" report --section $section "$tmp/leak.assay"
    check "section $section is not empty" test -s "$tmp/out"
    exits 0 "section $section of another run" "$assay" report --section $section "$tmp/layers.assay"
done
exits 0 "a run of another kind has no heap" "$assay" report --section heap "$tmp/layers.assay"
check "and says so" grep -q "only runs of 'assay run'" "$tmp/out"
exits 0 "another page shows nothing of a program" "$assay" report "$tmp/layers.assay"
check "no such heading" sh -c "! grep -qE '^(Program|Heap|Processes)' '$tmp/out'"

for columns in 80 160; do
    for run in leak plain short hostile many; do
        COLUMNS=$columns "$assay" report "$tmp/$run.assay" >"$tmp/page"
        check "$run fits in $columns columns" "$python" - "$tmp/page" $columns <<'PY'
import sys
for line in open(sys.argv[1], encoding="utf-8", newline="\n"):
    line = line.rstrip("\n")
    assert line.isprintable() or not line, line
    assert len(line) <= int(sys.argv[2]), (len(line), line)
PY
    done
done
COLUMNS=80 "$assay" report --section products "$tmp/leak.assay" >"$tmp/page"
check "products keep their type and calls in 80 columns" grep -qE '^function +type +shape +calls +time ' "$tmp/page"
COLUMNS=80 "$assay" report --glyphs ascii --color always "$tmp/hostile.assay" >"$tmp/page"
check "ASCII alone, but for colour" sh -c "! sed 's/\x1b\[[0-9;]*m//g' '$tmp/page' | LC_ALL=C grep -q '[^ -~]'"
"$assay" report --format=markdown "$tmp/hostile.assay" >"$tmp/page"
check "no markup of the program's reaches Markdown" sh -c "! grep -q '[^\\\\]<script' '$tmp/page'"
check "a table stands apart from the list above it" "$python" - "$tmp/page" <<'PY'
import sys
last = ""
for line in open(sys.argv[1], encoding="utf-8"):
    assert not (line.startswith("|") and last.startswith("- ")), line
    last = line
PY

check "JSON and CSV say what was recorded" "$python" "$here/check_program_json.py" "$assay" "$tmp"
check "no control character reaches a CSV file" sh -c "! LC_ALL=C grep -l '[[:cntrl:]]' '$tmp'/csv-hostile/*.csv"
exits 1 "--fail-on-leak on a leak" "$assay" report --fail-on-leak "$tmp/leak.assay"
exits 0 "--fail-on-leak without one" "$assay" report --fail-on-leak "$tmp/plain.assay"
head -c 3000 "$tmp/leak.assay" >"$tmp/cut.assay"
exits 0 "a run cut before it tells" "$assay" report "$tmp/cut.assay"
finish
