"""What --fit answers is right at both sides: that batch needs no more than the memory, one more needs more."""
import json
import subprocess
import sys

assay, path = sys.argv[1:3]
fit = json.load(open(path))["fit"]


def needed(batch):
    run = subprocess.run([assay, "inspect", "--json", "--batch", str(batch), "zoo:mlp"], capture_output=True, check=True)
    m = json.loads(run.stdout)["model"]
    return m["parameter_bytes"] + m["activation_bytes_peak"]


assert fit["largest"] > 1, fit
assert needed(fit["largest"]) <= fit["memory_bytes"]
assert needed(fit["largest"] + 1) > fit["memory_bytes"]
