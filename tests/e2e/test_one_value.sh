# tests/e2e/test_one_value.sh - one metric, one value: whichever command, form or call reports it.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
for model in zoo:mlp zoo:squeezenet1_1; do
    one="--threads 1 --iterations 8 --warmup 1 --no-history"
    exits 0 "$model: profiled" "$assay" profile "$model" $one --width 200 --top 1000 -o "$tmp/p.assay"
    cp "$tmp/out" "$tmp/page"
    exits 0 "$model: as JSON" "$assay" report --json "$tmp/p.assay"
    cp "$tmp/out" "$tmp/profile.json"
    exits 0 "$model: as CSV" "$assay" report --export-csv "$tmp/csv" "$tmp/p.assay"
    exits 0 "$model: against itself" "$assay" diff --json "$tmp/p.assay" "$tmp/p.assay"
    cp "$tmp/out" "$tmp/diff.json"
    # Another number of inferences does not change what is compared.
    exits 0 "$model: profiled again" "$assay" profile "$model" --threads 1 --iterations 5 --warmup 1 --no-history --json
    cp "$tmp/out" "$tmp/again.json"
    exits 0 "$model: against another" "$assay" diff --json "$tmp/p.assay" "$tmp/again.json"
    cp "$tmp/out" "$tmp/diff-2.json"
    exits 0 "$model: inspected" "$assay" inspect --json "$model"
    cp "$tmp/out" "$tmp/inspect.json"
    exits 0 "$model: swept" "$assay" sweep "$model" --batch 1,2 --threads 1 --iterations 3 --no-roofline --json
    cp "$tmp/out" "$tmp/sweep.json"
    exits 0 "$model: by the C API" "$build/tests/model_metrics" "$model"
    cp "$tmp/out" "$tmp/api.json"
    check "$model: every metric has one value" "$python" "$here/check_one_value.py" "$tmp"
done
finish
