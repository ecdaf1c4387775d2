"""check_export_heap.py RUN.json FOLDED SPEDSCOPE PPROF LIVE_FOLDED: exports of heap stacks against the report of the run."""
import json, sys

report, folded, speedscope, pprof, live = sys.argv[1:6]
stacks = json.load(open(report))["program"]["heap"]["stacks"]
allocated = sum(round(s["allocated_bytes_estimate"]) for s in stacks)
held = sum(round(s["live_bytes_estimate"]) for s in stacks)


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
for profile, sum_of in zip(scope["profiles"], (allocated, held)):
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
assert types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], types
samples = [[w for g, w in fields(v) if g == 2] for f, v in profile if f == 2]
assert sum(s[1] for s in samples) == allocated and sum(s[3] for s in samples) == held
locations = {dict(fields(v))[1] for f, v in profile if f == 4}
assert all(w in locations for f, v in profile if f == 2 for g, w in fields(v) if g == 1)
names = {strings[dict(fields(v))[2]] for f, v in profile if f == 5}
assert names == {f["name"] for f in frames}
print(len(stacks), "stacks,", allocated, "bytes,", held, "live")
