# tests/e2e/test_wrong_use.sh - wrong options, words and files: the exit status and the one sentence.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/run.assay" failed || exit 1
run=$tmp/run.assay

exits 0 "no command" "$assay"
check "the start screen names the first steps" grep -q "assay profile zoo:mobilenetv2" "$tmp/out"
exits 2 "an option without a command" "$assay" --foo; says "no command before '--foo'"
exits 2 "an unknown command" "$assay" reprot; says "did you mean 'assay report'"
exits 2 "a command far from any" "$assay" xyzzyplugh; says "'assay help' lists them"
exits 2 "no run" "$assay" report; says "report needs RUN"
exits 2 "two runs" "$assay" report a b; says "unexpected argument 'b'"
exits 2 "an unknown option" "$assay" report --josn "$run"; says "did you mean --json"
exits 2 "an unknown letter" "$assay" report -z "$run"; says "assay help report"
exits 2 "an unknown column" "$assay" report --columns=name,slef "$run"; says "did you mean 'self'"
exits 2 "an empty column" "$assay" report --columns=name,,self "$run"; says "--columns"
exits 2 "an unknown section" "$assay" report --section leyers "$run"; says "did you mean 'layers'"
exits 2 "an unknown order" "$assay" report --sort medain "$run"; says "did you mean 'median'"
exits 2 "a word that is near none" "$assay" report --unit parsec "$run"; says "auto, ns, us, ms, s"
exits 2 "a missing value" "$assay" report "$run" --sort; says "--sort=KEY"
exits 2 "a value for a flag" "$assay" report --json=yes "$run"; says "takes no value"
exits 2 "a number too small" "$assay" report --top 0 "$run"; says "from 1 to"
exits 2 "a number too large" "$assay" report --width 99999999999999999999 "$run"; says "20 to 1000"
exits 2 "no number" "$assay" report --top ten "$run"; says "not 'ten'"
exits 2 "two forms at once" "$assay" report --json --format=markdown "$run"; says "choose one"
exits 2 "a format that a command does not have" "$assay" bundle inspect --format csv "$run"; says "it is one of text, json"
exits 2 "an export to standard output" "$assay" report --export-json - "$run"; says "--format json"
exits 2 "a thread that is not there" "$assay" report --thread 99 "$run"; says "no thread 99"
exits 2 "an unknown topic" "$assay" help reprot; says "did you mean 'report'"
exits 2 "an unknown shell" "$assay" completion tcsh; says "bash, zsh, fish"
exits 2 "a manual of nothing" "$assay" man nothing; says "report"
printf '{"a": }' >"$tmp/bad.json"
for command in report verify "diff $run"; do
    # shellcheck disable=SC2086
    exits 3 "JSON that is none: $command" "$assay" $command "$tmp/bad.json"; says "$tmp/bad.json: JSON: a value is expected here (byte 6)"
done
exits 3 "after -- an option is a file" "$assay" report -- --json; says "cannot open --json"

exits 3 "a missing file" "$assay" report "$tmp/none.assay"; says "No such file"
exits 3 "a folder" "$assay" report "$tmp"; says "is a directory"
exits 3 "a device" "$assay" report /dev/null; says "not a regular file"
: >"$tmp/empty"
exits 3 "an empty file" "$assay" report "$tmp/empty"; says "is empty"
echo '<!DOCTYPE html><title>404</title>' >"$tmp/page.html"
exits 3 "an HTML page" "$assay" report "$tmp/page.html"; says "HTML page"
head -c 40 "$run" >"$tmp/short"
exits 3 "a file that ends in its header" "$assay" report "$tmp/short"; says "header"
"$python" "$here/patch_run.py" version "$run" "$tmp/future.assay" || fail "patch_run.py"
exits 3 "a run of a later version" "$assay" report "$tmp/future.assay"; says "later version"
"$python" "$here/patch_run.py" header "$run" "$tmp/header.assay" || fail "patch_run.py"
exits 3 "a damaged header" "$assay" report "$tmp/header.assay"; says "damaged"
head -c 100000 /dev/urandom >"$tmp/noise"
exits 3 "noise" "$assay" report "$tmp/noise"; says "not a run file"
exits 3 "a built-in model without zoo:" "$assay" profile mobilenetv2; says "the built-in model is zoo:mobilenetv2"
exits 3 "a run as a model" "$assay" inspect "$run"; says "it is a run: assay report $run"
"$assay" zoo mlp -q -o "$tmp/mlp.onnx" || fail "zoo"
for command in report export; do
    exits 3 "a model as a run: $command" "$assay" $command $([ $command = export ] && echo --to json) "$tmp/mlp.onnx"; says "it is a model (onnx): assay inspect $tmp/mlp.onnx"
done
exits 3 "a name with an escape in it" "$assay" report "$tmp/$(printf '\033[31m')"; says '\x1b[31m'
for command in verify report; do
    exits 3 "a missing file for $command" "$assay" $command "$tmp/none"; says "No such file"
done

# Options may stand anywhere, in every form.
for form in "--sort=name RUN" "--sort name RUN" "RUN --sort name" "RUN --sort=name"; do
    "$assay" report -s layers $(echo "$form" | sed "s|RUN|$run|") >"$tmp/$(echo "$form" | cksum | cut -d' ' -f1).form"
done
check "all forms of an option do the same" sh -c "[ \$(cat '$tmp'/*.form | grep -c fragile) = 4 ]"
exits 0 "a letter with its value joined" "$assay" report -slayers -n1 "$run"
exits 0 "common options before the command" "$assay" --color never --width=60 report "$run"
exits 0 "the last of several wins" "$assay" report --sort self --sort name "$run"
check "the last order won" grep -q "sorted by name" "$tmp/out"
finish
