"""Quantised blocks of random bytes: what the program model_blocks makes of them against NumPy, which
takes the bits apart a whole plane at a time."""
import subprocess
import sys

import numpy as np

U8 = np.uint8
rng = np.random.default_rng(7)
UNEVEN = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], float)
FP4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def half(b):
    return np.ascontiguousarray(b).view(np.float16).astype(float)


def nibbles(b):  # the low halves of all bytes, then the high ones
    return np.concatenate([b & 15, b >> 4], 1).astype(float)


def planes(b, bits, span):  # b in spans; each span is read again for every `bits` bits
    parts = b.reshape(len(b), -1, 1, span)
    shifts = np.arange(0, 8, bits, dtype=U8).reshape(1, 1, -1, 1)
    return ((parts >> shifts) & U8(2 ** bits - 1)).reshape(len(b), -1).astype(float)


def bits32(b):
    return np.unpackbits(b, axis=1, bitorder="little").astype(float)


def twelve(b):
    low, mid, top = b[:, :4], b[:, 4:8], b[:, 8:]
    scale = np.concatenate([low & 63, (top & 15) | (low >> 6 << 4)], 1)
    least = np.concatenate([mid & 63, (top >> 4) | (mid >> 6 << 4)], 1)
    return scale.astype(float), least.astype(float)


def each(v, n):
    return np.repeat(v, n, axis=1)


def q3_scales(b):
    low = np.concatenate([b[:, :8] & 15, b[:, :8] >> 4], 1)
    high = np.concatenate([b[:, 8:] >> s & 3 for s in (0, 2, 4, 6)], 1)
    return (low | high << 4).astype(float) - 32


def q45k(b, fifth):
    scale, least = twelve(b[:, 4:16])
    q = planes(b[:, 48:] if fifth else b[:, 16:], 4, 32)
    if fifth:
        q = q + 16 * planes(b[:, 16:48], 1, 32)
    return each(half(b[:, :2]) * scale, 32) * q - each(half(b[:, 2:4]) * least, 32)


def q6k(b):
    q = planes(b[:, :128], 4, 64) + 16 * planes(b[:, 128:192], 2, 32) - 32
    return half(b[:, 208:]) * each(b[:, 192:208].view(np.int8).astype(float), 16) * q


def iq4xs(b):
    high = np.concatenate([b[:, 2:3] >> s & 3 for s in (0, 2, 4, 6)]
                          + [b[:, 3:4] >> s & 3 for s in (0, 2, 4, 6)], 1)
    low = np.stack([b[:, 4:8] & 15, b[:, 4:8] >> 4], 2).reshape(len(b), 8)
    q = UNEVEN[planes(b[:, 8:], 4, 16).astype(int)]
    return half(b[:, :2]) * each((low | high << 4).astype(float) - 32, 32) * q


TYPES = {  # bytes, where half floats are, how
    "q4_0": (18, [0], lambda b: half(b[:, :2]) * (nibbles(b[:, 2:]) - 8)),
    "q4_1": (20, [0, 2], lambda b: half(b[:, :2]) * nibbles(b[:, 4:]) + half(b[:, 2:4])),
    "q5_0": (22, [0], lambda b: half(b[:, :2]) * (nibbles(b[:, 6:]) + 16 * bits32(b[:, 2:6]) - 16)),
    "q5_1": (24, [0, 2],
             lambda b: half(b[:, :2]) * (nibbles(b[:, 8:]) + 16 * bits32(b[:, 4:8])) + half(b[:, 2:4])),
    "q8_0": (34, [0], lambda b: half(b[:, :2]) * b[:, 2:].view(np.int8)),
    "q2_k": (84, [80, 82],
             lambda b: each(half(b[:, 80:82]) * (b[:, :16] & 15), 16) * planes(b[:, 16:80], 2, 32)
             - each(half(b[:, 82:]) * (b[:, :16] >> 4), 16)),
    "q3_k": (110, [108],
             lambda b: each(half(b[:, 108:]) * q3_scales(b[:, 96:108]), 16)
             * (planes(b[:, 32:96], 2, 32) + 4 * planes(b[:, :32], 1, 32) - 4)),
    "q4_k": (144, [0, 2], lambda b: q45k(b, False)),
    "q5_k": (176, [0, 2], lambda b: q45k(b, True)),
    "q6_k": (210, [208], q6k),
    "q8_k": (292, [], lambda b: np.ascontiguousarray(b[:, :4]).view(np.float32).astype(float)
             * b[:, 4:260].view(np.int8)),
    "iq4_nl": (18, [0], lambda b: half(b[:, :2]) * UNEVEN[nibbles(b[:, 2:]).astype(int)]),
    "iq4_xs": (136, [0], iq4xs),
    "mxfp4": (17, [], lambda b: 2.0 ** (b[:, :1].astype(float) - 127)
              * FP4[nibbles(b[:, 1:]).astype(int)]),
}

for name, (size, halves, how) in TYPES.items():
    blocks = rng.integers(0, 256, (50, size), dtype=U8)
    for at in halves:
        blocks[:, at:at + 2] = rng.normal(0, 1, (50, 1)).astype(np.float16).view(U8)
    if name == "q8_k":
        blocks[:, :4] = rng.normal(0, 1, (50, 1)).astype(np.float32).view(U8)
    if name == "mxfp4":
        blocks[:, 0] = rng.integers(100, 150, 50)
    out = subprocess.run([sys.argv[1], name], input=blocks.tobytes(), stdout=subprocess.PIPE, check=True)
    got = np.frombuffer(out.stdout, np.float32).reshape(50, -1)
    want = how(np.ascontiguousarray(blocks))
    if got.shape != want.shape or not np.allclose(got, want, rtol=1e-5, atol=1e-5 * abs(want).max()):
        sys.exit(f"{name}: {got.shape} {want.shape} {abs(got - want).max() if got.shape == want.shape else ''}")
