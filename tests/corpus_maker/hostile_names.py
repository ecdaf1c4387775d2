"""Writes a model that runs, every name in which tries to do something to whoever shows it: hostile_names.py FILE.onnx MORE [bytes]
MORE changes its size, so that two of them differ; with "bytes" a name is not UTF-8."""
import sys
import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

NAMES = [
    "esc\x1b[2J\x1b[31mred", "osc\x1b]52;c;ZXZpbA==\x07", "title\x1b]0;owned\x1b\\", "line\nfeed", "carriage\rreturn", "bell\x07",
    "back\x08\x08space", "delete\x7f", "c1\x9b31m\x85\x90", "bidi\u202eevil\u202c\u2066x\u2069", "separator\u2028\u2029",
    "zero\u200b\ufeff\u2060", "tag\U000e0041\U000e007f", "=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "\"quote\" 'single'", "back\\slash\\n", "%s%n%x", "pipe|pipe", "`code`", "[link](http://x)",
    "**bold** _under_", "&amp;", "]]>", "a,b;c", "tab\there", "INVALID12",
]
width = 8 + int(sys.argv[2])
nodes, weights = [], []
last = NAMES[0] + "/input"
for i, name in enumerate(NAMES):
    value = f"{name}/value{i}"
    if i % 3 == 0:
        weight = f"{name}/weight{i}"
        weights.append(numpy_helper.from_array(np.ones((width, width), np.float32), weight))
        nodes.append(helper.make_node("MatMul", [last, weight], [value], name=f"{name}/{name}"))
    else:
        nodes.append(helper.make_node(["Relu", "Sigmoid"][i % 2], [last], [value], name=f"{name}/{name}"))
    last = value
graph = helper.make_graph(
    nodes, NAMES[1], [helper.make_tensor_value_info(NAMES[0] + "/input", TensorProto.FLOAT, [1, width])],
    [helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, width])], weights, doc_string=NAMES[2])
model = helper.make_model(graph, producer_name=NAMES[0], opset_imports=[helper.make_opsetid("", 13)])
model.producer_version = NAMES[8]
model.domain = NAMES[9]
entry = model.metadata_props.add()
entry.key, entry.value = NAMES[1], "".join(NAMES)
data = model.SerializeToString()
if "bytes" in sys.argv: # Python's protobuf cannot say it
    data = data.replace(b"INVALID12", b"\xff\x9b31m\xc0\xaf\x80\xfe")
with open(sys.argv[1], "wb") as out:
    out.write(data)
