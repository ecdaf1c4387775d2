"""Compares `assay inspect --json` with published and independently counted figures, to the last digit.

usage: check_reference.py ASSAY [MODELS]     MODELS: folder of model files, or absent
"""
import json
import os
import subprocess
import sys

assay, models = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
failed = 0


def inspect(*args):
    run = subprocess.run([assay, "inspect", "--json", *args], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()
    return json.loads(run.stdout), ""


def check(what, got, wanted):
    global failed
    if got != wanted:
        failed += 1
        print(f"{what}: {got}, not {wanted}")


# name, options, parameters, elements in the file, multiply-accumulates of (convolution, matrix product, attention)
ZOO = [
    ("alexnet", [], 61_100_840, 61_100_840, 714_188_480),
    ("vgg16", [], 138_357_544, 138_357_544, 15_470_264_320),
    ("resnet18", [], 11_689_512, 11_699_112, 1_814_073_344),
    ("resnet50", [], 25_557_032, 25_610_152, 4_089_184_256),
    ("mobilenetv2", [], 3_504_872, 3_538_984 + 2, 300_774_272),  # 2: the bounds of its ReLU6
    ("squeezenet1_1", [], 1_235_496, 1_235_496, 349_151_936),
    ("vit_b_16", [], 86_567_656, None, 17_563_828_224),
    ("bert-base", [], 109_482_240, None, 11_174_215_680),
    ("gpt2", [], 124_439_808, None, 145_824_153_600),
    ("gpt2:seq=8", [], 124_439_808, None, 989_435_904),
]
# The same by kind of operator, where the reference splits them.
SPLIT = {
    "alexnet": {"Conv": 655_566_528, "Gemm": 58_621_952},
    "vgg16": {"Conv": 15_346_630_656, "Gemm": 123_633_664},
    "resnet18": {"Conv": 1_813_561_344, "Gemm": 512_000},
    "resnet50": {"Conv": 4_087_136_256, "Gemm": 2_048_000},
    "mobilenetv2": {"Conv": 299_494_272, "Gemm": 1_280_000},
    "squeezenet1_1": {"Conv": 349_151_936},
}
# Attention alone: the two products of every block.
ATTENTION = {"vit_b_16": 715_327_488, "bert-base": 301_989_888, "gpt2": 19_327_352_832, "gpt2:seq=8": 1_179_648}

for name, options, parameters, stored, macs in ZOO:
    got, why = inspect(f"zoo:{name}", *options)
    if got is None:
        failed += 1
        print(f"zoo:{name}: {why}")
        continue
    model = got["model"]
    check(f"{name} parameters", model["parameters"], parameters)
    check(f"{name} macs", model["macs"], macs)
    check(f"{name} complete", model["complete"], True)
    check(f"{name} unknown_ops", model["unknown_ops"], [])
    check(f"{name} layers sum to macs", sum(l["macs"] for l in got["layers"]), macs)
    check(f"{name} layers sum to parameters", sum(l["parameters"] for l in got["layers"]), parameters)
    check(f"{name} flops by the convention", model["flops"],
          2 * macs + model["elementwise_ops"] + model["transcendental_ops"])
    if stored is not None:
        check(f"{name} stored", model["parameters_stored"], stored)
    for op, wanted in SPLIT.get(name, {}).items():
        check(f"{name} {op}", sum(l["macs"] for l in got["layers"] if l["op"] == op), wanted)
    if name in ATTENTION:
        check(f"{name} attention", sum(a["macs"] for a in got["attention"]), ATTENTION[name])

# A batch costs its samples; the parameters stay.
one, _ = inspect("zoo:resnet18")
eight, why = inspect("zoo:resnet18", "--batch", "8")
if eight is None:
    failed += 1
    print("resnet18 with a batch of 8:", why)
else:
    check("resnet18 batch 8 macs", eight["model"]["macs"], 8 * 1_814_073_344)
    check("resnet18 batch 8 per sample", eight["per_sample"]["macs"], 1_814_073_344)
    check("resnet18 batch 8 batch", eight["model"]["batch"], 8)
    check("resnet18 batch 8 parameters", eight["model"]["parameters"], one["model"]["parameters"])

# Llama-3-8B's shape, 1,024 tokens in: the published number of parameters.
got, why = inspect("zoo:llama:layers=32,width=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256,seq=1024")
if got is None:
    failed += 1
    print("llama 8b:", why)
else:
    check("llama 8b parameters", got["model"]["parameters"], 8_030_261_248)
    check("llama 8b kv heads", {(a["kind"], a["heads"], a["kv_heads"], a["causal"]) for a in got["attention"]},
          {("GQA", 32, 8, True)})
    check("llama 8b cache a token", got["decoder"]["kv_bytes_per_token"], 2 * 32 * 8 * 128 * 2)

# Real files. Inputs as in the tables of the reference.
FILES = [
    ("ppocrv4_det.onnx", ["--shape", "x=1x3x640x640"], 1_171_841, 2_301_935_744,
     {"Conv": 2_233_122_944, "ConvTranspose": 68_812_800}),
    ("ppocr_cls.onnx", ["--shape", "x=1x3x48x192"], 133_665, 16_315_376, {}),
    ("silero_vad_v5.onnx", ["--shape", "input=1x512", "--shape", "state=2x1x128", "--value", "sr=16000"],
     545_597, 563_968, {"Conv": 432_896, "LSTM": 131_072}),
]
if models:
    for name, options, stored, macs, split in FILES:
        got, why = inspect(os.path.join(models, name), *options)
        if got is None:
            failed += 1
            print(f"{name}: {why}")
            continue
        check(f"{name} stored", got["model"]["parameters_stored"], stored)
        check(f"{name} macs", got["model"]["macs"], macs)
        check(f"{name} complete", got["model"]["complete"], True)
        for op, wanted in split.items():
            check(f"{name} {op}", sum(l["macs"] or 0 for l in got["layers"] if l["op"] == op), wanted)

    # Every file of the set is analysed without an unknown operator.
    for name in sorted(os.listdir(models)):
        if not name.endswith((".onnx", ".tflite")):
            continue
        got, why = inspect(os.path.join(models, name))
        if got is None:
            failed += 1
            print(f"{name}: {why}")
            continue
        check(f"{name} unknown_ops", got["model"]["unknown_ops"], [])
        check(f"{name} layers of unknown shape", got["model"]["unknown_shape_layers"], 0)

sys.exit(1 if failed else 0)
