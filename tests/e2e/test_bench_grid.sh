#!/bin/sh
# `assay bench` over grids of commands and of models. usage: test_bench_grid.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# Commands.
exits 0 "a grid of commands" "$assay" bench --grid n=1,2 --grid word=a,b --iterations 4 --outputs --output-dir c -- sh -c 'echo {n}{word} >>log; echo same'
[ "$(sort log | uniq -c | tr -s ' ' | tr '\n' ';')" = " 5 1a; 5 1b; 5 2a; 5 2b;" ] || fail "each setting ran once to warm up and 4 times: $(sort log | uniq -c)"
[ "$(sort -u log | wc -l)" = 4 ] || fail "values were not filled in"
[ "$(sed -n '5,20p' log)" != "$(sed -n '5,8p' log; sed -n '5,8p' log; sed -n '5,8p' log; sed -n '5,8p' log)" ] || fail "the order never changes"
"$python" - <<'PY' || fail "the results of the commands"
import csv, json
r = json.load(open("c/results.json"))
assert r["workload"] == "command" and [s["setting"] for s in r["settings"]] == ["n=1,word=a", "n=1,word=b", "n=2,word=a", "n=2,word=b"]
assert r["settings"][0]["baseline"] and r["settings"][3]["values"] == {"n": "2", "word": "b"}
for s in r["settings"]:
    assert s["error"] is None and s["latency"]["samples"] == 4 and s["latency"]["median_ns"] > 0
    assert s["same_outputs"] is True and s["energy_j"]["value"] is None and s["kv_cache_reduction"]["value"] is None
rows = list(csv.DictReader(open("c/results.csv")))
assert [row["setting"] for row in rows] == [s["setting"] for s in r["settings"]]
assert all(float(row["median_ns"]) > 0 and row["energy_j"] == "" and row["samples"] == "4" for row in rows)
assert not {"lambda", "tau", "coherence_delta"} & set(rows[0])
PY
check "few files" test "$(ls c | tr '\n' ' ')" = "axis.svg fingerprint.json journal.jsonl latency.svg results.csv results.json run.assay summary.md "
grep -qx 'saved: c (results.json, summary.md, latency.svg)' err || fail "where it is saved is not said: $(cat err)"
grep -q -i 'energy' out && fail "energy is spoken of without a source"
for width in 60 80; do
    "$assay" report --width $width c/run.assay >out
    # Both ends of the interval, or none of them where too few samples carry one.
    grep -Eq '^n=2,word=b +[0-9.]+ +(-|[0-9.]+ - [0-9.]+) +' out || fail "an interval loses an end at $width: $(cat out)"
    grep -Eq 'x paired \([0-9.]+ - [0-9.]+\)' out || fail "the ratio at $width: $(cat out)"
done
exits 0 "another baseline" "$assay" bench --grid n=1,2 --baseline n=2 --iterations 2 --json --output-dir d -- sh -c 'head -c {n}0000000 /dev/zero | cat >/dev/null; exit 0'
"$python" -c 'import json; s = json.load(open("out"))["settings"]; assert s[1]["baseline"] and not s[0]["baseline"]; assert s[0]["time_ratio"]["value"] > 0' || fail "the baseline that was chosen"
exits 1 "a setting that fails" "$assay" bench --grid n=0,3 --iterations 3 --output-dir e -- sh -c 'echo the reason >&2; exit {n}'
grep -q 'n=3 failed: sh ended with status 3: the reason' out || fail "why it failed is not said: $(cat out)"
[ "$(grep -c '"setting":0' e/journal.jsonl)" = 3 ] || fail "the others go on"
exits 0 "a status that is none of our business" "$assay" bench --grid n=0,3 --iterations 2 --ignore-failure --output-dir f -- sh -c 'exit {n}'
exits 1 "a command killed by a signal" "$assay" bench --iterations 2 --output-dir g -- sh -c 'kill -9 $$'
grep -q 'ended by signal 9' out || fail "the signal is not told: $(cat out)"
exits 1 "a command that is not there" "$assay" bench --iterations 2 --output-dir h -- ./not-there
grep -q 'cannot run ./not-there' out || fail "what cannot be run is not told: $(cat out)"
exits 0 "children that nobody hears of" "$python" -c 'import signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); import os; os.execv(sys.argv[1], sys.argv[1:])' "$assay" bench --iterations 2 --output-dir i -- true

# Wrong use.
exits 2 "an axis that the command does not use" "$assay" bench --grid n=1,2 --output-dir new -- echo words
says "{n} does not occur in the command"
exits 2 "a name that is no axis" "$assay" bench --grid n=1 --output-dir new -- echo {n} {m}
says "{m} is not an axis of the grid"
exits 2 "a grid without values" "$assay" bench --grid n= --output-dir new -- echo {n}
says "empty value"
exits 2 "a baseline that is none" "$assay" bench --grid n=1,2 --baseline n=3 --output-dir new -- echo {n}
says "'n=3' is not an axis and value"
exits 2 "an axis for a model that is none" "$assay" bench zoo:mlp --grid threads=0 --output-dir new
check "nothing was begun but the folder of the last" test ! -e new/results.json

# --force leaves nothing of the older experiment.
exits 0 "values that are no file names" "$assay" bench --grid 'a=x/y,../z' --iterations 2 --power constant:5W --output-dir forced -- echo {a}
check "have files" sh -c "ls forced/results.csv forced/energy.svg"
exits 0 "begun anew" "$assay" bench --grid b=1,2 --iterations 2 --force --output-dir forced -- echo {b}
check "nothing of the older one stays" sh -c "! ls forced | grep -E 'energy'"
check "and the results are the new ones" grep -q b=2 forced/results.csv
exits 1 "a command that tells where help is" "$assay" bench --iterations 1 --output-dir help -- sleep 1nothing
grep -q 'invalid time interval' out || fail "the reason is not told: $(cat out)"
exits 1 "the baseline fails" "$assay" bench --grid c=false,true --iterations 2 --output-dir bf -- {c}
check "and nothing is compared with it" sh -c "! grep -q 'faster than' out"

# What ends us ends the command.
"$assay" bench --iterations 3 --output-dir ended -- sh -c 'echo $$ >command.pid; exec sleep 300' >out 2>err &
pid=$!
while [ ! -s command.pid ] && kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "SIGTERM ends assay bench: $(cat err)"
command=$(cat command.pid)
tries=0
while kill -0 "$command" 2>/dev/null && [ $tries -lt 1000 ]; do tries=$((tries + 1)); sleep 0.01; done
check "and the command with it" sh -c "! kill -0 $command 2>/dev/null"

# Going on after a kill.
check "killed in the middle" "$python" "$here/check_bench.py" kill "$assay" k 9 --grid n=1,2,3 --iterations 200 -- sh -c 'echo {n} >>runs'
exits 0 "gone on with" "$assay" bench --grid n=1,2,3 --iterations 200 --resume --output-dir k -- sh -c 'echo {n} >>runs'
[ "$(grep -c '"setting":0' k/journal.jsonl)" = 200 ] || fail "not every sample is there"
[ "$(wc -l <runs)" -le 607 ] || fail "$(wc -l <runs) runs for 600 samples, two warm-ups and the one that was killed"

# Two at once.
"$assay" bench --iterations 1 --warmup 0 --output-dir w -- sh -c 'while [ ! -e go ]; do :; done' >/dev/null 2>&1 &
one=$!
while [ ! -s w/journal.jsonl ]; do :; done
exits 3 "--force while it runs" "$assay" bench --iterations 1 --force --output-dir w -- true
says "another process is writing"
touch go
wait $one || fail "the first one goes on"

# Models.
exits 0 "a grid of a model" "$assay" bench zoo:mlp --grid threads=1,2 --grid batch=1,4 --iterations 5 --output-dir m
"$python" - <<'PY' || fail "the results of the model"
import csv, json, math
r = json.load(open("m/results.json"))
s = {x["setting"]: x for x in r["settings"]}
assert r["workload"] == "model" and len(s) == 4
one, four = s["threads=1,batch=1"], s["threads=1,batch=4"]
assert four["peak_mem_bytes"] > one["peak_mem_bytes"] > 0
# oneDNN's scratchpad may depend on the thread count, by ISA; the planned tensors may not (see below).
assert s["threads=2,batch=1"]["peak_mem_bytes"] > 0
# Four times the work: compared by the item, and outputs of another size by nothing.
assert r["compared_by"] == "item" and four["same_outputs"] is None and four["latency"]["items"] == 4
per_item = four["latency"]["median_ns_per_item"]
assert abs(per_item * 4 - four["latency"]["median_ns"]) < 1e-6 * per_item
assert abs(four["latency"]["items_per_second"] - 1e9 / per_item) < 1e-6 * four["latency"]["items_per_second"]
def walls(name):
    at = [x["setting"] for x in r["settings"]].index(name)
    lines = [json.loads(line) for line in open("m/journal.jsonl").readlines()[1:]]
    return [line["wall_ns"] for line in lines if line["setting"] == at]
logs = [math.log(b / 4 / a) for a, b in zip(walls("threads=1,batch=1"), walls("threads=1,batch=4"))]
assert abs(four["time_ratio"]["value"] / math.exp(sum(logs) / len(logs)) - 1) < 1e-9
PY
"$python" -c 'import ctypes; ctypes.CDLL("libdnnl.so.2")' 2>/dev/null &&
    check "the library of the engine is in the fingerprint" grep -q '"library_onednn":"[0-9]' m/fingerprint.json
[ -s m/axis.svg ] || fail "no figure along the axis"
exits 0 "keys of a built-in model" "$assay" bench zoo:mlp --grid hidden=16,64 --grid kernels=auto,reference --grid fuse=0,1 --iterations 2 --output-dir n
exits 0 "threads of our own kernels" "$assay" bench zoo:mlp --grid kernels=reference --grid threads=1,2 --iterations 2 --output-dir r
"$python" -c 'import json; a, b = json.load(open("r/results.json"))["settings"]; assert a["peak_mem_bytes"] == b["peak_mem_bytes"] > 0' ||
    fail "planned memory depends on the thread count"
exits 2 "a key that is none" "$assay" bench zoo:mlp --grid nosuch=1,2 --iterations 2 --output-dir o
check "which leaves no folder" test ! -e o
"$assay" zoo mlp:hidden=16 -o m.onnx >/dev/null 2>&1
exits 0 "a model file" "$assay" bench m.onnx --iterations 3 --json --output-dir x1
cp out x1.json
mkdir -p elsewhere && cp m.onnx elsewhere/other.onnx
exits 0 "the same file elsewhere" "$assay" bench elsewhere/other.onnx --iterations 3 --json --output-dir x3
"$python" -c 'import json; assert json.load(open("x1.json"))["experiment_hash"] == json.load(open("out"))["experiment_hash"]' ||
    fail "where a model lies decides its hash"
"$assay" zoo mlp:hidden=32 -o m2.onnx >/dev/null 2>&1 && mv m2.onnx m.onnx
exits 3 "another model of the same name is another experiment" "$assay" bench m.onnx --iterations 3 --resume --output-dir x1
says "another value of model_sha256"
exits 0 "measured apart" "$assay" bench m.onnx --iterations 3 --json --output-dir x2
"$python" -c 'import json; assert json.load(open("x1.json"))["experiment_hash"] != json.load(open("out"))["experiment_hash"]' || fail "two models have one hash"
exits 3 "a model that is not there" "$assay" bench nowhere.onnx --grid threads=1 --iterations 2 --output-dir q
finish
