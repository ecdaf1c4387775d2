"""Activations that a training step keeps: what `inspect --train` counts in exports against what PyTorch's autograd saves, the bytes
of all distinct storages but those of parameters and buffers. check_kept.py ASSAY"""

import json, subprocess, sys, warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(1)


class Block(nn.Module):
    """ConvNeXt: LayerNorm of the last axis between permutations, Gelu, a trained scale by channel."""

    def __init__(self, n):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(n, n, 7, padding=3, groups=n), nn.LayerNorm(n)
        self.a, self.b, self.scale = nn.Linear(n, 4 * n), nn.Linear(4 * n, n), nn.Parameter(torch.rand(n, 1, 1))

    def forward(self, x):
        y = self.b(F.gelu(self.a(self.norm(self.conv(x).permute(0, 2, 3, 1)))))
        return x + self.scale * y.permute(0, 3, 1, 2)


class Squeeze(nn.Module):
    """MobileNet v3, EfficientNet: HardSwish and SiLU, squeeze and excitation."""

    def __init__(self, n, act, gate):
        super().__init__()
        self.conv, self.norm, self.act, self.gate = nn.Conv2d(n, n, 3, padding=1), nn.BatchNorm2d(n), act, gate
        self.less, self.more = nn.Conv2d(n, n // 4, 1), nn.Conv2d(n // 4, n, 1)

    def forward(self, x):
        x = self.act(self.norm(self.conv(x)))
        return self.gate(self.more(F.relu(self.less(F.adaptive_avg_pool2d(x, 1))))) * x


class Windows(nn.Module):
    """Swin: shifted windows, heads by one product, a table of biases."""

    def __init__(self, n=32, heads=4, size=4):
        super().__init__()
        self.n, self.heads, self.size, self.norm = n, heads, size, nn.LayerNorm(n)
        self.qkv, self.out, self.bias = nn.Linear(n, 3 * n), nn.Linear(n, n), nn.Parameter(torch.rand(heads, size**2, size**2))

    def forward(self, x):
        (b, h, w, n), s = x.shape, self.size
        y = torch.roll(self.norm(x), (-2, -2), (1, 2)).view(b, h // s, s, w // s, s, n).permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, n)
        q, k, v = self.qkv(y).reshape(-1, s * s, 3, self.heads, n // self.heads).permute(2, 0, 3, 1, 4)
        a = torch.softmax((q * (n // self.heads) ** -0.5) @ k.transpose(-2, -1) + self.bias, -1)
        y = self.out((a @ v).transpose(1, 2).reshape(-1, s * s, n))
        return x + y.view(b, h // s, w // s, s, s, n).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, n)


class Decoder(nn.Module):
    """GPT-2: causal attention, Gelu by tanh, as it is written there."""

    def __init__(self, n=64, heads=4, layers=2, steps=32):
        super().__init__()
        self.n, self.heads, self.table, self.head = n, heads, nn.Embedding(100, n), nn.Linear(n, 100, bias=False)
        self.norms = nn.ModuleList(nn.LayerNorm(n) for _ in range(2 * layers))
        self.qkv, self.out = (nn.ModuleList(nn.Linear(n, m * n) for _ in range(layers)) for m in (3, 1))
        self.up, self.down = nn.ModuleList(nn.Linear(n, 4 * n) for _ in range(layers)), nn.ModuleList(nn.Linear(4 * n, n) for _ in range(layers))
        self.register_buffer("past", torch.tril(torch.ones(steps, steps)).view(1, 1, steps, steps))

    def forward(self, ids):
        x, (b, t), d = self.table(ids), ids.shape, self.n // self.heads
        for i in range(len(self.qkv)):
            q, k, v = (y.view(b, t, self.heads, d).transpose(1, 2) for y in self.qkv[i](self.norms[2 * i](x)).split(self.n, 2))
            a = torch.softmax(((q @ k.transpose(-2, -1)) / d**0.5).masked_fill(self.past[:, :, :t, :t] == 0, -1e9), -1)
            x = x + self.out[i]((a @ v).transpose(1, 2).contiguous().view(b, t, self.n))
            x = x + self.down[i](F.gelu(self.up[i](self.norms[2 * i + 1](x)), approximate="tanh"))
        return self.head(x)


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.table, self.cell, self.head = nn.Embedding(50, 24), cell(24, 32, 2), nn.Linear(32, 5)

    def forward(self, ids):
        return self.head(self.cell(self.table(ids))[0])


def encoder(**options):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, **options), 2)


picture, sequence = torch.rand(1, 16, 24, 24), torch.rand(24, 2, 64)
models = {
    "convnext": (nn.Sequential(nn.Conv2d(16, 24, 4, 4), Block(24), Block(24)), picture),
    "mobilenet": (Squeeze(16, nn.Hardswish(), nn.Hardsigmoid()), picture),
    "efficientnet": (Squeeze(16, nn.SiLU(), nn.Sigmoid()), picture),
    "resnet": (nn.Sequential(nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(16, 8, 1)), picture),
    "densenet": (nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 1), nn.AvgPool2d(2), nn.Conv2d(8, 8, 3)), picture),
    "group norm": (nn.Sequential(nn.Conv2d(16, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 4, 1)), picture),
    "swin": (Windows(), torch.rand(2, 8, 8, 32)),
    "encoder": (encoder(), sequence),
    "encoder, norm first": (encoder(batch_first=True, norm_first=True, activation="gelu"), sequence),
    "decoder": (Decoder(), torch.randint(0, 100, (2, 32))),
    "lstm": (Recurrent(nn.LSTM), torch.randint(0, 50, (20, 3))),
    "gru": (Recurrent(nn.GRU), torch.randint(0, 50, (20, 3))),
    "rnn": (Recurrent(nn.RNN), torch.randint(0, 50, (20, 3))),
}


def saved_by_autograd(model, x):
    held, alive = {}, []
    own = {t.storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}

    def pack(t):
        alive.append(t)
        if t.storage().data_ptr() not in own:
            held[t.storage().data_ptr()] = t.storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        alive.append(model(x))
    return sum(held.values())


bad = 0
for name, (model, x) in models.items():
    for p in model.parameters():  # equal ones would be merged by the exporter
        p.data += 0.01 * torch.randn_like(p)
    model.train("encoder" in name)
    wanted = saved_by_autograd(model, x)
    torch.onnx.export(model, x, "kept.onnx", opset_version=13, training=torch.onnx.TrainingMode.PRESERVE)
    out = subprocess.run([sys.argv[1], "inspect", "--train", "--json", "kept.onnx"], check=True, capture_output=True).stdout
    got = json.loads(out)["training"]["saved_activation_bytes"]
    print(f"{name:20} {got:9} of {wanted:9}: {got / wanted:.3f}")
    bad += not 0.95 < got / wanted < 1.05
sys.exit(bad)
