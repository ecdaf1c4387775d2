#!/bin/sh
# `assay bench --workload attention`: a small grid end to end, the same witness however it is computed, going on after
# kill -9, and what is refused. usage: test_bench.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
judge="$python $here/check_bench.py"
small="--workload attention --iterations 6 --short-max-len 24 --long-min-len 30 --long-max-len 60 --steps 3 --head-dim 16"

# A grid from end to end. Criteria that are missed make status 1.
"$assay" bench $small --threads 1 --output-dir a >out 2>err
status=$?
[ $status = 0 ] || [ $status = 1 ] || fail "a small grid: status $status: $(cat err)"
check "files, figures, sums and hashes agree" $judge a 6
grep -qx 'saved: a (results.json, summary.md, csv/, figs/, witness/)' err || fail "where it is saved is not said: $(cat err)"
grep -q 'mincut_l0.7_t2' out || fail "the table has no row for every setting"
grep -q 'Success criteria' out || fail "the criteria are not shown"
grep -q 'Energy is unknown: no source of power' out || fail "why energy is unknown is not said"
met=$("$python" -c 'import json; print(json.load(open("a/results.json"))["settings_that_meet_the_criteria"])')
[ "$status" = "$([ "$met" = 0 ] && echo 1 || echo 0)" ] || fail "status $status with $met settings that meet the criteria"

# The same decisions on two threads, with another kind of mask in the file, and on every build: the head is pinned.
"$assay" bench $small --threads 2 --masks hash --quiet --output-dir b >out 2>err
[ ! -s err ] || fail "--quiet is not quiet: $(cat err)"
check "two threads leave the same witness as one" $judge same a b
"$python" - >heads <<'PY'
import sys
sys.path.insert(0, "")
import json
for name in ("mincut_l0.3_t0", "mincut_l0.7_t2"):
    print(name, json.loads(open(f"a/witness/{name}.jsonl").readlines()[-1])["head"])
PY
same bench_heads.txt "every build decides alike" <heads

# Verifying, computing it again, and finding what was changed.
cp a/csv/results.csv results.before
sed -i '$d' a/csv/results.csv
exits 1 "a table that was changed" "$assay" verify a
grep -q 'results.csv: it was changed' "$tmp/out" || fail "which table is not said: $(cat "$tmp/out")"
cp results.before a/csv/results.csv
mv a/csv/summary.csv.meta.json kept.json
exits 1 "a table without its hash" "$assay" verify --json a
"$python" -c 'import json; t = {f["name"]: f for f in json.load(open("out"))["files"]}["summary.csv"]; assert t["rows"] is None and not t["whole"]' ||
    fail "what nobody reports is not null"
mv kept.json a/csv/summary.csv.meta.json
exits 0 "the folder is whole" "$assay" verify a
exits 0 "every decision comes out the same again" "$assay" verify --replay a
exits 0 "so does one witness" "$assay" verify --replay a/witness/mincut_l0.5_t2.jsonl
exits 0 "the bundle is whole" "$assay" bundle verify a/witness/witness.rvf
# A bundle brings its plan, wherever it is; a witness is held against the plan beside it, and no other file is.
mkdir -p alone other/witness && cp a/witness/witness.rvf alone/copied.rvf
exits 0 "a bundle alone comes out the same again" "$assay" verify --json --replay alone/copied.rvf
"$python" -c 'import json; r = json.load(open("out"))["replay"]; assert r["same"] and r["entries"] == 36, r' ||
    fail "what was computed again is not in the JSON: $(cat out)"
"$assay" bench $small --seed 7 --threads 1 --quiet --output-dir seven >out 2>err
cp a/journal.jsonl other/ && cp seven/witness/mincut_l0.3_t0.jsonl other/witness/
exits 1 "a witness of another seed" "$assay" verify --replay other/witness/mincut_l0.3_t0.jsonl
grep -q 'is of another' out || fail "what differs is not said: $(cat out)"
"$assay" bundle extract a/witness/witness.rvf -C parts >/dev/null 2>&1
"$python" -c 'import json; json.dump(json.load(open("parts/segment-1-metadata.json"))["meta"], open("meta.json", "w"))'
cp b/witness/mincut_l0.5_t2.jsonl alone/
check "a witness is forged" $judge forge alone/mincut_l0.5_t2.jsonl cut_cost=3.5
exits 0 "and packed" "$assay" bundle pack --meta meta.json -o alone/forged.rvf alone/mincut_l0.5_t2.jsonl
exits 3 "onto a bundle that is there" "$assay" bundle pack -o alone/forged.rvf alone/mincut_l0.5_t2.jsonl
says "--force replaces it"
exits 2 "onto its own witness" "$assay" bundle pack --force -o alone/mincut_l0.5_t2.jsonl alone/mincut_l0.5_t2.jsonl
says "is one of the witnesses to pack"
exits 0 "which is whole" "$assay" verify alone/forged.rvf
exits 1 "but does not come out so" "$assay" verify --replay alone/forged.rvf
"$assay" bench $small --threads 1 --quiet --against seven --output-dir against7 >out 2>err
grep -q 'differs in' against7/summary.md || fail "what another machine has otherwise is not said"
rm seven/witness/mincut_l0.7_t2.jsonl
exits 2 "held against half a folder" "$assay" bench $small --threads 1 --against seven --output-dir half
says "has no witness of mincut_l0.7_t2"
check "nothing was measured" test ! -e half
cp -r a forged
sed -i '2s/"seq_len":[0-9]*/"seq_len":7/' forged/witness/mincut_l0.5_t2.jsonl
exits 1 "a forged line is found" "$assay" verify forged
exits 1 "in the file itself too" "$assay" verify forged/witness/mincut_l0.5_t2.jsonl
# Forged with every hash made to fit: the file is whole, and only computing it again tells.
for change in sample lambda=0.9 tau=7 eps=0.5 seq_len=999 mask_kept=1 cut_cost=3.5; do
    rm -rf fit && cp -r b fit && rm fit/witness/witness.rvf
    check "forging $change" $judge forge fit/witness/mincut_l0.5_t2.jsonl "$change"
    exits 0 "a witness with $change is whole" "$assay" verify fit/witness/mincut_l0.5_t2.jsonl
    exits 1 "but does not come out so: $change" "$assay" verify --replay fit/witness/mincut_l0.5_t2.jsonl
done
cp -r a swapped
{ sed -n 2p a/witness/mincut_l0.3_t0.jsonl; sed -n 1p a/witness/mincut_l0.3_t0.jsonl; sed -n '3,$p' a/witness/mincut_l0.3_t0.jsonl; } >swapped/witness/mincut_l0.3_t0.jsonl
exits 1 "lines out of order are found" "$assay" verify swapped
"$assay" bench $small --threads 1 --quiet --against forged --output-dir against >out 2>err
"$python" -c '
import json
v = {s["setting"]: s["criteria"]["witness"] for s in json.load(open("against/results.json"))["settings"] if not s["baseline"]}
assert v.pop("mincut_l0.5_t2") == "missed" and set(v.values()) == {"met"}, v' || fail "a run held against a forged one"

# Killed, and gone on with.
check "killed in the middle" $judge kill "$assay" k 17 $small --threads 1
before=$(grep -c . k/journal.jsonl)
"$assay" bench $small --threads 1 --resume --output-dir k >out 2>err
grep -q "resuming k: [1-9][0-9]* of 42 samples are done" err || fail "what was there is not told: $(cat err)"
[ "$(grep -c . k/journal.jsonl)" = 43 ] || fail "samples were repeated: $(grep -c . k/journal.jsonl) lines, $before before"
check "the files of a resumed run agree" $judge k 6
check "and its witness is that of a run in one piece" $judge same a k
cp k/journal.jsonl whole
"$assay" bench $small --threads 1 --resume --quiet --output-dir k >out 2>err
status=$?
[ $status = 0 ] || [ $status = 1 ] || fail "resuming a finished run: status $status: $(cat err)"
cmp -s k/journal.jsonl whole || fail "a finished run is not measured again"
exits 0 "and its folder is intact" "$assay" verify k

# A signature is not lost by resumingout the key.
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null && openssl pkey -in key.pem -pubout -out public.pem 2>/dev/null
"$assay" bench $small --lambda 0.5 --tau 2 --threads 1 --quiet --sign-key key.pem --output-dir signed >out 2>err
"$assay" bench $small --lambda 0.5 --tau 2 --threads 1 --quiet --resume --output-dir signed >out 2>err
exits 0 "it is still signed" "$assay" verify --public-key public.pem signed/witness/witness.rvf
exits 0 "with all its files" "$assay" verify --public-key public.pem signed

# A source of power, GQA, causal, exact gating.
"$assay" bench $small --threads 1 --power constant:75W --heads 4 --kv-heads 2 --causal --gating exact --lambda 0.5 --tau 2 --quiet --output-dir p >out 2>err
check "energy, heads and causal masks agree" $judge p 6
[ "$(wc -l <p/csv/power.csv)" -gt 20 ] || fail "the readings of power are not there"
grep -q 'the given watts' out || fail "that watts were told is not said"
cp p/csv/power.csv power.before
"$assay" bench $small --threads 1 --power constant:75W --heads 4 --kv-heads 2 --causal --gating exact --lambda 0.5 --tau 2 --quiet --resume --output-dir p >out 2>err
cmp -s p/csv/power.csv power.before || fail "resuming a finished run changes its readings of power"
exits 0 "and come out the same again" "$assay" verify --replay p

# What is refused.
exits 3 "a folder with an experiment in it" "$assay" bench $small --output-dir a
says "--resume continues it"
"$assay" bench $small --seed 9007199254740992 --lambda 0.5 --tau 0 --threads 1 --quiet --output-dir big >out 2>err
exits 3 "a seed that differs in its last digit" "$assay" bench $small --seed 9007199254740993 --lambda 0.5 --tau 0 --threads 1 --resume --output-dir big
says "another value of seed"
exits 3 "another plan" "$assay" bench $small --seed 43 --threads 1 --resume --output-dir a
says "another value of seed"
cp a/journal.jsonl journal.before
sed -i '3s/wall_ns":[0-9]*/wall_ns":1/' a/journal.jsonl
exits 3 "a journal that was changed" "$assay" bench $small --threads 1 --resume --output-dir a
says "line 3 is damaged"
cp journal.before a/journal.jsonl
echo text >file
exits 3 "a file in the way" "$assay" bench $small --output-dir file
says "is a file"
exits 3 "a folder below a file" "$assay" bench $small --output-dir file/x
mkdir -p mine/csv && echo words >mine/csv/own
exits 3 "somebody's files in the way" "$assay" bench $small --output-dir mine
says "would be overwritten"
check "they stay" grep -q words mine/csv/own
exits 2 "an empty list" "$assay" bench $small --lambda "" --output-dir new
says "--lambda needs at least one number"
exits 2 "a negative lambda" "$assay" bench $small --lambda "-0.5" --output-dir new
says "lambda is a number from 0 to 1"
exits 2 "lambda that is no number" "$assay" bench $small --lambda "nan" --output-dir new
says "--lambda is a list of numbers"
exits 2 "half a tau" "$assay" bench $small --tau 1.5 --output-dir new
says "tau is a whole number"
exits 2 "eps of 0" "$assay" bench $small --eps 0 --output-dir new
says "eps is from"
exits 2 "infinite eps" "$assay" bench $small --eps inf --output-dir new
says "--eps is a number"
exits 2 "an unknown option" "$assay" bench --lamda 0.5
says "did you mean --lambda?"
exits 2 "an unknown source of power" "$assay" bench $small --power meter:1 --output-dir new
exits 2 "heads that cannot be shared" "$assay" bench $small --heads 3 --kv-heads 2 --output-dir new
says "3 heads"
exits 2 "the same lambda twice" "$assay" bench $small --lambda "0.3 0.30000000001" --output-dir new
says "is given twice"
exits 2 "a folder to hold against that is none" "$assay" bench $small --against nowhere --output-dir new
says "has no folder witness"
exits 2 "a run held against itself" "$assay" bench $small --threads 1 --resume --against a --output-dir a
says "the folder itself"
exits 2 "a key that is not there" "$assay" bench $small --sign-key nowhere.pem --output-dir new
says "cannot read --sign-key"
exits 2 "masks that fit no line" "$assay" bench $small --long-max-len 16384 --masks full --output-dir new
says "--masks hash"
exits 2 "options of another workload" "$assay" bench --lambda 0.5 --output-dir new -- true
says "--lambda is for --workload attention"
exits 2 "lengths the wrong way round" "$assay" bench $small --short-min-len 99 --output-dir new
exits 2 "nothing to measure" "$assay" bench
says "name what to measure"
check "nothing was begun" test ! -e new
exits 0 "a dry run" "$assay" bench $small --dry-run --output-dir new
grep -q '^7 settings, 6 samples each' out || fail "the dry run says: $(cat out)"
check "does nothing" test ! -e new
"$assay" bench $small --seed 43 --threads 1 --force --quiet --output-dir a >out 2>err
check "--force begins anew" $judge a 6
echo mine >a/witness/mine.jsonl
"$assay" bench $small --lambda 0.5 --tau 0 --threads 1 --force --quiet --output-dir a >out 2>err
check "and removes what the older run left" test ! -e a/witness/mincut_l0.3_t0.jsonl -a ! -e a/csv/mincut_l0.3_t0.csv
check "but nobody else's files" grep -q mine a/witness/mine.jsonl
rm a/witness/mine.jsonl
mkfifo fifo && mkdir pipe && mv fifo pipe/journal.jsonl
exits 3 "a journal that is a pipe" "$assay" bench $small --resume --output-dir pipe

# The loop in C.
mkdir loop
exits 0 "the example" "$build/examples/attention" -o loop --iterations 40
for file in results memory power softmax mincut; do
    check "$file.csv of the example" test -s "loop/$file.csv"
done
grep -q '^mincut   p50 ' out || fail "the example says: $(cat out)"
exits 0 "its witness is whole" "$assay" verify loop/witness.jsonl
check "its results have the documented columns" grep -q '^setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy$' loop/results.csv
exits 3 "a witness is never written over" "$build/examples/attention" -o loop --iterations 2
finish
