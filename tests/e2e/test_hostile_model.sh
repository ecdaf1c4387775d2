# tests/e2e/test_hostile_model.sh - a model and a program whose names are commands to terminals, spreadsheets, browsers and
# Markdown: what every command and format prints of them is text.
. "$(dirname "$0")/lib.sh"

"$python" -c 'import onnx' 2>/dev/null || { echo 'skipped: python3-onnx is not there'; exit 77; }
"$python" "$here/../corpus_maker/hostile_names.py" "$tmp/a.onnx" 0 || exit 1
"$python" "$here/../corpus_maker/hostile_names.py" "$tmp/b.onnx" 8 || exit 1
"$python" "$here/../corpus_maker/hostile_names.py" "$tmp/c.onnx" 0 bytes || exit 1
hostile=$(printf 'name \033[2J\033]52;c;eA==\007 \302\233 \177 \342\200\256 <b> | `x`')
MAKE_RUN_LABEL="$hostile" "$make_run" "$tmp/scopes.assay" hostile || exit 1
fast="--iterations 3 --warmup 0 --no-roofline --no-history -q"
"$assay" profile $fast "$tmp/a.onnx" -o "$tmp/profile.assay" >/dev/null 2>&1 || fail "the model is profiled"
cd "$tmp" || exit 1
n=0

# safe KIND SENTENCE COMMAND...: what it prints is safe, and it says something.
safe() {
    kind=$1 sentence=$2
    shift 2
    n=$((n + 1))
    "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ "$got" -le 1 ] || fail "$sentence: exit $got: $(head -c 300 "$tmp/err")"
    [ -s "$tmp/out" ] || fail "$sentence: nothing was printed"
    check "$sentence" "$python" "$here/check_controls.py" "$kind" "$tmp/out" "$tmp/err"
}
is_json() { check "$sentence: JSON" "$python" -c 'import json; json.load(open("out", encoding="utf-8"))'; }
is_xml() { check "$sentence: XML" "$python" -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"; }

for run in scopes.assay profile.assay; do
    for form in "" "--wide" "--color always" "--glyphs ascii --width 60"; do
        kind=text
        [ "$form" = "--color always" ] && kind=styled
        safe $kind "report $form of $run" "$assay" report $form "$run"
    done
    safe text "report as JSON of $run" "$assay" report --json "$run"; is_json
    check "no script ends in JSON" sh -c "! grep -qF '</script' out"
    safe text "report as Markdown of $run" "$assay" report --format markdown "$run"
    cp out page.md
    check "a pipe in a name makes no cell: $run" "$python" "$here/check_markdown.py" page.md
    safe csv "report as CSV of $run" "$assay" report --format csv "$run"
    safe csv "report as guarded CSV of $run" "$assay" report --format csv --csv-safe "$run"
    check "no formula in guarded CSV" sh -c "! grep -Eq '(^|,|\")[=@]' out"
    "$assay" report -q --export-csv "tables.$run" "$run" >/dev/null
    check "tables of $run" "$python" "$here/check_controls.py" csv "tables.$run"/*.csv
    for to in chrome-trace speedscope folded json csv; do
        kind=text
        [ $to = csv ] && kind=csv
        safe $kind "export to $to of $run" "$assay" export --to $to "$run"
        [ $to = csv ] || [ $to = folded ] || is_json
    done
    safe text "diff of $run" "$assay" diff "$run" "$run"
    safe text "diff as JSON of $run" "$assay" diff --json "$run" "$run"; is_json
    safe text "verify of $run" "$assay" verify "$run"
done
for form in "" "--wide --top 1000" "--glyphs ascii" "--group scope" "--color always"; do
    kind=text
    [ "$form" = "--color always" ] && kind=styled
    safe $kind "inspect $form" "$assay" inspect $form a.onnx
    safe $kind "profile $form" "$assay" profile $fast $(echo "$form" | sed 's/--group scope//') a.onnx
done
for format in json markdown csv; do
    kind=text
    [ $format = csv ] && kind=csv
    safe $kind "inspect as $format" "$assay" inspect --format $format a.onnx
    [ $format = json ] && is_json
    safe $kind "profile as $format" "$assay" profile $fast --format $format a.onnx
    [ $format = json ] && is_json
    safe $kind "diff of models as $format" "$assay" diff --format $format a.onnx b.onnx
    safe $kind "sweep as $format" "$assay" sweep --batch 1,2 --iterations 2 --warmup 0 -q --format $format a.onnx
done
safe text "diff of models" "$assay" diff a.onnx b.onnx
safe text "sweep" "$assay" sweep --batch 1,2 --iterations 2 --warmup 0 -q a.onnx
safe text "two models" "$assay" inspect a.onnx b.onnx
for picture in svg dot; do
    "$assay" inspect -q --graph "graph.$picture" a.onnx >/dev/null
    check "the graph as $picture" "$python" "$here/check_controls.py" text "graph.$picture"
done
sentence="the graph"
is_xml graph.svg
if command -v dot >/dev/null; then check "dot reads the graph" dot -Tplain -o /dev/null graph.dot; fi
check "no script in the picture" sh -c "! grep -qiE '<(script|img)' graph.svg"
"$assay" profile -q --iterations 2 --warmup 0 --no-history --roofline roof.svg --trace trace.json a.onnx >/dev/null 2>&1
if [ -e roof.svg ]; then
    check "the roofline" "$python" "$here/check_controls.py" text roof.svg
    is_xml roof.svg
fi
check "the trace" "$python" "$here/check_controls.py" text trace.json

# Names that are not UTF-8: the file is refused, safely.
exits 3 "bytes that are no text" "$assay" inspect c.onnx; says "not UTF-8"
check "and the sentence is safe" "$python" "$here/check_controls.py" text err

# A program whose name, folder and arguments are hostile.
name=$(printf 'prog\033[31m\177\302\233')
cp /bin/true "$name"
"$assay" run --no-heap -q -o program.assay -- "./$name" "$hostile" "$(printf '\377\233')" >/dev/null 2>&1
if [ -e program.assay ]; then
    for form in "" "--json" "--format markdown" "--format csv"; do
        safe csv "report $form of a program" "$assay" report $form program.assay
    done
fi
"$assay" run --no-heap --report -- "./$name" "$hostile" >out 2>err
check "the summary of a program" "$python" "$here/check_controls.py" text err

# Wrong use repeats what was typed.
cp a.onnx "$name.onnx"
for words in "inspect $name" "inspect $name.assay" "report $name" "profile --top=$name x" "$name" "zoo $name" "--$name"; do
    "$assay" $words >out 2>err
    check "a wrong word is shown safely" "$python" "$here/check_controls.py" text out err
done
safe text "a model with a hostile file name" "$assay" inspect "$name.onnx"
check "commands were tried ($n)" [ "$n" -ge 60 ]
finish
