# tests/e2e/test_same_report.sh - for each kind of run, `assay report` prints the very bytes that the measuring command printed.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"

# same_report NAME FORMS COMMAND [WORDS...]: measures once for each form ("text" is one at each of three widths), keeps the run, and
# compares. Pages go to the descriptor of $stream (1, or 2 for a command that leaves standard output to its target), and
# $status is the exit status both times.
stream=1 status=0
same_report()
{
    name=$1 forms=$2 command=$3
    shift 3
    for form in $forms; do
        case $form in
            text*) options="--width ${form#text}" ;;
            csv) options= ;;
            *) options="--format $form" ;;
        esac
        run=$tmp/$name-$form.assay
        rm -rf "$tmp/csv-a" "$tmp/csv-b"
        if [ "$form" = csv ]; then
            exits "$status" "$name: measured into CSV" "$assay" $command -o "$run" --export-csv "$tmp/csv-a" "$@"
            exits "$status" "$name: the same CSV of its run" "$assay" report "$run" --export-csv "$tmp/csv-b"
            check "$name: CSV files are the same" diff -r "$tmp/csv-a" "$tmp/csv-b"
            check "$name: and there are some" test -n "$(ls "$tmp/csv-a")"
            continue
        fi
        exits "$status" "$name: measured, $form" "$assay" $command -o "$run" $options "$@"
        if [ "$stream" = 2 ]; then cp "$tmp/err" "$tmp/measured"; else cp "$tmp/out" "$tmp/measured"; fi
        check "$name: something was printed" test -s "$tmp/measured"
        exits "$status" "$name: its run, $form" "$assay" report "$run" $options
        check "$name: $form is the same" cmp "$tmp/measured" "$tmp/out"
        if [ "$form" = json ]; then
            cp "$tmp/measured" "$tmp/$name.json"
            check "$name: the document is JSON" "$python" -m json.tool "$tmp/$name.json" /dev/null
            check "$name: and does not name its run file" sh -c "! grep -qF '$run' '$tmp/$name.json'"
            for file in "$run" "$tmp/$name.json"; do
                exits 0 "$name: verified" "$assay" verify --json "$file"
                check "$name: its kind is named" "$python" -c 'import json, sys
assert json.load(open(sys.argv[1]))["kind"] == json.load(open(sys.argv[2]))["schema"][len("assay."):]' "$tmp/out" "$tmp/$name.json"
            done
            for again in --json --format=markdown "--width 60" "--width 80" "--width 160"; do
                exits "$status" "$name: the run" "$assay" report "$run" $again
                cp "$tmp/out" "$tmp/of_run"
                exits "$status" "$name: the document" "$assay" report "$tmp/$name.json" $again
                check "$name: document and run are the same with $again" cmp "$tmp/of_run" "$tmp/out"
            done
        fi
    done
}

same_report machine "text60 text160 json markdown" machine --quick --threads 1
same_report operations "text80 json markdown" machine --operations --quick --size 32
same_report overhead "text80 json markdown" machine --overhead --quick
fast="--no-roofline --iterations 3 --warmup 0 --threads 1"
same_report sweep "text60 text80 text160 json markdown csv" sweep zoo:mlp --batch 1,2,4 $fast
same_report sweep_shapes "text80 json csv" sweep zoo:mlp --shape input=1x784,2x784 $fast
same_report sweep_fails "text80 json csv" sweep zoo:mlp --key hidden=8,16 --batch 1,2000000000 $fast
same_report sweep_roof "text160 json" sweep zoo:mlp --batch 1,2 --iterations 3 --warmup 0
status=1
same_report sweep_limits "text80 json csv" sweep zoo:mlp --batch 1,2 $fast --max-latency 0.000001
status=0
same_report profile "text60 text80 text160 json markdown csv" profile zoo:mlp --no-roofline --no-history --iterations 3 --warmup 0
bench="--iterations 3 --warmup 0 --threads 1 --quiet --force --output-dir $tmp/bench"
same_report bench_command "text60 text80 text160 json markdown" bench $bench --grid n=1,2 -- true {n}
check "the folder has the run" cmp "$tmp/bench_command-markdown.assay" "$tmp/bench/run.assay"
exits 0 "its report" "$assay" report --json "$tmp/bench/run.assay"
check "is its results.json" cmp "$tmp/out" "$tmp/bench/results.json"
same_report bench_model "text80 json" bench $bench --grid batch=1,2 zoo:mlp
status=1
same_report bench_fails "text80 json" bench $bench --grid n=true,false -- {n}
status=0
small="--workload attention --iterations 4 --short-max-len 24 --long-min-len 30 --long-max-len 60 --steps 3 --head-dim 16"
"$assay" bench $small --threads 1 --quiet --output-dir "$tmp/attention" >"$tmp/out" 2>&1
status=$? # whether a setting meets the criteria depends on the clock
exits "$status" "attention again" "$assay" report "$tmp/attention/run.assay"
for form in --json --format=markdown; do
    "$assay" report $form "$tmp/attention/run.assay" >"$tmp/of_run"
    "$assay" report $form "$tmp/attention/results.json" >"$tmp/of_document"
    check "attention: its results.json is its run with $form" cmp "$tmp/of_run" "$tmp/of_document"
done
check "attention: results.json is what --json prints" sh -c "'$assay' report --json '$tmp/attention/run.assay' | cmp - '$tmp/attention/results.json'"
status=0

same_report profile_scopes "text80 json" profile zoo:squeezenet1_1 $fast --no-history
"$assay" profile zoo:squeezenet1_1 $fast --no-history --scope-depth 1 -s scopes -o "$tmp/scopes.assay" >"$tmp/of_run" 2>/dev/null
exits 0 "profile: with its scopes" "$assay" report --scope-depth 1 -s scopes "$tmp/scopes.assay"
check "profile: --scope-depth is the same" cmp "$tmp/of_run" "$tmp/out"
same_report profile_saved "text60 text80 text160 json markdown csv" profile zoo:mlp $fast --no-history --save-outputs "$tmp/saved" --save-intermediates all
same_report profile_compared "text60 text160 json markdown" profile zoo:mlp $fast --no-history --expect "$tmp/saved" --bisect --check-nan
same_report profile_roof "text160 json" profile zoo:mlp --iterations 8 --warmup 0
same_report profile_phases "text60 text80 text160 json markdown csv" profile zoo:llama:layers=1,seq=0,past=-1 --iterations 3 --warmup 0 --tokens 3 --no-roofline --no-history
same_report profile_tokens "text80 json" profile zoo:llama --iterations 3 --warmup 0 --tokens 3 --no-roofline

# `assay run` leaves standard output to its target: the page goes to a file here.
for form in "--width 60" "--width 80" "--width 160" --json; do
    exits 0 "run: watched, $form" "$assay" run $form --report-file "$tmp/page" -o "$tmp/run.assay" -- sh -c 'ls / >/dev/null'
    exits 0 "run: its run, $form" "$assay" report $form "$tmp/run.assay"
    check "run: $form is the same" cmp "$tmp/page" "$tmp/out"
done
cp "$tmp/page" "$tmp/run.json"
for again in --json --format=markdown "--width 80"; do
    exits 0 "run: the run" "$assay" report "$tmp/run.assay" $again
    cp "$tmp/out" "$tmp/of_run"
    exits 0 "run: the document" "$assay" report "$tmp/run.json" $again
    check "run: document and run are the same with $again" cmp "$tmp/of_run" "$tmp/out"
done
check "run: the document does not name its run file" sh -c "! grep -qF '$tmp/run.assay' '$tmp/run.json'"

# Export, comparison and check of runs without events.
exits 0 "a sweep as JSON" "$assay" export --to json "$tmp/sweep-json.assay"
check "is its document" cmp "$tmp/out" "$tmp/sweep.json"
exits 3 "a sweep as a trace" "$assay" export --to perfetto "$tmp/sweep.json"
says "a run of kind \"sweep\" without events"
exits 0 "a sweep beside another" "$assay" diff "$tmp/sweep.json" "$tmp/sweep-csv.assay"
check "setting by setting" grep -q "batch 4: latency p50" "$tmp/out"
exits 0 "a profile's document beside a profile" "$assay" diff --json "$tmp/profile.json" "$tmp/profile-csv.assay"
check "has the model's layers" grep -q '"layers.0"' "$tmp/out"

# What a kind does not have is refused, and a page never takes the place of a run.
for option in --classic "--thread 0" "--unit ms" "--percentile 80" --fail-on-leak "--columns name"; do
    exits 2 "profile: $option" "$assay" report $option "$tmp/profile-json.assay"
    says "a run of kind \"profile\" does not have it"
done
cp "$tmp/profile-json.assay" "$tmp/kept"
exits 2 "a page into a run" "$assay" report "$tmp/profile-json.assay" -o "$tmp/profile-json.assay"
says "is the name of a run"
check "which stays" cmp "$tmp/kept" "$tmp/profile-json.assay"

# A damaged run is reported as such, or refused.
size=$(stat -c %s "$tmp/profile-json.assay")
head -c $((size * 9 / 10)) "$tmp/profile-json.assay" >"$tmp/cut.assay"
"$assay" report "$tmp/cut.assay" >"$tmp/out" 2>"$tmp/err"
cut=$?
[ "$cut" = 3 ] || grep -q '^! the run is corrupt or incomplete' "$tmp/out" || fail "a cut run is not reported as such: $cut"
exits 3 "different kinds" "$assay" diff "$tmp/profile-json.assay" "$tmp/run.assay"
says "have nothing to compare"

# A run that cannot be written is known before anything is measured.
exits 3 "no such folder" "$assay" machine -o "$tmp/nowhere/x.assay"
printf 'mine' >"$tmp/mine.assay"
exits 3 "a file that is not a run" "$assay" machine -o "$tmp/mine.assay"
says "is not a run file"
check "is as it was" test "$(cat "$tmp/mine.assay")" = mine
cp "$tmp/machine-json.assay" "$tmp/kept"
exits 0 "an older run" "$assay" machine --quick --threads 1 -o "$tmp/machine-json.assay"
check "is kept beside" cmp "$tmp/kept" "$tmp/machine-json.assay.old"
finish
