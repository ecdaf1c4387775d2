#!/usr/bin/env python3
"""A second opinion on TensorFlow Lite files, by the standard library alone: for each file the operators,
tensors, constants, their elements and bytes (each buffer once), and the operators by name."""
import struct
import sys

NAMES = {0: "ADD", 1: "AVERAGE_POOL_2D", 2: "CONCATENATION", 3: "CONV_2D", 4: "DEPTHWISE_CONV_2D", 9: "FULLY_CONNECTED",
         19: "RELU", 22: "RESHAPE", 25: "SOFTMAX", 34: "PAD", 39: "TRANSPOSE", 40: "MEAN", 114: "QUANTIZE", 6: "DEQUANTIZE"}
WIDTH = {0: 4, 1: 2, 2: 4, 3: 1, 4: 8, 6: 1, 7: 2, 9: 1, 10: 8}


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.size = struct.unpack_from("<H", data, self.vtable)[0]

    def slot(self, n):
        if 4 + 2 * n >= self.size:
            return 0
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * n)[0]
        return self.at + offset if offset else 0

    def number(self, n, form, default=0):
        at = self.slot(n)
        return struct.unpack_from("<" + form, self.data, at)[0] if at else default

    def follow(self, n):
        at = self.slot(n)
        return at + struct.unpack_from("<I", self.data, at)[0] if at else 0

    def vector(self, n, form):
        at = self.follow(n)
        if not at:
            return ()
        count = struct.unpack_from("<I", self.data, at)[0]
        return struct.unpack_from("<%d%s" % (count, form), self.data, at + 4)

    def tables(self, n):
        at = self.follow(n)
        if not at:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        places = [at + 4 + 4 * i for i in range(count)]
        return [Table(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in places]


def judge(path):
    with open(path, "rb") as f:
        data = f.read()
    model = Table(data, struct.unpack_from("<I", data)[0])
    codes = [max(c.number(0, "b"), c.number(3, "i")) for c in model.tables(1)]
    buffers = [len(b.vector(0, "B")) for b in model.tables(4)]
    graph = model.tables(2)[0]
    seen, constants, elements, floats, quantised, size = set(), 0, 0, 0, 0, 0
    for t in graph.tables(0):
        buffer, kind = t.number(2, "I"), t.number(1, "b")
        if not buffers[buffer] or buffer in seen:
            continue
        seen.add(buffer)
        n = 1
        for d in t.vector(0, "i"):
            n *= d
        assert n * WIDTH[kind] == buffers[buffer], (n, kind, buffers[buffer])
        constants += 1
        elements += n
        floats += n if kind == 0 else 0
        quantised += n if t.follow(4) and Table(data, t.follow(4)).vector(2, "f") else 0
        size += buffers[buffer]
    ops = {}
    for o in graph.tables(3):
        name = NAMES.get(codes[o.number(0, "I")], str(codes[o.number(0, "I")]))
        ops[name] = ops.get(name, 0) + 1
    print("%s operators=%d tensors=%d constants=%d elements=%d f32=%d quantised=%d bytes=%d %s" % (
        path.rsplit("/", 1)[-1], len(graph.tables(3)), len(graph.tables(0)), constants, elements, floats, quantised, size,
        " ".join("%s=%d" % kv for kv in sorted(ops.items()))))


for name in sys.argv[1:]:
    judge(name)
