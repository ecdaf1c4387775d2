#!/bin/sh
# The short examples run, and print what their first lines promise. usage: test_examples.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
exits 0 'the manager prints its page and keeps its run' "$build/examples/manager"
grep -q '^dense ' "$tmp/out" || fail "no layer on the page: $(cat "$tmp/out")"
if grep -qi 'nan' "$tmp/out"; then fail "a number that is not known is printed as NaN: $(cat "$tmp/out")"; fi
cp "$tmp/out" "$tmp/printed"
exits 0 'the run is reported' "$build/assay" report manager.assay --width 80 --glyphs ascii
grep -q '^dense ' "$tmp/out" || fail 'the saved run has no such layer'
# One page, whoever prints it: only the name above it is that of a file or of the program, and the kernel's peak is that
# of the moment, which making the first page may have raised.
tail -n +3 "$tmp/printed" | grep -v '^the kernel saw' >"$tmp/a"
tail -n +3 "$tmp/out" | grep -v '^the kernel saw' >"$tmp/b"
cmp -s "$tmp/a" "$tmp/b" || fail "the printed page differs from the report: $(diff "$tmp/a" "$tmp/b")"
exits 0 'backends are compared' "$build/examples/compare"
grep -qE '^fastest: by (rows|columns)$' "$tmp/out" || fail "no backend is the fastest: $(cat "$tmp/out")"
grep -qE '^feed_forward by (rows|columns) is [0-9.]+ times as fast$' "$tmp/out" || fail "no layer is compared: $(cat "$tmp/out")"
exits 0 'ranks are compared' "$build/examples/distributed"
grep -qx 'slowest rank3, fastest rank2, imbalance 38 %' "$tmp/out" || fail "the slow rank is not named: $(cat "$tmp/out")"
grep -qx 'communication 8.6 %, synchronization 34.4 % of the time of the ranks' "$tmp/out" || fail "$(cat "$tmp/out")"
# Basic profiling, error handling included, is 15 lines of code at most.
lines=$(awk '/^int main/,/^}/' "$here/../../examples/manager/manager.c" | grep -vc '^[{} ]*$')
[ "$lines" -le 15 ] || fail "basic profiling takes $lines lines"
finish
