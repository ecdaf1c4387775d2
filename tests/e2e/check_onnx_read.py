# tests/e2e/check_onnx_read.py - python3-onnx as the judge of what model_dump says of ONNX files, and of what model_copy writes.
# usage: check_onnx_read.py TESTS_FOLDER SCRATCH FILE...; prints every difference and ends with 1 when there is one.
import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, numpy_helper

DTYPES = {0: "unknown", 1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "string", 9: "bool", 10: "f16",
          11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16"}
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)
CRC_LIMIT = 4096  # bytes; python is slow at this
problems = []


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def tensor_bytes(tensor):
    if tensor.data_type == TensorProto.STRING:
        return b"".join(tensor.string_data)
    if tensor.data_type == TensorProto.BFLOAT16:
        if tensor.raw_data:
            return tensor.raw_data
        return numpy.array(tensor.int32_data, dtype=numpy.uint16).tobytes()
    return numpy.ascontiguousarray(numpy_helper.to_array(tensor)).tobytes()


def expect(path, what, wanted, got):
    if wanted != got:
        problems.append(f"{path}: {what}: python3-onnx says {str(wanted)[:200]}, we {str(got)[:200]}")


def type_of(proto):
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(proto, kind)
        dims = None
        if tensor.HasField("shape"):
            dims = [d.dim_value if d.WhichOneof("value") == "dim_value" and d.dim_value >= 0 else None for d in tensor.shape.dim]
        return {"kind": "tensor", "dtype": DTYPES[tensor.elem_type], "dims": dims}
    if kind in ("sequence_type", "optional_type"):
        return {"kind": kind[:-5], "elem": type_of(getattr(proto, kind).elem_type)}
    if kind == "map_type":
        return {"kind": "map", "elem": type_of(proto.map_type.value_type)}
    return {"kind": "tensor", "dtype": "unknown", "dims": None}


def check_data(path, what, tensor, data):
    size = int(numpy.prod(tensor.dims, dtype=numpy.int64))
    expect(path, what + " elements", size, data["n"])
    expect(path, what + " dtype", DTYPES[tensor.data_type], data["dtype"])
    raw = tensor_bytes(tensor)
    if len(raw) <= CRC_LIMIT:
        expect(path, what + " checksum", crc32c(raw), data["crc"])


def check_attr(path, wanted, got):
    name = f"attribute {wanted.name}"
    expect(path, name + " name", wanted.name, got["name"])
    kind = wanted.type
    if kind == onnx.AttributeProto.FLOAT:
        if numpy.isfinite(wanted.f):
            expect(path, name, numpy.float32(wanted.f), numpy.float32(got["value"]))
    elif kind == onnx.AttributeProto.INT:
        expect(path, name, wanted.i, got["value"])
    elif kind == onnx.AttributeProto.STRING:
        expect(path, name, wanted.s.decode(errors="replace"), got["value"])
    elif kind == onnx.AttributeProto.TENSOR:
        check_data(path, name, wanted.t, got["value"]["data"])
        expect(path, name + " dims", list(wanted.t.dims), got["value"]["type"]["dims"])
    elif kind == onnx.AttributeProto.GRAPH:
        check_graph(path, wanted.g, got["value"])
    elif kind == onnx.AttributeProto.INTS:
        expect(path, name, list(wanted.ints), got["value"])
    elif kind == onnx.AttributeProto.FLOATS:
        expect(path, name, [float(x) for x in wanted.floats], [float(numpy.float32(x)) for x in got["value"]])
    elif kind == onnx.AttributeProto.STRINGS:
        expect(path, name, [s.decode(errors="replace") for s in wanted.strings], got["value"])
    elif kind == onnx.AttributeProto.SPARSE_TENSOR:
        expect(path, name + " stored", int(wanted.sparse_tensor.values.dims[0]), got["value"]["data"]["stored"])
        expect(path, name + " dims", list(wanted.sparse_tensor.dims), got["value"]["type"]["dims"])
    elif kind == onnx.AttributeProto.TYPE_PROTO:
        expect(path, name, type_of(wanted.tp), got["value"])


def kept_nodes(graph):
    last = {}
    for i, node in enumerate(graph.node):
        if node.op_type == "Constant":
            last[node.output[0]] = i
    return [n for i, n in enumerate(graph.node) if n.op_type != "Constant" or last[n.output[0]] == i]


def check_graph(path, graph, got):
    nodes = kept_nodes(graph)
    expect(path, "number of nodes", len(nodes), len(got["nodes"]))
    # A graph out of order is sorted; nodes are found by what they make.
    by_output = {tuple(n["outputs"]): n for n in got["nodes"]}
    for node in nodes:
        ours = by_output.get(tuple(node.output))
        if ours is None:
            problems.append(f"{path}: node that makes {list(node.output)} is missing")
            continue
        expect(path, "operator", node.op_type, ours["op"])
        expect(path, "inputs of " + node.op_type, list(node.input), ours["inputs"])
        expect(path, "attributes of " + node.op_type, len(node.attribute), len(ours["attrs"]))
        for wanted, attr in zip(node.attribute, ours["attrs"]):
            check_attr(path, wanted, attr)
    expect(path, "inputs", [i.name for i in graph.input], got["inputs"])
    expect(path, "outputs", [o.name for o in graph.output], got["outputs"])
    values = {v["name"]: v for v in got["values"]}
    constants = {t.name: t for t in graph.initializer}
    for name, tensor in constants.items():
        ours = values.get(name)
        if ours is None or not ours["initializer"]:
            problems.append(f"{path}: initializer {name} is missing")
            continue
        expect(path, f"dims of {name}", list(tensor.dims), ours["type"]["dims"])
        check_data(path, name, tensor, ours["data"])
    n_constants = len(constants) + len(graph.sparse_initializer)
    expect(path, "number of initializers", n_constants, sum(v["initializer"] for v in got["values"]))
    for info in list(graph.input) + list(graph.output):
        if info.name in constants or info.name not in values:
            continue
        if info.HasField("type"):
            expect(path, f"type of {info.name}", type_of(info.type), values[info.name]["type"])
    for info in graph.input:
        if info.type.WhichOneof("value") == "tensor_type" and info.name not in constants:
            symbols = [d.dim_param or None for d in info.type.tensor_type.shape.dim]
            if any(symbols):
                expect(path, f"symbols of {info.name}", symbols, values[info.name].get("symbols"))


def dump(tool, paths):
    run = subprocess.run([tool] + paths, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in run.stderr.decode().splitlines():
        problems.append(line)
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


def same(path, a, b):
    """Two dumps must be equal, the order of the values aside."""
    for model in (a, b):
        model["graph"]["values"].sort(key=lambda value: value["name"])
    a, b = json.dumps(a), json.dumps(b)
    if a != b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        problems.append(f"{path}: written and read again it differs: {a[at - 80:at + 40]} / {b[at - 80:at + 40]}")


def main():
    tests, scratch, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    copy = os.path.join(scratch, "copy.onnx")
    n_checked = 0
    for at in range(0, len(paths), 50):
        part = paths[at:at + 50]
        dumps = dump(os.path.join(tests, "model_dump"), part)
        if len(dumps) != len(part):
            problems.append(f"{len(part) - len(dumps)} of {len(part)} files could not be read")
            continue
        for path, ours in zip(part, dumps):
            model = onnx.load(path)
            expect(path, "IR version", model.ir_version, ours["ir_version"])
            expect(path, "opsets", [(o.domain, o.version) for o in model.opset_import],
                   [(o["domain"], o["version"]) for o in ours["opsets"]])
            expect(path, "metadata", {m.key: m.value for m in model.metadata_props}, ours["meta"])
            if not model.functions:
                check_graph(path, model.graph, ours["graph"])
            sparse = b"sparse" in open(path, "rb").read()
            for how in ([], ["external"]):
                for old in (copy, copy + ".data"): # a model is not replaced
                    if os.path.exists(old):
                        os.remove(old)
                run = subprocess.run([os.path.join(tests, "model_copy"), path, copy] + how, stderr=subprocess.PIPE)
                if run.returncode != 0:
                    if b"of a kind that cannot be written" not in run.stderr:
                        problems.append(f"{path}: not written: {run.stderr.decode().strip()}")
                    continue
                again = dump(os.path.join(tests, "model_dump"), [copy])
                if again and not sparse:
                    a, b = dict(ours), dict(again[0])
                    a.pop("findings"), b.pop("findings")
                    same(path, a, b)
                if len(how) == 0:
                    try:
                        onnx.checker.check_model(copy)
                    except Exception as problem:  # whatever it raises, unless it says the same of the original
                        try:
                            onnx.checker.check_model(path)
                            problems.append(f"{path}: what we write is refused: {str(problem)[:200]}")
                        except Exception:
                            pass
            n_checked += 1
    for problem in problems[:60]:
        print(problem)
    print(f"{n_checked} files, {len(problems)} differences")
    return 1 if problems else 0


sys.exit(main())
