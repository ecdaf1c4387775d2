# Models with and without the optimiser give the same answers.
set -eu
build=$1
fused=$build/tests/model_fused

"$fused" zoo:mlp zoo:lstm-tagger zoo:resnet18:size=32 zoo:mobilenetv2:size=32 \
    zoo:mobilenet_v3_large:size=32 zoo:llama:layers=1,seq=8 \
    zoo:bert-base:layers=1,width=64,heads=2,seq=8,vocab=100 \
    zoo:gpt2:layers=1,width=64,heads=2,seq=8,vocab=100
# f16 rounds after each node, and after fewer of them when some are one.
"$fused" -l 5e-3 zoo:llama:layers=1,seq=8,dtype=f16
