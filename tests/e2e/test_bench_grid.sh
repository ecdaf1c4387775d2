#!/bin/sh
# `assay bench` over grids of commands and of models. usage: test_bench_grid.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# Commands.
exits 0 "a grid of commands" "$assay" bench --grid n=1,2 --grid word=a,b --samples 4 --outputs --output-dir c -- sh -c 'echo {n}{word} >>log; echo same'
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
rows = list(csv.reader(open("c/csv/n=2,word=b.csv")))
assert rows[0] == "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j".split(",") and len(rows) == 5
assert all(r[1] == "" and r[4] == "" for r in rows[1:])
PY
exits 0 "another baseline" "$assay" bench --grid n=1,2 --baseline n=2 --samples 2 --json --output-dir d -- sh -c 'head -c {n}0000000 /dev/zero | cat >/dev/null; exit 0'
"$python" -c 'import json; s = json.load(open("out"))["settings"]; assert s[1]["baseline"] and not s[0]["baseline"]; assert s[0]["time_ratio"]["value"] > 0' || fail "the baseline that was chosen"
exits 1 "a setting that fails" "$assay" bench --grid n=0,3 --samples 3 --output-dir e -- sh -c 'echo the reason >&2; exit {n}'
grep -q 'n=3 failed: sh ended with status 3: the reason' out || fail "why it failed is not said: $(cat out)"
[ "$(wc -l <e/csv/baseline.csv)" = 4 ] || fail "the others go on"
exits 0 "a status that is none of our business" "$assay" bench --grid n=0,3 --samples 2 --ignore-failure --output-dir f -- sh -c 'exit {n}'
exits 1 "a command killed by a signal" "$assay" bench --samples 2 --output-dir g -- sh -c 'kill -9 $$'
grep -q 'ended by signal 9' out || fail "the signal is not told: $(cat out)"
exits 1 "a command that is not there" "$assay" bench --samples 2 --output-dir h -- ./not-there
grep -q 'cannot run ./not-there' out || fail "what cannot be run is not told: $(cat out)"
exits 0 "children that nobody hears of" "$python" -c 'import signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); import os; os.execv(sys.argv[1], sys.argv[1:])' "$assay" bench --samples 2 --output-dir i -- true

# Wrong use.
exits 2 "an axis that the command does not use" "$assay" bench --grid n=1,2 --output-dir new -- echo words
says "{n} stands nowhere in the command"
exits 2 "a name that is no axis" "$assay" bench --grid n=1 --output-dir new -- echo {n} {m}
says "{m} is no axis of the grid"
exits 2 "a grid without values" "$assay" bench --grid n= --output-dir new -- echo {n}
says "empty value"
exits 2 "a baseline that is none" "$assay" bench --grid n=1,2 --baseline n=3 --output-dir new -- echo {n}
says "'n=3' is no axis and value"
exits 2 "a command without --" "$assay" bench --output-dir new sort
says "a command stands behind --"
exits 2 "an axis for a model that is none" "$assay" bench zoo:mlp --grid threads=0 --output-dir new
check "nothing was begun but the folder of the last" test ! -e new/results.json

# --force leaves nothing of the older experiment.
exits 0 "values that are no file names" "$assay" bench --grid 'a=x/y,../z' --samples 2 --power constant:5W --output-dir forced -- echo {a}
check "have files" sh -c "ls forced/csv/1_a=.._z.csv forced/csv/power.csv"
exits 0 "begun anew" "$assay" bench --grid b=1,2 --samples 2 --force --output-dir forced -- echo {b}
check "nothing of the older one stays" sh -c "! ls forced/csv | grep -E 'a=|power'"
for table in forced/csv/*.csv; do
    check "$table is stamped" test -s "$table.meta.json"
done
cp forced/csv/results.csv results.before
sed -i '$d' forced/csv/results.csv
exits 1 "a table that was changed" "$assay" verify forced
grep -q 'results.csv: it is not what was written' out || fail "which table is not said: $(cat out)"
cp results.before forced/csv/results.csv
mv forced/csv/summary.csv.meta.json kept.json
exits 1 "a table without its hash" "$assay" verify --json forced
"$python" -c 'import json; t = {f["name"]: f for f in json.load(open("out"))["files"]}["summary.csv"]; assert t["rows"] is None and not t["whole"]' ||
    fail "what nobody tells is not null"
mv kept.json forced/csv/summary.csv.meta.json
exits 0 "and put back" "$assay" verify forced
exits 1 "a command that tells where help is" "$assay" bench --samples 1 --output-dir help -- sleep 1nothing
grep -q 'invalid time interval' out || fail "the reason is not told: $(cat out)"
exits 1 "the baseline fails" "$assay" bench --grid c=false,true --samples 2 --output-dir bf -- {c}
check "and nothing is compared with it" sh -c "! grep -q 'faster than' out"

# What ends us ends the command.
"$assay" bench --samples 3 --output-dir ended -- sh -c 'echo $$ >command.pid; exec sleep 300' >out 2>err &
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
check "killed in the middle" "$python" "$here/check_bench.py" kill "$assay" k 9 --grid n=1,2,3 --samples 200 -- sh -c 'echo {n} >>runs'
exits 0 "gone on with" "$assay" bench --grid n=1,2,3 --samples 200 --resume --output-dir k -- sh -c 'echo {n} >>runs'
[ "$(wc -l <k/csv/baseline.csv)" = 201 ] || fail "not every sample is there"
[ "$(wc -l <runs)" -le 607 ] || fail "$(wc -l <runs) runs for 600 samples, two warm-ups and the one that was killed"

# Two at once.
"$assay" bench --samples 1 --warmup 0 --output-dir w -- sh -c 'while [ ! -e go ]; do :; done' >/dev/null 2>&1 &
one=$!
while [ ! -s w/journal.jsonl ]; do :; done
exits 3 "--force while it runs" "$assay" bench --samples 1 --force --output-dir w -- true
says "another process is writing"
touch go
wait $one || fail "the first one goes on"

# Models.
exits 0 "a grid of a model" "$assay" bench zoo:mlp --grid threads=1,2 --grid batch=1,4 --samples 5 --output-dir m
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
    return [int(row["wall_time_ns"]) for row in csv.DictReader(open(f"m/csv/{name}.details.csv"))]
logs = [math.log(b / 4 / a) for a, b in zip(walls("baseline"), walls("threads=1,batch=4"))]
assert abs(four["time_ratio"]["value"] / math.exp(sum(logs) / len(logs)) - 1) < 1e-9
PY
"$python" -c 'import ctypes; ctypes.CDLL("libdnnl.so.2")' 2>/dev/null &&
    check "the library of the engine is in the fingerprint" grep -q '"library_onednn":"[0-9]' m/fingerprint.json
[ -s m/figs/axis.svg ] || fail "no figure along the axis"
exits 0 "keys of a built-in model" "$assay" bench zoo:mlp --grid hidden=16,64 --grid kernels=auto,reference --grid fuse=0,1 --samples 2 --output-dir n
exits 0 "threads of our own kernels" "$assay" bench zoo:mlp --grid kernels=reference --grid threads=1,2 --samples 2 --output-dir r
"$python" -c 'import json; a, b = json.load(open("r/results.json"))["settings"]; assert a["peak_mem_bytes"] == b["peak_mem_bytes"] > 0' ||
    fail "planned memory depends on the thread count"
exits 2 "a key that is none" "$assay" bench zoo:mlp --grid nosuch=1,2 --samples 2 --output-dir o
check "which leaves no folder" test ! -e o
"$assay" zoo mlp:hidden=16 -o m.onnx >/dev/null 2>&1
exits 0 "a model file" "$assay" bench m.onnx --samples 3 --json --output-dir x1
cp out x1.json
mkdir -p elsewhere && cp m.onnx elsewhere/other.onnx
exits 0 "the same file elsewhere" "$assay" bench elsewhere/other.onnx --samples 3 --json --output-dir x3
"$python" -c 'import json; assert json.load(open("x1.json"))["experiment_hash"] == json.load(open("out"))["experiment_hash"]' ||
    fail "where a model lies decides its hash"
"$assay" zoo mlp:hidden=32 -o m2.onnx >/dev/null 2>&1 && mv m2.onnx m.onnx
exits 3 "another model of the same name is another experiment" "$assay" bench m.onnx --samples 3 --resume --output-dir x1
says "another value of model_sha256"
exits 0 "measured apart" "$assay" bench m.onnx --samples 3 --json --output-dir x2
"$python" -c 'import json; assert json.load(open("x1.json"))["experiment_hash"] != json.load(open("out"))["experiment_hash"]' || fail "two models have one hash"
exits 3 "a model that is not there" "$assay" bench nowhere.onnx --grid threads=1 --samples 2 --output-dir q
finish
