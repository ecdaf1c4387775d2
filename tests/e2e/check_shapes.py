# tests/e2e/check_shapes.py - python3-onnx as the judge of inferred shapes: wherever it and we know a dimension, they agree.
# usage: check_shapes.py TESTS_FOLDER FILE...; prints every difference and what was compared, ends with 1 when there is one.
import json
import os
import subprocess
import sys

import onnx
from onnx import shape_inference

DTYPES = {0: "unknown", 1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "string", 9: "bool", 10: "f16",
          11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16"}
counts = {"values": 0, "dims": 0, "we know more": 0, "it knows more": 0}
problems, skipped, more = [], [], []


def strip(graph):
    """Nothing that a file says of what nodes make: both work it out."""
    del graph.value_info[:]
    for output in graph.output:
        if output.type.WhichOneof("value") == "tensor_type":
            output.type.tensor_type.ClearField("shape")


def compare(path, name, wanted, ours):
    kind = wanted.WhichOneof("value")
    if ours == {"kind": "tensor", "dtype": "unknown", "dims": None}:
        counts["it knows more"] += 1
        more.append(f"{path}: {name}")
        return
    if kind in ("sequence_type", "optional_type"):
        if ours["kind"] == kind[:-5] and "elem" in ours:
            compare(path, name, getattr(wanted, kind).elem_type, ours["elem"])
        elif ours["kind"] != kind[:-5]:
            problems.append(f"{path}: {name} is a {kind[:-5]}, we say {ours['kind']}")
        return
    if kind != "tensor_type":
        return
    tensor = wanted.tensor_type
    counts["values"] += 1
    if tensor.elem_type and ours["dtype"] not in ("unknown", DTYPES.get(tensor.elem_type)):
        problems.append(f"{path}: {name} is of {DTYPES.get(tensor.elem_type)}, we say {ours['dtype']}")
    if not tensor.HasField("shape"):
        counts["we know more"] += ours["dims"] is not None
        return
    if ours["dims"] is None:
        counts["it knows more"] += 1
        more.append(f"{path}: {name}")
        return
    dims = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    if len(dims) != len(ours["dims"]):
        problems.append(f"{path}: {name} is {dims}, we say {ours['dims']}")
        return
    for a, b in zip(dims, ours["dims"]):
        if a is not None and b is not None:
            counts["dims"] += 1
            if a != b:
                problems.append(f"{path}: {name} is {dims}, we say {ours['dims']}")
                return
        counts["we know more"] += a is None and b is not None
        if a is not None and b is None:
            counts["it knows more"] += 1
            more.append(f"{path}: {name} is {dims}, we say {ours['dims']}")


def check(path, ours):
    model = onnx.load(path)
    if "error" in ours:
        problems.append(f"{path}: {ours['error']}")
        return
    strip(model.graph)
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except Exception as problem:
        skipped.append(f"{path}: python3-onnx gives up: {str(problem)[:100]}")
        return
    for info in list(inferred.graph.value_info) + list(inferred.graph.output):
        if info.name in ours["values"]:
            compare(path, info.name, info.type, ours["values"][info.name])


def main():
    tests, paths = sys.argv[1], sys.argv[2:]
    run = subprocess.run([os.path.join(tests, "model_shapes")] + paths, stdout=subprocess.PIPE)
    lines = run.stdout.decode().splitlines()
    if run.returncode != 0 or len(lines) != len(paths):
        problems.append("model_shapes did not say something of every file")
    for path, line in zip(paths, lines):
        check(path, json.loads(line))
    for line in skipped:
        print("not judged:", line)
    if os.environ.get("SHOW_MORE"):
        for line in more:
            print("it knows more:", line)
    for line in problems:
        print(line)
    print(", ".join(f"{key} {value}" for key, value in counts.items()))
    sys.exit(1 if problems else 0)


main()
