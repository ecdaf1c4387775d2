#!/bin/sh
# `assay inspect --graph`: the picture of a model's graph. usage: test_graph.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
for model in resnet50 mobilenetv2 bert-base googlenet lstm-tagger mlp; do
    for end in svg dot; do
        exits 0 "$model as $end" "$assay" inspect "zoo:$model" --graph "$model.$end"
    done
done
exits 0 "deep" "$assay" inspect zoo:mlp:layers=1024,hidden=4 --graph deep.dot --json
exits 0 "the pictures" "$python" "$here/check_graph.py" ./*.svg ./*.dot
# Blocks that repeat stand there once: stages of 3, 4, 6 and 3 blocks whose first one differs; 12 layers, the last with a Gather.
grep -q "^./resnet50.dot [0-9]* \['2', '3', '5'" out || fail "the blocks of ResNet-50: $(cat out)"
grep -q "^./bert-base.dot [0-9]* \['11'\]" out || fail "the layers of BERT: $(cat out)"
# Names from outside cannot end a label or a file.
"$python" - <<'PY'
import re
text = open("mlp.dot").read()
assert text.startswith("digraph model {\n") and text.endswith("}\n")
PY
if command -v dot >/dev/null; then
    for file in ./*.dot; do
        [ "$file" = ./deep.dot ] || check "Graphviz reads $file" dot -Tsvg "$file" -o drawn.svg
    done
fi
exits 2 "another ending" "$assay" inspect zoo:mlp --graph picture.png
says "FILE.svg or FILE.dot"
exits 3 "a folder that is not there" "$assay" inspect zoo:mlp --graph nowhere/a.svg
check "no picture is left" test ! -e picture.png
finish
