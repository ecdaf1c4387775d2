# tests/e2e/test_diff_kinds.sh - `assay diff` of runs without layers and of models; `assay verify` of parts that are wrong.
. "$(dirname "$0")/lib.sh"
judge=$here/check_diff_kinds.py
export XDG_CACHE_HOME="$tmp/cache"

sweep_of() {
    "$assay" sweep --iterations 30 -t 1 -q "$1" --batch "$2" -o "$3" >/dev/null || exit 1
}
sweep_of zoo:mlp:hidden=32 1,2 "$tmp/small.assay"
sweep_of zoo:mlp:hidden=1024 1,2,4 "$tmp/large.assay"

# Sweeps: every setting, recomputed from the documents of both runs.
for run in small large; do
    "$assay" report --json "$tmp/$run.assay" >"$tmp/$run.json" || fail "report $run"
done
"$assay" diff --json "$tmp/small.assay" "$tmp/large.assay" >"$tmp/diff.json"
check "metrics of a sweep are those of its documents" "$python" "$judge" sweep "$tmp/diff.json" "$tmp/small.json" "$tmp/large.json"
"$assay" diff --json "$tmp/small.json" "$tmp/large.json" >"$tmp/documents.json"
check "documents compare as their runs do" "$python" "$judge" equal "$tmp/diff.json" "$tmp/documents.json"
exits 0 "a slower sweep" "$assay" diff --glyphs ascii --width 80 "$tmp/small.assay" "$tmp/large.assay"
check "is said to be slower" grep -Eq '^of 2 times tested B is slower in 2' "$tmp/out"
check "what one has alone is said" grep -Eq '^batch 4: latency p50 .*only in B$' "$tmp/out"
check "no line is longer than 80 columns" awk 'length > 80 {print; bad = 1} END {exit bad}' "$tmp/out"
exits 1 "slower than allowed" "$assay" diff --fail-slower 50 "$tmp/small.assay" "$tmp/large.assay"
exits 0 "faster is not slower" "$assay" diff --fail-slower 0 "$tmp/large.assay" "$tmp/small.assay"
exits 0 "the same run" "$assay" diff --fail-slower 0 "$tmp/small.assay" "$tmp/small.assay"
check "shows no difference" grep -q '^no significant difference in 2 times tested' "$tmp/out"
"$assay" diff --format=markdown "$tmp/small.assay" "$tmp/large.assay" >"$tmp/diff.md"
check "Markdown has whole tables" "$python" "$here/check_markdown.py" "$tmp/diff.md"

# Experiments: the second does ten times the work under the same names.
for steps in 2 20; do
    "$assay" bench --workload attention --iterations 12 --short-max-len 24 --long-min-len 30 --long-max-len 60 --head-dim 16 \
        --threads 1 --steps $steps -q --output-dir "$tmp/folder$steps" -o "$tmp/bench$steps.assay" >/dev/null
done
"$assay" diff --json "$tmp/bench2.assay" "$tmp/bench20.assay" >"$tmp/bench.json"
check "every setting of an experiment is tested" "$python" "$judge" bench "$tmp/bench.json" "$tmp/folder2" "$tmp/folder20"

# What assay machine measures.
"$assay" machine --quick -q -t 1 -o "$tmp/machine.assay" >/dev/null || exit 1
"$assay" machine --operations --size 32 -q -o "$tmp/operations.assay" >/dev/null || exit 1
"$assay" machine --overhead -q -o "$tmp/overhead.assay" >/dev/null || exit 1
for run in machine operations overhead; do
    exits 0 "one run of $run twice" "$assay" diff --json "$tmp/$run.assay" "$tmp/$run.assay"
    cp "$tmp/out" "$tmp/$run-same.json"
    check "nothing of $run changed" "$python" "$judge" same "$tmp/$run-same.json" $run
done
exits 3 "peaks have no samples to test" "$assay" diff --fail-slower 1 "$tmp/machine.assay" "$tmp/machine.assay"; says "--fail-slower needs"

# Kinds that do not go together.
"$make_run" "$tmp/steps.assay" steps || exit 1
exits 3 "two kinds" "$assay" diff "$tmp/small.assay" "$tmp/machine.assay"; says 'a run of kind "sweep" and one of kind "machine"'
exits 3 "layers and metrics" "$assay" diff "$tmp/steps.assay" "$tmp/small.assay"; says 'a run of kind "trace" and one of kind "sweep"'
exits 3 "a run and a model" "$assay" diff "$tmp/small.assay" zoo:mlp; says "zoo:mlp is not a run"
exits 3 "no model either" "$assay" diff "$here/lib.sh" zoo:mlp; says "lib.sh"
exits 2 "models take no time" "$assay" diff --fail-slower 1 zoo:mlp zoo:mlp; says "--fail-slower"

# Models, made and counted by python3-onnx and by assay inspect.
check "models are made" "$python" "$judge" make "$tmp"
exits 0 "two models" "$assay" diff --json "$tmp/a.onnx" "$tmp/b.onnx"
cp "$tmp/out" "$tmp/models.json"
for side in a b; do
    "$assay" inspect --json "$tmp/$side.onnx" >"$tmp/$side.inspect.json" || fail "inspect $side"
done
check "each change is found, and nothing else" "$python" "$judge" models "$tmp/models.json" "$tmp"
exits 0 "as a page" "$assay" diff --glyphs ascii --width 80 "$tmp/a.onnx" "$tmp/b.onnx"
check "the weight is named" grep -Eq '^conv\.weight .* changed +numbers' "$tmp/out"
check "the node is named" grep -Eq '^extra .* added' "$tmp/out"
exits 0 "a model and itself" "$assay" diff "$tmp/a.onnx" "$tmp/a.onnx"
check "have no difference" grep -q '^no difference in layers or weights' "$tmp/out"
exits 0 "built-in models" "$assay" diff --json zoo:mlp zoo:mlp:hidden=300
check "differ in layers and weights" "$python" "$judge" zoo "$tmp/out"

# Parts that only their kind can see to be wrong.
for what in missing_limit sample_of_none; do
    "$python" "$here/patch_run.py" $what "$tmp/small.assay" "$tmp/$what.assay" || fail "patch_run.py $what"
    exits 1 "a run with $what" "$assay" verify "$tmp/$what.assay"
    check "is not whole" grep -q ': not intact' "$tmp/out"
    exits 3 "it is not compared" "$assay" diff "$tmp/$what.assay" "$tmp/small.assay"; says "$what.assay"
done
"$assay" verify --json "$tmp/missing_limit.assay" >"$tmp/out"
check "the JSON says why" "$python" -c 'import json, sys; r = json.load(open(sys.argv[1])); assert not r["whole"] and "limits" in r["parts_error"], r' "$tmp/out"
exits 0 "a document" "$assay" verify "$tmp/small.json"
check "is called by its own name" grep -q "small.json: intact" "$tmp/out"
finish
