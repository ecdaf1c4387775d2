"""check_callers_at_peak.py NAME [last]: who held the peak in NAME.json and its exports, made by test_callers_at_peak.sh."""
import json, sys

name, keeps = sys.argv[1], sys.argv[2] == "last"
heap = json.load(open(name + ".json"))["program"]["heap"]
peak = 600 * 200000 + 300 * 100000
assert peak <= heap["peak_bytes"] <= peak + 2e6, heap["peak_bytes"]
sites = [s for s in heap["sites"] if (s["peak_live_bytes"] or 0) > 1e6]
share = {}
for site in sites:
    assert sum(c["peak_share"] for c in site["callers"]) <= 1 + 1e-9
    for c in site["callers"]:
        assert c["estimate"] and c["samples"] > 0, c
        plain = c["function"].split("(")[0]
        share[plain] = share.get(plain, 0) + c["peak_share"] * site["peak_live_bytes"] / peak
assert set(share) == {"weights", "gradients", "scratch", "last"}, share
# The peak is 286 samples: 0.14 are six standard deviations of these shares. It may be noted while one block of scratch is there.
assert abs(share["weights"] - 0.8) < 0.14 and abs(share["gradients"] - 0.2) < 0.14, share
assert share["scratch"] < 0.03 and share["last"] == 0, share
if keeps:
    held = sum(c["live_bytes"] for s in sites for c in s["callers"] if c["function"].startswith("last"))
    assert 0.9 * 60e6 < held <= 60.2e6, (held, "what is live at the end is another's")


def function_of(stack):
    return next(f for f in stack["frames"] if f.split("(")[0].split("+")[0] in share).split("(")[0].split("+")[0]


estimated = {}
for stack in heap["stacks"]:
    assert 0 <= stack["peak_live_bytes_estimate"] <= stack["allocated_bytes_estimate"]
    if any(f.startswith(tuple(share)) for f in stack["frames"]):
        estimated[function_of(stack)] = estimated.get(function_of(stack), 0) + int(stack["peak_live_bytes_estimate"] + 0.5)
assert estimated["last"] == 0 and estimated["weights"] > estimated["gradients"] > 0, estimated

folded = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in open(name + ".folded")}
assert sum(folded.values()) == sum(int(s["peak_live_bytes_estimate"] + 0.5) for s in heap["stacks"])
assert not any("last" in f.split(";")[-2] or "last" in f.split(";")[-3] for f in folded), "who came later is not in it"
scope = json.load(open(name + ".speedscope"))
assert [p["name"] for p in scope["profiles"]] == ["allocated", "live at the end", "live at the peak"] and scope["activeProfileIndex"] == 2
assert scope["profiles"][2]["endValue"] == sum(folded.values())
assert b"peak_space" in open(name + ".pprof", "rb").read()
assert "live at the peak" in open(name + ".flamegraph").read()
print(name, {k: round(v, 3) for k, v in sorted(share.items())})
