#!/bin/sh
# The example that profiles itself: what it prints, and its session as strict JSON. usage: test_program.sh BUILD
. "$(dirname "$0")/lib.sh"
out=$tmp/not/there/yet/session.json
exits 0 'the program profiles itself' "$build/examples/program" -o "$out" --iterations 60
grep -qE '^trained to a loss of [0-9.]+; 11 layers, [0-9]+ calls, 6 failed, 2 threads$' "$tmp/out" || fail "the summary: $(cat "$tmp/out")"
grep -qE '^most time: ' "$tmp/out" || fail 'the layer with the most time is not told'
grep -qE '^profiling took [0-9.]+ % of the session$' "$tmp/out" || fail 'the cost is not told'
check 'the session is strict JSON and its figures agree' "$python" "$here/check_session.py" "$out" 60
check 'what was there is replaced whole' "$build/examples/program" -o "$out" --iterations 20
check 'and judged again' "$python" "$here/check_session.py" "$out" 20
[ "$(ls "$tmp/not/there/yet")" = session.json ] || fail "other files were left: $(ls "$tmp/not/there/yet")"
echo text >"$tmp/file"
exits 3 'a folder cannot be made below a file' "$build/examples/program" -o "$tmp/file/session.json" --iterations 2
exits 2 'wrong use is told' "$build/examples/program" --iterations
finish
