# tests/e2e/test_session.sh - a session's JSON read back: pages, classic text, JSON, verdicts, and two of them compared.
. "$(dirname "$0")/lib.sh"

whole=$here/../corpus/session/whole.json
for section in summary layers memory leaks bottlenecks; do
    "$assay" report --section "$section" "$whole" >"$tmp/$section" || fail "section $section"
    [ -s "$tmp/$section" ] || fail "section $section is empty"
done
check "the baseline is told" grep -q 'baseline 100 MiB' "$tmp/memory"
check "the layer that leaks is named" grep -q 'fc: memory grew by 50.0 MiB' "$tmp/leaks"
check "what bounds a layer is told" grep -q 'conv1' "$tmp/bottlenecks"

"$assay" report --classic "$whole" >"$tmp/classic" || fail "the classic text"
check "the classic text has 80 columns" awk 'length > 80 { exit 1 }' "$tmp/classic"
"$assay" report --classic "$whole" | same session_classic.txt "the classic text is as stored"
"$assay" report --json "$whole" >"$tmp/again.json" || fail "the JSON"
check "the JSON is the same value" "$python" -c '
import json, sys
strict = lambda x: sys.exit("not JSON: " + x)
one, two = (json.load(open(p), parse_constant=strict) for p in sys.argv[1:])
sys.exit(one != two)' "$whole" "$tmp/again.json"
"$assay" report -o "$tmp/summary.txt" --section summary "$whole" || fail "a summary to a file"
check "the summary is in the file" test -s "$tmp/summary.txt"

"$assay" report --fail-on-leak "$whole" >/dev/null
[ $? -eq 1 ] || fail "a leak is the answer no"
"$assay" diff "$whole" "$whole" >"$tmp/diff" || fail "diff of sessions"
check "the same session twice differs in nothing" grep -q 'no difference shown' "$tmp/diff"

# A layer is compared by its own time: what one inside it does is told of that one.
make() { "$python" "$here/make_session.py" "$@" || fail "a session for $*"; }
make 1 1 "$tmp/a.json"
make 1 2 "$tmp/b.json"
make 1.2 0.8 "$tmp/c.json"
make 1 2 "$tmp/old.json" old
"$assay" diff "$tmp/a.json" "$tmp/b.json" >"$tmp/ab" || fail "diff with a slower child"
check "a parent is not slower by its child" grep -q '^parent.*no difference shown' "$tmp/ab"
check "the child is slower" grep -q '^child.*slower' "$tmp/ab"
"$assay" diff "$tmp/a.json" "$tmp/c.json" >"$tmp/ac" || fail "diff with a slower parent"
check "a parent is slower by its own work" grep -q '^parent.*slower' "$tmp/ac"
"$assay" diff "$tmp/a.json" "$tmp/old.json" >"$tmp/aold" || fail "diff with an older file"
check "a file without self times is compared with inner layers" grep -q '^parent.*slower' "$tmp/aold"
check "and that is said" grep -q 'together with the layers inside' "$tmp/aold"
"$assay" diff --json "$tmp/a.json" "$tmp/old.json" | grep -q '"compared_time": "inclusive"' || fail "JSON says so too"

printf '{"schema":"other"}' >"$tmp/other.json"
printf '{"schema":"assay.session","schema_version":9}' >"$tmp/later.json"
printf '{"schema":' >"$tmp/cut.json"
for bad in other later cut; do
    "$assay" report "$tmp/$bad.json" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 3 ] || fail "$bad.json is refused with 3"
    [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] || fail "$bad.json is refused in one sentence"
done
"$assay" report --csv "$tmp/csv" "$whole" 2>"$tmp/err"
[ $? -eq 2 ] || fail "CSV of a session is wrong use"
"$assay" report --classic --json "$whole" 2>"$tmp/err"
[ $? -eq 2 ] || fail "two forms at once are wrong use"
finish
