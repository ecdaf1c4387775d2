#!/bin/sh
# The example records a real network, the report names its layers, and wrong use is told.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_basic: $1" >&2; exit 1; }

"$build/examples/basic" -o "$work/run.assay" --iterations 20 >"$work/out"
grep -q '^20 inferences' "$work/out" || fail 'it did not say what it did'
[ ! -e "$work/run.assay.ring" ] || fail 'a closed run left its ring'
"$build/assay" report "$work/run.assay" --json >"$work/report.json"
/usr/bin/python3 - "$work/report.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
layers = {l["name"]: l for l in r["layers"]}
want = ["conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "dense1", "relu3", "dense2", "load image"]
assert sorted(layers) == sorted(want), sorted(layers)
assert all(l["calls"] == 20 and l["failed"] == 0 for l in layers.values())
assert layers["conv2"]["op"] == "conv2d"
assert abs(sum(l["share"] for l in layers.values()) - 1) < 1e-6
PY
"$build/assay" verify "$work/run.assay" >/dev/null || fail 'the run is not whole'

# A second run keeps the first.
"$build/examples/basic" -o "$work/run.assay" --iterations 5 >/dev/null
"$build/assay" verify "$work/run.assay.old" >/dev/null || fail 'the older run was not kept'

status() { set +e; "$@" >"$work/out" 2>"$work/err"; code=$?; set -e; }
status "$build/examples/basic" --iterations 0
[ "$code" -eq 2 ] || fail "zero iterations ended with $code"
status "$build/examples/basic" -o /dev/full
[ "$code" -eq 3 ] && grep -q /dev/full "$work/err" || fail "/dev/full ended with $code"
status "$build/examples/basic" -o "$work/missing/run.assay"
[ "$code" -eq 0 ] && [ -s "$work/missing/run.assay" ] || fail "a missing folder ended with $code"
echo text >"$work/notes.txt"
status "$build/examples/basic" -o "$work/notes.txt/run.assay"
[ "$code" -eq 3 ] && grep -q notes.txt/run.assay "$work/err" || fail "a folder that is a file ended with $code"
status "$build/examples/basic" -o "$work/notes.txt"
[ "$code" -eq 3 ] && [ "$(cat "$work/notes.txt")" = text ] || fail 'a file that is no run was touched'
