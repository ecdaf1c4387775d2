# tests/e2e/test_engine_models.sh - every model file of the set gives the same answers by the library's kernels, fused, and by
# plain C, node by node.
. "$(dirname "$0")/lib.sh"
models=${ASSAY_MODELS:-$here/../../../shared/models}
fused=$build/tests/model_fused

[ -d "$models" ] || {
    echo "skipped: no model files at $models"
    exit 77
}
# one TOLERANCE FILE [options]: as a share of the largest output.
one() {
    tolerance=$1 file=$models/$2.onnx
    shift 2
    check "$(basename "$file") agrees between kernels" "$fused" --sets -l "$tolerance" "$@" "$file"
    cat "$tmp/check.out"
}
for name in mnist bert_tiny_qa yolox_nano ppocr_cls gpt2_tiny_past light_squeezenet light_shufflenet \
    light_inception_v1 light_resnet50 light_bvlc_alexnet light_zfnet512; do
    one 1e-3 "$name"
done
one 1e-3 ppocrv4_det
one 1e-3 silero_vad_v5 -x sr=16000
# Whole numbers: a sum that falls between two of them may be rounded either way, and what follows moves by a step or two of the
# last scale (0.153 where the largest output is 7.2).
# Without VNNI the library computes it in floats, plain C in integers: more sums fall on the other side of a half.
case $(reported library) in
*vnni* | *bf16*) one 0.06 mobilenet_v2_qdq ;;
*) one 0.08 mobilenet_v2_qdq ;;
esac
one 0.01 ddddocr_int8_lstm
# Plain C takes most of a minute for this one.
[ -z "${ASSAY_LONG:-}" ] || one 1e-3 light_vgg19
finish
