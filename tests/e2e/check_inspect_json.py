"""The keys of `assay inspect --json` that users rely on, and what must hold between them."""
import json
import math
import sys


def refuse(name):
    raise ValueError(name)


j = json.load(open(sys.argv[1]), parse_constant=refuse)
assert j["schema"] == "assay.inspect" and j["schema_version"] == 1
assert "1 MAC = 2 FLOPs" in j["convention"]
model = j["model"]
for key in ("path format opset nodes parameters parameters_stored parameter_bytes macs flops elementwise_ops "
            "transcendental_ops bytes_moved activation_bytes_peak unknown_ops").split():
    assert key in model, key
for layer in j["layers"]:
    for key in ("name op inputs outputs parameters macs flops elementwise_ops transcendental_ops bytes_read "
                "bytes_written").split():
        assert key in layer, key
    assert layer["flops"] == 2 * layer["macs"] + layer["elementwise_ops"] + layer["transcendental_ops"]
    if layer["outputs"] and layer["op"] == "Conv":
        out = layer["outputs"][0]
        assert len(out["shape"]) == 4 and out["dtype"] == "f32"
        assert layer["bytes_written"] == 4 * math.prod(out["shape"])
assert model["bytes_moved"] == sum(l["bytes_read"] + l["bytes_written"] for l in j["layers"])
assert j["backward"]["macs"] == sum(l["backward_macs"] for l in j["layers"])
assert model["activation_bytes_peak"] <= model["activation_bytes_naive"]
assert max(j["memory"]["live_bytes"]) == model["activation_bytes_peak"]
assert j["memory"]["parameter_memory_mb"] == model["parameter_bytes"] / 2**20
roles = j["parameters"]["by_role"]
assert roles["parameter"]["elements"] == model["parameters"]
assert sum(t["elements"] for t in j["parameters"]["tensors"] if t["role"] == "parameter") == model["parameters"]
assert sum(t["stored_elements"] for t in j["parameters"]["tensors"]) == model["parameters_stored"]
