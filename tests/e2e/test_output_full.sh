# tests/e2e/test_output_full.sh - a full disk: every form of output fails with 3 and names what could not be written.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/run.assay" nested iterations channels || exit 1
run=$tmp/run.assay

for command in "report $run" "report --json $run" "report --format=markdown $run" "report -s all --json $run" "verify $run" \
    "verify --json $run" "help" "help report" "help columns" "report --help" "version" "version --json" "man" "man report" \
    "completion bash" "completion zsh" "completion fish"; do
    sentence="standard output full: $command"
    "$assay" $command >/dev/full 2>"$tmp/err"
    [ $? = 3 ] || fail "$sentence: not 3"
    says "standard output"
    exits 3 "file full: $command" "$assay" $command -o /dev/full
    says "/dev/full"
done

exits 3 "a folder that is a file" "$assay" report --export-csv "$run" "$run"; says "not a folder"
exits 3 "a folder that cannot be made" "$assay" report --export-csv /proc/none/here "$run"; says "/proc/none"
exits 3 "a file in a folder that is not there" "$assay" report -o "$tmp/no/such/file" "$run"; says "$tmp/no/such/file"
exits 3 "a folder for a file" "$assay" report -o "$tmp" "$run"; says "directory"
ln -s "$tmp/target" "$tmp/link"
exits 3 "a link for a file" "$assay" report -o "$tmp/link" "$run"; says "symbolic link"

# An older file stays when the new one cannot be made.
echo old >"$tmp/kept"
exits 3 "a missing run" "$assay" report -o "$tmp/kept" "$tmp/none"
check "the older file stays" grep -q old "$tmp/kept"
exits 0 "a file is replaced" "$assay" report -o "$tmp/kept" "$run"
check "by the new one" grep -q conv1 "$tmp/kept"

# A reader that goes away is no failure to talk of.
("$assay" report -s timeline --top 100000 "$run"; echo $? >"$tmp/status") 2>"$tmp/err" | head -1 >/dev/null
check "nothing is said about a closed pipe" sh -c "[ ! -s '$tmp/err' ]"
finish
