# tests/e2e/test_parameters.sh - trainable parameters of exports, counted by PyTorch: initial states, anchors, grids and scales
# of ones that exporters write are none. Skipped without PyTorch.
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
    "norms": (nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2)), torch.rand(4, 8)),
}
bad = 0
for name, (model, x) in models.items():
    torch.onnx.export(model, x, name + ".onnx", opset_version=13)
    wanted = sum(p.numel() for p in model.parameters())
    document = json.loads(subprocess.run([sys.argv[1], "inspect", "--json", name + ".onnx"], check=True, capture_output=True).stdout)
    got = document["model"]["parameters_trainable"]
    if got != wanted:
        bad += 1
        print(name, got, "not", wanted)
sys.exit(bad)
PY
finish
