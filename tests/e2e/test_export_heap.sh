# tests/e2e/test_export_heap.sh - heap stacks of `assay run` as folded stacks, for speedscope and for pprof: the same bytes in
# each, and never an empty file.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

cat >keep.py <<'PY'
kept = [bytearray(1_000_000) for i in range(40)]
for i in range(40):
    bytearray(1_000_000)
import os
os._exit(0)
PY
exits 0 "a program" "$assay" run -q -o r.assay -- "$python" keep.py
"$assay" report --json -q r.assay >r.json || fail "its report"
[ "$("$python" -c 'import json; print(bool(json.load(open("r.json"))["program"]["heap"]))')" = True ] ||
    { echo 'skipped: the heap cannot be watched here'; exit 77; }
for to in folded speedscope pprof; do exits 0 "export to $to" "$assay" export -q --to $to r.assay -o out.$to; done
exits 0 "what was live" "$assay" export -q --to folded --heap live r.assay -o live.folded
check "all say the same" "$python" "$here/check_export_heap.py" r.json out.folded out.speedscope out.pprof live.folded
exits 0 "a flame graph" "$assay" export -q --to flamegraph r.assay -o r.svg
check "shows the same stacks" "$python" "$here/check_flame_graph.py" r.svg r.json
exits 0 "of what was live" "$assay" export -q --to flamegraph --heap live r.assay -o live.svg
check "is a picture too" "$python" "$here/check_flame_graph.py" live.svg
exits 0 "a small one" "$assay" export -q --to flamegraph --max-size 8k r.assay -o small.svg
check "is whole" "$python" "$here/check_flame_graph.py" small.svg
check "and small" [ "$(wc -c <small.svg)" -le 8192 ]
exits 3 "one without any frame" "$assay" export -q --to flamegraph --max-size 100 r.assay -o no.svg
says "does not fit into 100 bytes"
check "is no file" [ ! -e no.svg ]
if command -v protoc >/dev/null; then check "pprof is a protobuf" sh -c 'protoc --decode_raw <out.pprof >raw && [ -s raw ]'; fi

exits 0 "a run without a heap" "$assay" run -q --no-heap -o n.assay -- true
exits 3 "has no stacks" "$assay" export --to folded n.assay -o n.folded
says "no stacks of allocations"
check "and no file is made" [ ! -e n.folded ]
"$make_run" t.assay nested >/dev/null 2>&1
exits 3 "a trace has no heap" "$assay" export --to pprof t.assay
says "'assay run' records them"
exits 0 "spans" "$assay" export -q --to flamegraph t.assay -o t.svg
check "are drawn by their time" "$python" "$here/check_flame_graph.py" t.svg
grep -q 'Time by span' t.svg || fail "the picture of spans says so"
finish
