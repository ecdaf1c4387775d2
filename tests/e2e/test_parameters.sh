# tests/e2e/test_parameters.sh - trainable parameters of exports, counted by PyTorch: initial states, anchors, grids and scales
# of ones that exporters write are none; clones of an untrained layer are parameters each, and a finding. Two names of one place of
# a file are one parameter. Skipped without PyTorch.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
"$python" -c 'import torch' 2>/dev/null || {
    echo "skipped: python3-torch is not installed"
    exit 77
}
"$python" - "$assay" <<'PY' || fail "parameters are those of PyTorch"
import json, subprocess, sys, warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(1)


class Anchors(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 600 * 2)
        self.register_buffer("anchors", torch.rand(600, 2))

    def forward(self, x):
        return self.linear(x).view(-1, 600, 2) * self.anchors + self.anchors


class Positions(nn.Module):
    """A trained table of positions is a parameter, though it is added like anchors."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.rand(1, 50, 16))
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x + self.table)


class Scaled(nn.Module):
    """A trained scale by channel, as in ConvNeXt, looks like points of one coordinate."""

    def __init__(self):
        super().__init__()
        self.conv, self.scale = nn.Conv2d(3, 96, 3), nn.Parameter(torch.rand(96, 1, 1))
        self.register_buffer("strides", torch.tensor([8.0] * 60 + [16.0] * 30 + [32.0] * 10).view(100, 1))

    def forward(self, x):
        return (self.conv(x) * self.scale).reshape(1, -1, 100, 4) * self.strides


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.register_buffer("line", torch.linspace(-1, 1, 30))

    def forward(self, x):
        return self.conv(x) * self.line


models = {
    "gru": (nn.GRU(10, 16, 3), torch.rand(5, 3, 10)),
    "lstm": (nn.LSTM(10, 16, bidirectional=True), torch.rand(5, 3, 10)),
    "group_norm": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.Conv2d(8, 4, 1)), torch.rand(1, 3, 16, 16)),
    "anchors": (Anchors(), torch.rand(1, 8)),
    "positions": (Positions(), torch.rand(2, 50, 16)),
    "grid": (Grid(), torch.rand(1, 3, 32, 32)),
    "scaled": (Scaled(), torch.rand(1, 3, 22, 22)),
    "norms": (nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2)), torch.rand(4, 8)),
}


def inspect(path, *options):
    return json.loads(subprocess.run([sys.argv[1], "inspect", "--json", path, *options], check=True, capture_output=True).stdout)


bad = 0
for name, (model, x) in models.items():
    torch.onnx.export(model, x, name + ".onnx", opset_version=13)
    wanted = sum(p.numel() for p in model.parameters())
    got = inspect(name + ".onnx")["model"]["parameters_trainable"]
    if got != wanted:
        bad += 1
        print(name, got, "not", wanted)

# Clones: equal until they are trained, so each has its gradients and its state of the optimizer.
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0), 3).train()
torch.onnx.export(encoder, torch.rand(32, 2, 64), "encoder.onnx", opset_version=13, training=torch.onnx.TrainingMode.PRESERVE)
wanted = sum(p.numel() for p in encoder.parameters())
document = inspect("encoder.onnx", "--train")
model, memory = document["model"], document["training"]
found = [f for f in document["recommendations"] if f["rule"] == "duplicate-weights"]
# Of each of 3 layers the 4 matrices are the same; biases and norms are single numbers again and again.
layers = 2 * (3 * 64 * 64 + 64 * 64 + 2 * 64 * 256) * 4
print(model["parameters_trainable"], wanted, model["equal_tensors"], model["equal_bytes"], found)
assert model["parameters_trainable"] == model["parameters"] == wanted and model["parameters_tied"] == 0
assert memory["gradient_bytes"] == wanted * 4 and memory["optimizer_bytes"] == wanted * 8
assert model["equal_bytes"] >= layers and len(found) == 1 and "could be shared" in found[0]["finding"]
sys.exit(bad)
PY
"$python" -c 'import onnx' 2>/dev/null || finish
"$python" - "$assay" <<'PY' || fail "one place of a file is one parameter, equal content is not"
import json, subprocess, sys

import numpy, onnx
from onnx import TensorProto, helper, numpy_helper

w = numpy.random.RandomState(1).rand(64, 64).astype(numpy.float32)
open("w.bin", "wb").write(w.tobytes() * 2)


def made(name, offset):
    if offset is None:
        return numpy_helper.from_array(w, name)
    t = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=w.shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", offset), ("length", w.nbytes)):
        t.external_data.add(key=key, value=str(value))
    return t


def counts(path, a, b):
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("MatMul", ["r", b], ["y"])]
    tensors = [made("a", a[0])] + ([made("b", a[1])] if b == "b" else [])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 64]) for n in "xy")
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], tensors), opset_imports=[helper.make_opsetid("", 13)]), path)
    d = json.loads(subprocess.run([sys.argv[1], "inspect", "--json", path, "--train"], check=True, capture_output=True).stdout)
    return [d["model"][k] for k in ("parameters", "parameters_stored", "parameters_tied", "equal_tensors", "equal_bytes")] + [d["training"]["gradient_bytes"]]


n = w.size
for path, a, b, wanted in (
    ("once.onnx", (None,), "a", [n, n, 0, 0, 0, 4 * n]),
    ("inline.onnx", (None, None), "b", [2 * n, 2 * n, 0, 2, 4 * n, 8 * n]),
    ("range.onnx", (0, 0), "b", [n, n, n, 0, 0, 4 * n]),
    ("copy.onnx", (0, w.nbytes), "b", [2 * n, 2 * n, 0, 2, 4 * n, 8 * n]),
):
    got = counts(path, a, b)
    assert got == wanted, (path, got, wanted)
PY
finish
