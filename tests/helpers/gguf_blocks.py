# tests/helpers/gguf_blocks.py - stores the matrices of a GGUF file in f32 as blocks of 32: Q8_0 or Q4_0.
# usage: gguf_blocks.py IN OUT Q8_0|Q4_0
import struct
import sys

import numpy as np

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TYPES = {"Q4_0": 2, "Q8_0": 8}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

    def text(self):
        n = self.take("Q")
        self.at += n

    def value(self, kind):
        if kind == 8:
            self.text()
        elif kind == 9:
            inner, n = self.take("I"), self.take("Q")
            for _ in range(n):
                self.value(inner)
        else:
            self.at += SIZES[kind]


def q8_0(rows):
    blocks = rows.reshape(-1, 32)
    scale = (np.abs(blocks).max(1) / 127).astype(np.float16)
    safe = np.where(scale == 0, 1, scale.astype(np.float32))
    q = np.clip(np.round(blocks / safe[:, None]), -127, 127).astype(np.int8)
    return np.concatenate([scale[:, None].view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


def q4_0(rows):
    blocks = rows.reshape(-1, 32)
    most = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(1)]
    scale = (most / -8).astype(np.float16)
    safe = np.where(scale == 0, 1, scale.astype(np.float32))
    q = np.clip(np.round(blocks / safe[:, None]) + 8, 0, 15).astype(np.uint8)
    packed = q[:, :16] | q[:, 16:] << 4
    return np.concatenate([scale[:, None].view(np.uint8).reshape(-1, 2), packed], 1).tobytes()


def main(path, out, name):
    data = open(path, "rb").read()
    r = Reader(data)
    r.at = 8
    n_tensors, n_values = r.take("Q"), r.take("Q")
    for _ in range(n_values):
        r.text()
        r.value(r.take("I"))
    head = data[: r.at]
    infos = []
    for _ in range(n_tensors):
        start = r.at
        r.text()
        label = data[start : r.at]
        dims = [r.take("Q") for _ in range(r.take("I"))]
        infos.append((label, dims, r.take("I"), r.take("Q")))
    base = -(-r.at // 32) * 32
    table, body = b"", b""
    for label, dims, kind, offset in infos:
        n = int(np.prod(dims))
        assert kind == 0, "the weights are not f32"
        raw = data[base + offset : base + offset + 4 * n]
        if len(dims) == 2 and dims[0] % 32 == 0:
            rows = np.frombuffer(raw, np.float32)
            raw, kind = (q8_0 if name == "Q8_0" else q4_0)(rows), TYPES[name]
        table += label + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, len(body))
        body += raw + b"\0" * (-len(raw) % 32)
    whole = head + table
    with open(out, "wb") as f:
        f.write(whole + b"\0" * (-len(whole) % 32) + body)


main(*sys.argv[1:])
