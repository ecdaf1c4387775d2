# tests/e2e/test_diff.sh - `assay diff`: what it says of runs that differ, that do not, and that cannot be compared.
. "$(dirname "$0")/lib.sh"

for what in steps slow_steps calls slow_calls nothing hostile; do
    "$make_run" "$tmp/$what.assay" $what || exit 1
done
"$make_run" "$tmp/mixed.assay" steps nested many channels || exit 1
"$make_run" "$tmp/kill.assay" nested kill 2>/dev/null

diff_of() {
    "$assay" diff --glyphs ascii --width 80 "$@"
}

# The verdict, by iterations and by calls.
diff_of "$tmp/steps.assay" "$tmp/slow_steps.assay" >"$tmp/out"
check "the slower run is said to be slower, by iterations" grep -Eq '^B is slower: p50 of iterations shifts [0-9.]+ % up' "$tmp/out"
check "and how much in all" grep -Eq '^  total time .* % slower' "$tmp/out"
check "the layer that is slower is named" grep -Eq '^matmul .* slower$' "$tmp/out"
check "an interval is told" grep -q '95 % CI' "$tmp/out"
check "memory that is not known is said to be so" grep -q 'not recorded in either run' "$tmp/out"
diff_of "$tmp/slow_calls.assay" "$tmp/calls.assay" >"$tmp/out"
check "by calls only within this pair of runs" grep -Eq '^B is faster within this pair of runs' "$tmp/out"
check "with a warning" grep -q 'calls of one run resemble each other' "$tmp/out"
diff_of "$tmp/mixed.assay" "$tmp/mixed.assay" >"$tmp/out"
check "one run twice shows no difference" grep -q '^no significant difference$' "$tmp/out"
check "in no layer" sh -c "! grep -Eq '(faster|slower|calls)\$' '$tmp/out'"
check "its memory is the same" grep -Eq '^  memory .*, the same$' "$tmp/out"
diff_of --top 100 "$tmp/steps.assay" "$tmp/mixed.assay" >"$tmp/out"
check "a layer of one run only is said to be so" grep -Eq '^conv1 .* only in B$' "$tmp/out"
diff_of --sort name --top 2 "$tmp/steps.assay" "$tmp/mixed.assay" >"$tmp/out"
check "--sort and --top are obeyed" sh -c "grep -A3 '^layer ' '$tmp/out' | sed -n 3,4p | grep -c '^attention\|^block' | grep -qx 2"
check "--top says how many there are" grep -Eq '^\.\.\. [0-9]+ more' "$tmp/out"

# The answer by exit status.
exits 0 "a difference is no failure" "$assay" diff "$tmp/steps.assay" "$tmp/slow_steps.assay"
exits 1 "slower than allowed, by iterations" "$assay" diff --fail-slower 50 "$tmp/steps.assay" "$tmp/slow_steps.assay"
exits 0 "faster is not slower" "$assay" diff --fail-slower 0 "$tmp/slow_steps.assay" "$tmp/steps.assay"
exits 0 "not as slow as that" "$assay" diff --fail-slower 900000 "$tmp/steps.assay" "$tmp/slow_steps.assay"
exits 1 "slower than allowed, by calls" "$assay" diff --fail-slower 50 "$tmp/calls.assay" "$tmp/slow_calls.assay"
exits 0 "the same run is not slower" "$assay" diff --fail-slower 0 "$tmp/steps.assay" "$tmp/steps.assay"

# JSON and Markdown.
"$assay" diff --json "$tmp/steps.assay" "$tmp/slow_steps.assay" >"$tmp/slower.json"
check "the JSON of a slower run" "$python" "$here/check_diff_json.py" "$tmp/slower.json" slower
"$assay" diff --json "$tmp/mixed.assay" "$tmp/mixed.assay" >"$tmp/same.json"
check "the JSON of one run twice" "$python" "$here/check_diff_json.py" "$tmp/same.json" "no significant difference"
"$assay" diff --json "$tmp/steps.assay" "$tmp/mixed.assay" >"$tmp/mixed.json"
check "the JSON of different layers" "$python" "$here/check_diff_json.py" "$tmp/mixed.json"
"$assay" diff --format=markdown "$tmp/steps.assay" "$tmp/mixed.assay" >"$tmp/mixed.md"
check "Markdown has whole tables" "$python" "$here/check_markdown.py" "$tmp/mixed.md"

# Widths and hostile names.
for width in 80 160; do
    "$assay" diff --width $width --glyphs ascii --top 100 "$tmp/steps.assay" "$tmp/mixed.assay" >"$tmp/out"
    check "no line is longer than $width columns" awk -v w=$width 'length > w {print; bad = 1} END {exit bad}' "$tmp/out"
done
for form in "" "--format=markdown" "--json" "--glyphs=ascii"; do
    "$assay" diff $form "$tmp/hostile.assay" "$tmp/steps.assay" >"$tmp/out" || fail "diff $form"
    check "no control character with '$form'" sh -c "! LC_ALL=C tr -d '\n' <'$tmp/out' | LC_ALL=C grep -q '[[:cntrl:]]'"
    check "valid UTF-8 with '$form'" "$python" -c 'import sys; open(sys.argv[1], encoding="utf-8").read()' "$tmp/out"
done

# Runs that cannot be compared.
exits 3 "an empty run" "$assay" diff "$tmp/steps.assay" "$tmp/nothing.assay"; says "holds no layers to compare"
exits 3 "a run that was killed" "$assay" diff "$tmp/kill.assay" "$tmp/steps.assay"; says "never closed"
exits 0 "what is left of it, when asked for" "$assay" diff --partial "$tmp/kill.assay" "$tmp/steps.assay"
check "with a warning" grep -q '^A was never closed' "$tmp/out"
for bytes in 0 10 100 1000 5000; do
    head -c $bytes "$tmp/steps.assay" >"$tmp/cut.assay"
    exits 3 "a run cut to $bytes bytes" "$assay" diff "$tmp/steps.assay" "$tmp/cut.assay"; says "cut.assay"
done
exits 3 "a run that is not there" "$assay" diff "$tmp/steps.assay" "$tmp/none"; says "none"
exits 2 "one run" "$assay" diff "$tmp/steps.assay"; says "diff needs"
exits 2 "a wrong percentage" "$assay" diff --fail-slower much "$tmp/steps.assay" "$tmp/steps.assay"; says "--fail-slower"
exits 2 "two forms" "$assay" diff --json --format=markdown "$tmp/steps.assay" "$tmp/steps.assay"; says "choose one"

# The loader survives what the corpus holds.
for run in "$here"/../corpus/run/*; do
    "$assay" diff --partial "$run" "$tmp/steps.assay" >"$tmp/out" 2>&1
    [ $? -le 3 ] || fail "$run"
done
finish
