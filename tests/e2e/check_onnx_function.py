# tests/e2e/check_onnx_function.py - the dump of tests/corpus/onnx/function.onnx: the call is replaced by the nodes of its function.
# usage: check_onnx_function.py DUMP.json
import json
import sys

graph = json.load(open(sys.argv[1]))["graph"]
nodes = [(n["op"], n["inputs"], n["outputs"]) for n in graph["nodes"]]
assert nodes == [("Relu", ["x"], ["call/c"]), ("LeakyRelu", ["call/c"], ["y"])], nodes
attrs = graph["nodes"][1]["attrs"]
# The call gives no alpha, so the function's default counts.
assert [(a["name"], a["value"]) for a in attrs] == [("alpha", 0.5)], attrs
assert graph["inputs"] == ["x"] and graph["outputs"] == ["y"]
