# tests/corpus_maker/dense_models.py - models that are much for their bytes: long chains, functions that call functions, very many
# constants and tensors.
# usage: dense_models.py FOLDER
import json
import os
import random
import struct
import sys

from onnx import TensorProto, helper


def onnx_file(path, nodes, last, functions=(), initializers=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], list(initializers))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    model.functions.extend(functions)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def chain(path, n, name):
    nodes = [helper.make_node("Relu", ["x" if i == 0 else f"v{i}"], [f"v{i + 1}"], name=name(i)) for i in range(n)]
    onnx_file(path, nodes, f"v{n}")


def nested(path, depth, width):
    """Functions that call the one before `width` times: width ** depth layers."""
    functions = []
    for d in range(depth):
        nodes = [helper.make_node("Relu" if d == 0 else f"f{d - 1}", ["a" if i == 0 else f"t{i}"],
                                  ["b" if i == width - 1 else f"t{i + 1}"], domain="" if d == 0 else "d") for i in range(width)]
        functions.append(helper.make_function("d", f"f{d}", ["a"], ["b"], nodes,
                                              [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]))
    onnx_file(path, [helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="d")], "y", functions)


def constants(path, n):
    tensors = [helper.make_tensor(f"c{i}", TensorProto.FLOAT, [1], [float(i)]) for i in range(n)]
    nodes = [helper.make_node("Add", ["x" if i == 0 else f"v{i}", f"c{i}"], [f"v{i + 1}"], name=f"a{i}/b") for i in range(n)]
    onnx_file(path, nodes, f"v{n}", (), tensors)


def safetensors(path, n):
    header = json.dumps({f"m{i}.w": {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i in range(n)}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + bytes(4 * n))


def gguf(path, n):
    text = lambda s: struct.pack("<Q", len(s)) + s
    tensors = b"".join(text(b"blk.%d.w" % i) + struct.pack("<IQIQ", 1, 8, 0, 32 * i) for i in range(n))
    head = b"GGUF" + struct.pack("<IQQ", 3, n, 1) + text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama") + tensors
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + bytes(32 * n))


def main():
    folder = sys.argv[1]
    os.makedirs(folder)
    at = lambda name: os.path.join(folder, name)
    chain(at("long.onnx"), 60000, lambda i: f"n{i}")
    chain(at("scopes.onnx"), 12000, lambda i: f"a{i}/b")
    constants(at("constants.onnx"), 15000)
    safetensors(at("many.safetensors"), 50000)
    gguf(at("many.gguf"), 50000)
    rng = random.Random(15)
    # The last ones are around the most nodes that a model may have, and past them.
    shapes = {(16, 2), (15, 2), (5, 9), (10, 3), (8, 4), (2, 630), (3, 73), (3, 90), (12, 8), (2, 400), (3, 55)}
    while len(shapes) < 16:
        depth, width = rng.randint(2, 18), rng.randint(2, 700)
        if 2000 < width ** depth < 4000000:
            shapes.add((depth, width))
    for depth, width in sorted(shapes):
        nested(at(f"nested_{depth}_{width}.onnx"), depth, width)


main()
