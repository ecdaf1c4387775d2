"""check_export_heap.py RUN.json FOLDED SPEDSCOPE PPROF LIVE_FOLDED: exports of heap stacks against the report of the run."""
import json, sys

report, folded, speedscope, pprof, live = sys.argv[1:6]
stacks = json.load(open(report))["program"]["heap"]["stacks"]
allocated = sum(int(s["allocated_bytes_estimate"] + 0.5) for s in stacks)
held = sum(int(s["live_bytes_estimate"] + 0.5) for s in stacks)
heap = json.load(open(report))["program"]["heap"]
assert allocated <= heap["allocated_bytes"] + len(stacks), (allocated, heap["allocated_bytes"])
assert held <= heap["live_bytes"] + len(stacks), (held, heap["live_bytes"])
assert allocated > 0.9 * heap["allocated_bytes"], (allocated, heap["allocated_bytes"])
peaks = [s["peak_live_bytes_estimate"] for s in stacks if s["peak_live_bytes_estimate"] is not None]
at_peak = [sum(int(p + 0.5) for p in peaks)] if peaks else []


def total(path):
    lines = open(path).read().splitlines()
    assert lines and all(line.rsplit(" ", 1)[1].isdigit() for line in lines), lines[:3]
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines), lines


amount, lines = total(folded)
assert amount == allocated > 0, (amount, allocated)
assert not any("+0x" in line for line in lines), "frames are functions"
assert total(live)[0] == held > 0, (total(live)[0], held)
deepest = max(stacks, key=lambda s: len(s["frames"]))
innermost = deepest["frames"][0].split("+0x")[0]
assert any(line.rsplit(" ", 1)[0].split(";")[-1].startswith(innermost) for line in lines), innermost

scope = json.load(open(speedscope))
frames = scope["shared"]["frames"]
assert all(("line" in f) == ("file" in f) for f in frames)
for profile, sum_of in zip(scope["profiles"], [allocated, held] + at_peak, strict=True):
    assert profile["type"] == "sampled" and profile["unit"] == "bytes" and profile["endValue"] == sum_of == sum(profile["weights"])
    assert len(profile["samples"]) == len(profile["weights"]) and all(i < len(frames) for s in profile["samples"] for i in s)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


profile = list(fields(open(pprof, "rb").read()))
strings = [v.decode() for f, v in profile if f == 6]
assert strings[0] == ""
types = [strings[dict(fields(v))[1]] for f, v in profile if f == 1]
assert types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] + ["peak_space"] * len(at_peak), types
samples = [[w for g, w in fields(v) if g == 2] for f, v in profile if f == 2]
assert sum(s[1] for s in samples) == allocated and sum(s[3] for s in samples) == held
assert [sum(s[4] for s in samples)] == at_peak if at_peak else all(len(s) == 4 for s in samples)
locations = {dict(fields(v))[1] for f, v in profile if f == 4}
assert all(w in locations for f, v in profile if f == 2 for g, w in fields(v) if g == 1)
# A location is a function at a line, as in the table of the report.
functions = {}
for f, v in profile:
    if f == 5:
        of = dict(fields(v))
        functions[of[1]] = (strings[of[2]], strings[of[4]] if 4 in of else None)
lines = set()
for f, v in profile:
    if f == 4:
        of = dict(fields(dict(fields(v))[4]))
        lines.add((functions[of[1]][0], of.get(2)))
table = json.load(open(report))["program"]["heap"]["frame_table"]
told = [table[i] for s in stacks for i in s["frame_ids"]]
wanted = {(f"{f['function']} ({f['module']})", f["line"]) for f in told if f["function"] and f["module"] and len(f["function"]) < 380}
assert wanted <= lines, sorted(wanted - lines, key=str)[:5]
assert {f["file"] for f in told if f["file"]} >= {file for _, file in functions.values() if file}
names = {strings[dict(fields(v))[2]] for f, v in profile if f == 5}
assert names == {f["name"] for f in frames}
print(len(stacks), "stacks,", allocated, "bytes,", held, "live")
