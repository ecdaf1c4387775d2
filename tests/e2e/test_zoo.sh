# tests/e2e/test_zoo.sh - `assay zoo`: the list, one model, files that python3-onnx accepts, and wrong use.
. "$(dirname "$0")/lib.sh"

exits 0 "the list" "$assay" zoo --width 200
for line in "alexnet +61,100,840 +714,188,480" "resnet50 +25,557,032 +4,089,184,256" \
    "bert-base +109,482,240 +11,174,215,680" "gpt2 +124,439,808 +145,824,153,600"; do
    check "$line" grep -Eq "$line" "$tmp/out"
done
exits 0 "the list as JSON" "$assay" zoo --json
check "is JSON" "$python" -m json.tool "$tmp/out"
exits 0 "one model" "$assay" zoo gpt2:seq=8
check "shows its MACs" grep -Eq "MACs +989,435,904" "$tmp/out"
check "shows its keys" grep -Eq "^context +1024 +1024 " "$tmp/out"

# Files: the same bytes each time, another seed gives others, and nothing half-written stays.
exits 0 "a file" "$assay" zoo mlp -o "$tmp/a.onnx"
check "says what was written" grep -q "a.onnx: 1.03 MiB of weights as onnx" "$tmp/err"
"$assay" zoo mlp -o "$tmp/b.onnx" -q
check "the same again" cmp "$tmp/a.onnx" "$tmp/b.onnx"
"$assay" zoo mlp:seed=2 -o "$tmp/b.onnx" -q --force
exits 1 "another seed" cmp -s "$tmp/a.onnx" "$tmp/b.onnx"
exits 3 "a folder that is not there" "$assay" zoo mlp -o "$tmp/nowhere/a.onnx"
exits 0 "weights beside the file" "$assay" zoo mlp --external -o "$tmp/e.onnx" -q
check "are there" test "$(wc -c <"$tmp/e.onnx.data")" -ge 1075200
exits 0 "the decoder as GGUF" "$assay" zoo llama:layers=2,dtype=f16 -o "$tmp/l.gguf" -q
check "which begins as one" test "$(head -c4 "$tmp/l.gguf")" = GGUF
exits 0 "a format that is given" "$assay" zoo llama:layers=1 --to gguf -o "$tmp/l.bin" -q
check "wins over the name" test "$(head -c4 "$tmp/l.bin")" = GGUF

# Whatever the width, nothing is longer than it and nothing is cut; what has no room is left out.
for width in 60 80 120 200; do
    for glyphs in ascii unicode; do
        for what in "" gpt2 llama bert-base resnet50; do
            exits 0 "$what at $width" "$assay" zoo $what --width $width --glyphs $glyphs
            check "no line of '$what' is longer than $width, or cut" "$python" -c '
import re, sys
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    if len(line) > int(sys.argv[2]) or "…" in line or re.search(r"\.\.\.(?!])", line):
        sys.exit(line)' "$tmp/out" $width
        done
    done
done
"$assay" zoo --width 80 >"$tmp/out"
check "80 columns have exact numbers and a description" grep -Eq "^gpt2 +124,439,808 +145,824,153,600 +text decoder, small$" "$tmp/out"
"$assay" zoo --width 120 >"$tmp/out"
check "120 have the shape of the input" grep -Eq "text encoder with pooler +3 of 1x128$" "$tmp/out"

# The same decoder in both formats.
parameters() {
    "$assay" inspect "$1" --json | "$python" -c 'import json, sys
def find(x):
    if isinstance(x, dict):
        for k, v in x.items():
            if k == "parameters" and isinstance(v, int):
                return v
            f = find(v)
            if f is not None:
                return f
print(find(json.load(sys.stdin)))'
}
for keys in layers=2 layers=2,kv_heads=1,dtype=f16 layers=3,tied=1,vocab=500; do
    "$assay" zoo llama:$keys -o "$tmp/same.gguf" -q --force
    "$assay" zoo llama:$keys -o "$tmp/same.onnx" -q --force
    want=$(parameters "$tmp/same.onnx")
    check "llama:$keys has parameters" test "$want" -gt 100000
    check "and the same in GGUF" test "$(parameters "$tmp/same.gguf")" = "$want"
done

# Keys that ask for too much end at once, in little memory, with a sentence.
quickly() {
    (
        ulimit -v 2000000
        exec timeout 20 "$assay" "$@"
    )
}
case $build in *asan* | *tsan*) quickly() { timeout 60 "$assay" "$@"; } ;; esac
for keys in gpt2:layers=1000000 gpt2:width=2147483648 mlp:layers=99999999999999999999999 llama:heads=-1 mlp:batch=1e9; do
    exits 2 "$keys" quickly zoo $keys
    says "give a whole number from"
done
exits 2 "widths that heads do not share" quickly zoo gpt2:width=65536,heads=1000
says "cannot be shared by 1000 heads"
exits 3 "more operations than can be counted" quickly zoo mlp:layers=1024,hidden=1048576,inputs=16777216,batch=1048576
says "takes more than 2^64 operations"
exits 0 "as many layers as there may be" quickly zoo llama:layers=1024,width=65536,heads=1024,vocab=16777216,ffn=1048576
exits 3 "a file larger than the disk" quickly zoo llama:layers=1024,width=65536,heads=1024,ffn=1048576 -o "$tmp/huge.onnx"
says "of weights, and its disk has"
check "is not begun" test ! -e "$tmp/huge.onnx" -a ! -e "$tmp/huge.onnx.part" -a ! -e "$tmp/huge.onnx.data"

exits 2 "a model that is none" "$assay" zoo resnet51
says "did you mean 'resnet"
exits 2 "a key that is none" "$assay" zoo resnet18:colour=3
says "it has: classes, size, batch, seed"
exits 2 "GGUF of another model" "$assay" zoo gpt2 -o "$tmp/g.gguf"
says "only llama can be had as GGUF"
exits 2 "a name that says no format" "$assay" zoo gpt2 -o "$tmp/g.bin"
says "ends neither in .onnx nor in .gguf"
exits 2 "a format without a file" "$assay" zoo llama --to gguf
check "nothing was left" test ! -e "$tmp/g.gguf" -a ! -e "$tmp/g.bin"

if "$python" -c 'import onnx, numpy' 2>/dev/null; then
    check "python3-onnx accepts every model" "$python" "$here/check_zoo.py" "$assay" "$tmp" \
        alexnet:classes=10 resnet18 resnet34:classes=2 mobilenetv2 mobilenet_v3_large googlenet squeezenet1_1 vit_b_16:layers=2 \
        bert-base:layers=2,vocab=1000 gpt2:layers=2,seq=16,vocab=1000 llama:layers=2 \
        llama:layers=2,kv_heads=1,dtype=f16 llama:layers=2,kv_heads=0,tied=1 lstm-tagger mlp mlp:layers=0 \
        resnet18:batch=0 bert-base:layers=1,vocab=100,batch=0,seq=0 gpt2:layers=1,vocab=100,batch=0,seq=0 \
        llama:layers=1,vocab=100,batch=0,seq=0 lstm-tagger:layers=2,batch=0,seq=0
else
    echo "python3-onnx, the judge, is not installed: files were not judged"
fi
finish
