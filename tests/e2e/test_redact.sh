#!/bin/sh
# Arguments may be secrets: Markdown never has them, --redact keeps them out of whatever is printed or exported,
# --no-args out of the run itself. usage: test_redact.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
token=S3CRET-7d1f
# A secret in the command and in the arguments of a child that outlives a few readings.
cat >parent.sh <<'SH'
sh -c 'sleep 0.3; : "$0"' "--token=$1" &
wait
SH
has() { grep -qF -e "$token" "$@"; }
hasnt() {
    what=$1
    shift
    has "$@" && fail "$what has the token: $(grep -aF -e "$token" "$@" | head -3)"
    for file in "$@"; do [ -s "$file" ] || fail "$what: $file is empty"; done
}

exits 0 "watching" "$assay" run -o all.assay --report-file all.txt -- sh parent.sh $token
has all.assay || fail "the run has no arguments: nothing is tested"
has all.txt || fail "a report on the screen has no arguments"
exits 0 "as JSON" "$assay" report --json all.assay
has out || fail "JSON has no arguments"

# Markdown, without asking.
exits 0 "as Markdown" "$assay" report --format markdown --section all all.assay
cp out all.md
hasnt "Markdown" all.md
grep -q 'redacted' all.md || fail "that something was taken out is not shown"
exits 0 "Markdown beside text" "$assay" report --export-markdown beside.md all.assay
has out || fail "text beside Markdown lost its arguments"
hasnt "Markdown beside text" beside.md
exits 0 "the report of a run as Markdown" "$assay" run -o md.assay --format markdown --report-file md.md -- sh parent.sh $token
hasnt "the report of a run as Markdown" md.md

# Everything else, when asked.
exits 0 "text" "$assay" report --redact --section all --wide all.assay
cp out redacted.txt && hasnt "text" redacted.txt
grep -qF 'sh [redacted] [redacted]' redacted.txt || fail "the name of the program is lost: $(head -5 redacted.txt)"
exits 0 "JSON" "$assay" report --redact --json all.assay
cp out redacted.json && hasnt "JSON" redacted.json
check "JSON says why the run is not in it" "$python" -c '
import json
r = json.load(open("redacted.json"))
assert r["run_file"] is None and "redacted" in r["run_file_reason"], r.get("run_file_reason")'
mkdir csv
exits 0 "CSV" "$assay" report --redact --export-csv csv all.assay
hasnt "CSV" csv/*
for format in chrome-trace perfetto speedscope json csv; do
    "$assay" export --redact --to $format all.assay -o export.$format >out 2>err
    [ ! -e export.$format ] || ! has export.$format err out || fail "the export to $format has the token"
    [ -e export.$format ] || [ -s err ] || fail "the export to $format neither worked nor said why"
done
exits 0 "run" "$assay" run --redact -o red.assay --report-file red.txt -- sh parent.sh $token
hasnt "the report of run --redact" red.txt
exits 0 "run as JSON" "$assay" run --redact -o red2.assay --format json --report-file red.json -- sh parent.sh $token
hasnt "the JSON of run --redact" red.json

# Not recorded at all: not a byte of it.
exits 0 "without arguments" "$assay" run --no-args -o none.assay --report-file none.txt -- sh parent.sh $token
hasnt "the run" none.assay
hasnt "its report" none.txt
exits 0 "its JSON" "$assay" report --json none.assay
cp out none.json && hasnt "its JSON" none.json
check "the program is named, its arguments are counted" "$python" -c '
import json
r = json.load(open("none.json"))
p = r.get("program", r)
assert p["command"] == ["sh"], p["command"]'
exits 0 "it is a whole run" "$assay" verify none.assay

# Benchmarks: summary.md by default, everything with --redact; one secret in a command, one in a hook, one printed.
bench="--iterations 2 --quiet"
exits 0 "two commands" "$assay" bench $bench --output-dir plain "true $token" "true --token=$token 2" --prepare "true $token"
has plain/results.json || fail "results.json has no commands: nothing is tested"
hasnt "summary.md" plain/summary.md
grep -q '2. true \\\?\[redacted' plain/summary.md || fail "the settings cannot be told apart: $(cat plain/summary.md)"
exits 0 "as Markdown" "$assay" bench $bench --format markdown "true $token" "true 2 $token"
hasnt "bench as Markdown" out
exits 0 "one command over a grid" "$assay" bench $bench --output-dir grid -g n=1,2 -- true $token '{n}'
hasnt "summary.md of a grid" grid/summary.md
exits 1 "a command that fails" "$assay" bench $bench --output-dir failing "echo $token >&2; exit 7" true
hasnt "summary.md of a failure" failing/summary.md
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null
exits 0 "two commands, redacted" "$assay" bench $bench --redact --output-dir red --sign-key key.pem "true $token" "TOKEN=$token true" \
    --prepare "true $token"
hasnt "the folder" $(find red -type f)
exits 0 "which is intact" "$assay" verify red
exits 0 "redacted JSON" "$assay" bench $bench --redact --json "true $token" "true 2 $token"
cp out bench.json && hasnt "redacted JSON" bench.json
exits 0 "redacted text" "$assay" bench $bench --redact "true $token" "true 2 $token"
cp out bench.txt && hasnt "redacted text" bench.txt
exits 0 "a redacted grid" "$assay" bench $bench --redact --output-dir redgrid -g n=1,2 -- true $token '{n}'
hasnt "the folder of a redacted grid" $(find redgrid -type f)
exits 1 "a redacted failure" "$assay" bench $bench --redact --output-dir redfail "echo $token >&2; exit 7" true
hasnt "the folder of a redacted failure" $(find redfail -type f)
hasnt_or_empty() {
    has "$2" && fail "$1 has the token: $(grep -aF -e "$token" "$2" | head -3)"
}
# Pictures are shown around as Markdown is.
for folder in one two; do
    exits 0 "without a shell, $folder" "$assay" bench $bench -N --output-dir $folder "true $token" "true --token=$token 2"
done
hasnt "a picture" one/latency.svg
grep -q 'redacted' one/latency.svg || fail "that something was taken out of the picture is not shown"
# A comparison joins settings by what they are, and shows them without arguments.
exits 0 "two benchmarks" "$assay" diff one/run.assay two/run.assay
has out || fail "a comparison has no arguments: nothing is tested"
exits 0 "as Markdown" "$assay" diff --format markdown one/run.assay two/run.assay
hasnt "a comparison as Markdown" out
grep -q '2. true \\\?\[redacted' out || fail "the settings of a comparison cannot be told apart: $(cat out)"
exits 0 "with Markdown beside it" "$assay" diff --export-markdown diff.md one/run.assay two/run.assay
has out || fail "text beside Markdown lost its arguments"
hasnt "Markdown beside a comparison" diff.md
mkdir diff_csv
for format in text json csv markdown; do
    exits 0 "redacted $format" "$assay" diff --redact --format $format one/run.assay two/run.assay
    hasnt "a redacted comparison as $format" out
done
exits 0 "redacted exports" "$assay" diff --redact --export-json diff.json --export-csv diff_csv one/run.assay two/run.assay
hasnt "redacted exports of a comparison" diff.json diff_csv/*
# Names that the user gave hide nothing.
exits 0 "with names" "$assay" bench $bench --redact -N --output-dir named --name one --name two "true $token" "true 2 $token"
exits 0 "as Markdown" "$assay" diff --format markdown named/run.assay named/run.assay
grep -q 'one: latency' out || fail "a name is lost: $(cat out)"
# What is said when something fails.
for hook in setup prepare cleanup; do
    "$assay" bench $bench --redact --$hook "echo $token >&2; exit 3; : $token" true >out 2>err
    [ $? != 0 ] || fail "--$hook that fails is no failure"
    hasnt_or_empty "--$hook that fails" err
    hasnt_or_empty "--$hook that fails" out
    "$assay" bench $bench --$hook "false $token" true >out 2>err
    cat out err | has - || fail "--$hook has no arguments: nothing is tested"
done
"$assay" bench $bench --redact -N "true '$token" >out 2>err && fail "a quote that is not closed is no failure"
hasnt_or_empty "a quote that is not closed" err
"$assay" bench $bench --redact --baseline "true $token x" "true 1" "true 2" >out 2>err && fail "a baseline that is not there is no failure"
hasnt_or_empty "a baseline that is not there" err
"$assay" bench $bench --redact -N "echo $token 1" "sh -c 'echo $token >&2; exit 4'" >out 2>err
hasnt_or_empty "commands without a shell" out
hasnt_or_empty "commands without a shell" err
exits 0 "a dry run" "$assay" bench $bench --redact --dry-run "true $token" "true 2 $token" --setup "true $token"
hasnt_or_empty "a dry run" out
exits 0 "a report of a benchmark" "$assay" report --redact --json plain/run.assay
cp out rep.json && hasnt "a redacted report of a benchmark" rep.json
exits 0 "a baseline is named by its command" "$assay" bench $bench --redact --baseline "true $token" "true 2" "true $token"

# The command line of assay itself.
exits 0 "a profile" "$assay" profile zoo:mlp --iterations 2 --warmup 0 --no-roofline --no-history -q --export-json $token.json -o p.assay
exits 0 "its JSON" "$assay" report --json p.assay
has out || fail "a profile has no command line: nothing is tested"
exits 0 "its redacted JSON" "$assay" report --redact --json p.assay
cp out p.json && hasnt "its redacted JSON" p.json

# A trace run: the command line of the program itself.
"$make_run" $token.assay nested >/dev/null 2>&1
mv $token.assay trace.assay
exits 0 "a trace as JSON" "$assay" report --json trace.assay
has out || fail "a trace has no command line: nothing is tested"
exits 0 "a trace as Markdown" "$assay" report --format markdown trace.assay
cp out trace.md && hasnt "a trace as Markdown" trace.md
exits 0 "a redacted trace" "$assay" report --redact trace.assay
cp out trace.txt && hasnt "a redacted trace" trace.txt
for format in chrome-trace perfetto speedscope folded flamegraph json csv; do
    exits 0 "a trace to $format" "$assay" export --redact --to $format trace.assay -o trace.$format
    hasnt "the export of a trace to $format" trace.$format
done
finish
