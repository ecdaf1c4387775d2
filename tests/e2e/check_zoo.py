"""Judges files that `assay zoo` wrote by python3-onnx: its checker, its shape inference in strict mode, and the number
of elements.

usage: check_zoo.py ASSAY FOLDER SPEC...
"""
import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper

assay, folder = sys.argv[1:3]
failed = 0


def wrong(spec, why):
    global failed
    failed += 1
    print(f"{spec}: {why}")


def dims(value):
    return [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]


for spec in sys.argv[3:]:
    path = os.path.join(folder, "model.onnx")
    run = subprocess.run([assay, "zoo", spec, "-q", "--force", "-o", path], capture_output=True, text=True)
    if run.returncode != 0:
        wrong(spec, run.stderr.strip())
        continue
    said = json.loads(subprocess.run([assay, "zoo", spec, "--json"], capture_output=True, check=True).stdout)["models"][0]
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        wrong(spec, str(error).splitlines()[0])
        continue
    if [dims(v) for v in model.graph.input] != [i["shape"] for i in said["inputs"]] and "=0" not in spec:
        wrong(spec, "inputs differ")
    elements = sum(int(numpy.prod(t.dims)) for t in model.graph.initializer)
    if elements != said["parameters_stored"]:
        wrong(spec, f"{elements} elements in the file, not {said['parameters_stored']}")
    names = [n.name for n in model.graph.node] + [t.name for t in model.graph.initializer]
    if len(names) != len(set(names)) or not all(names):
        wrong(spec, "names are missing or used twice")
    known = {v.name for v in inferred.graph.value_info} | {v.name for v in inferred.graph.output}
    for node in model.graph.node:
        if any(o not in known for o in node.output):
            wrong(spec, f"{node.name}: its output has no type")
            break
    for tensor in model.graph.initializer:
        numbers = numpy_helper.to_array(tensor)
        if numbers.dtype.kind == "f" and not numpy.isfinite(numbers).all():
            wrong(spec, f"{tensor.name} has numbers that are not finite")
        if numbers.size > 1000 and not 0 < numbers.astype("f8").std() < 2:
            wrong(spec, f"{tensor.name} has a standard deviation of {numbers.std()}")
print(f"{len(sys.argv) - 3} models judged")
sys.exit(1 if failed else 0)
