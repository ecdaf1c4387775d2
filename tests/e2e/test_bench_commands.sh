#!/bin/sh
# `assay bench 'cmd a' 'cmd b'`: commands and models side by side. usage: test_bench_commands.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
busy='i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'

# Two that differ by far: which is faster, by how much, and the same from the run.
exits 0 "two commands" "$assay" bench --iterations 7 -o ab.assay "$busy" "$busy; $busy; $busy"
grep -Eq "^command 1 is [0-9.]+x faster than command 2 [(]95 % CI [0-9.]+ - [0-9.]+[)]$" out || fail "which is faster is not said: $(cat out)"
grep -q 'to start the shell is subtracted' out || fail "what was subtracted is not said: $(cat out)"
[ "$(grep '^[12][.] i=0' out | head -1 | grep -c '^1.*baseline')" = 1 ] || fail "the fastest does not stand first: $(cat out)"
cp out page
exits 0 "its report" "$assay" report ab.assay
check "is the same page" cmp out page
exits 0 "as JSON" "$assay" report --json ab.assay
"$python" - <<'PY' || fail "the JSON of two commands"
import json
r = json.load(open("out"))
a, b = r["settings"]
assert r["workload"] == "commands" and a["baseline"] and not b["baseline"]
assert r["shell_subtracted"]["median_ns"] > 0
# Three times the work: far beyond any noise.
assert b["time_ratio"]["ci95_low"] > 1.2 and 1.5 < b["time_ratio"]["value"] < 6, b["time_ratio"]
assert a["latency"]["samples"] == 7 and a["latency"]["user_mean_ns"] > 0 and a["latency"]["system_mean_ns"] >= 0
assert a["latency"]["min_ns"] <= a["latency"]["median_ns"] <= a["latency"]["max_ns"]
PY
check "nothing is left behind without --output-dir" test "$(ls | sort | tr '\n' ' ')" = "ab.assay check.out err failures out page "

# What runs around them: setup and cleanup once per command, prepare before each sample and warm-up.
exits 0 "hooks" "$assay" bench --iterations 3 --warmup 1 --output-dir hooks --setup 'echo setup >>log' --prepare 'echo a >>log' --prepare 'echo b >>log' \
    --cleanup 'echo cleanup >>log' 'echo run-a >>log' 'echo run-b >>log'
[ "$(sort log | uniq -c | tr -s ' ' | tr '\n' ';')" = " 4 a; 4 b; 2 cleanup; 4 run-a; 4 run-b; 2 setup;" ] || fail "how often they ran: $(sort log | uniq -c)"
[ "$(head -2 log | tr '\n' ' ')$(tail -2 log | tr '\n' ' ')" = "setup setup cleanup cleanup " ] || fail "their order: $(cat log)"
[ "$(grep -A1 -x a log | grep -c run-a)" = 4 ] || fail "prepare does not stand before its own command: $(cat log)"
check "the folder has the files" test -s hooks/results.json -a -s hooks/run.assay
exits 3 "a folder that is taken" "$assay" bench --output-dir hooks true
says "--resume"

# Without a shell.
exits 0 "no shell" "$assay" bench -N --iterations 2 --outputs --json 'printf "%s" "a  b"' "printf 'a  b'"
"$python" -c 'import json; r = json.load(open("out")); assert r["settings"][1]["same_outputs"] is True and "shell_subtracted" not in r' ||
    fail "words in quotes are not taken apart as a shell does"
exits 0 "short ones are named in the sentence" "$assay" bench --iterations 4 'sleep 0.2' 'sleep 0.05'
grep -q "^'sleep 0.05' is [0-9.]*x faster than 'sleep 0.2' " out || fail "$(cat out)"
exits 0 "a command that does nothing" "$assay" bench --iterations 5 : ':;:'
grep -q 'not clearly slower than starting the shell' out || fail "the shell's own start is taken for the command: $(cat out)"
grep -q 'faster than' out && fail "noise is compared: $(cat out)"

# What fails.
exits 1 "a status other than 0" "$assay" bench --iterations 2 'exit 3' true
grep -q 'exit 3 failed: sh ended with status 3' out || fail "why is not said: $(cat out)"
exits 0 "that is ignored" "$assay" bench --iterations 2 --ignore-failure 'exit 3' true
exits 1 "a command that is not there" "$assay" bench --iterations 2 nosuchcommand-at-all true
grep -q 'status 127' out || fail "why is not said: $(cat out)"
exits 3 "a setup that fails" "$assay" bench --setup 'echo because >&2; false' true
says "--setup 'echo because >&2; false' ended with status 1: because"
exits 1 "a prepare that fails" "$assay" bench --iterations 2 --prepare false true
exits 2 "hooks for some" "$assay" bench --prepare a --prepare b 'a' 'b' 'c'
says "--prepare is given once for all commands or once for each of 3, not 2 times"
exits 2 "a model and a command" "$assay" bench zoo:mlp 'sleep 1'
says "'sleep 1' is not a model"
exits 2 "a grid" "$assay" bench --grid n=1,2 'echo {n}'
says "put that command after --"
exits 2 "an open quote" "$assay" bench -N "echo 'a"
says "a quote is not closed"
exits 2 "--no-shell elsewhere" "$assay" bench -N -- true
exits 2 "--resume without a folder" "$assay" bench --resume true
says "--output-dir DIR"

# Models, interleaved.
"$assay" zoo mlp:hidden=16 -o small.onnx >/dev/null 2>&1
"$assay" zoo mlp:hidden=512 -o large.onnx >/dev/null 2>&1
exits 0 "two models" "$assay" bench --iterations 20 --threads 1 --output-dir models --json small.onnx large.onnx
"$python" - <<'PY' || fail "the JSON of two models"
import json
r = json.load(open("out"))
a, b = r["settings"]
assert r["workload"] == "model" and [a["values"], b["values"]] == [{"model": "small.onnx"}, {"model": "large.onnx"}]
assert b["time_ratio"]["ci95_low"] > 1 and b["peak_mem_bytes"] > a["peak_mem_bytes"]
PY
exits 2 "the same model twice" "$assay" bench --output-dir new small.onnx small.onnx
finish
