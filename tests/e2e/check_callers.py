"""check_callers.py yes|no: who allocates in rows.json and cells.json, made by test_callers.sh, against what the programs do."""
import json, sys

lines = sys.argv[1] == "yes"


def heap_of(name):
    return json.load(open(name + ".json"))["program"]["heap"]


def line_of(file, comment):
    return next(i for i, line in enumerate(open(file), 1) if comment in line)


heap = heap_of("rows")
table = heap["frame_table"]
assert all(set(f) == {"function", "module", "offset", "file", "line", "inlined", "wrapper"} for f in table)
(wrapped,) = [s for s in heap["sites"] if s["function"] == "xmalloc"]
assert wrapped["allocations"] == 300 + 300 + 200 and wrapped["allocated_bytes"] == 500 * 100000 + 300 * 300000, "exact as ever"
callers = {}
for c in wrapped["callers"]:
    assert c["estimate"] and c["samples"] > 0 and 0 < c["share"] <= 1
    callers[c["function"]] = callers.get(c["function"], 0) + c["allocated_bytes"]
assert set(callers) == {"make_row", "make_page"}, callers
assert abs(sum(c["share"] for c in wrapped["callers"]) - 1) < 1e-9
# 140 MB are 267 samples: six standard deviations.
assert abs(callers["make_row"] - 50e6) < 22e6 and abs(callers["make_page"] - 90e6) < 22e6, callers
if lines:
    assert {c["line"] for c in wrapped["callers"]} == {line_of("rows.c", "a row"), line_of("rows.c", "a page")}
    assert all(c["file"].endswith("rows.c") for c in wrapped["callers"])
(plain,) = [s for s in heap["sites"] if s["function"] == "plain"]
(only,) = plain["callers"]
assert not only["estimate"] and only["share"] == 1 and only["samples"] == 0 and only["allocated_bytes"] == 5000000
if lines:
    assert plain["inlined_functions"] == ["small"] and only["function"] == "small" and only["inlined"]
    assert plain["line"] == line_of("rows.c", "inlined *")

deepest = {}
for stack in heap["stacks"]:
    frames = [table[i] for i in stack["frame_ids"]]
    assert len(frames) == len(stack["frames"])
    names = [f["function"] for f in frames]
    n = names.count("down")
    if n:
        deepest[n] = stack
        assert names[:2] == ["xmalloc", "make_row"], names[:3]
        assert stack["cut"] or names[-4:].count("main") == 1, "a whole stack ends where the program begins"
assert sorted(deepest) == [401, 510], sorted(deepest)
assert not deepest[401]["cut"] and deepest[510]["cut"] and len(deepest[510]["frames"]) >= 512

heap = heap_of("cells")
found = {}
for site in heap["sites"]:
    for c in site["callers"]:
        if (c["function"] or "").startswith(("load", "widen")):
            found.setdefault(c["function"].split("(")[0], []).append((site, c))
assert set(found) == {"load", "widen"}, [(s["function"], s["callers"]) for s in heap["sites"]]
assert sum(c["allocated_bytes"] for _, c in found["load"]) > 15e6 and sum(c["allocated_bytes"] for _, c in found["widen"]) > 12e6
if lines:
    assert {c["line"] for _, c in found["load"]} == {line_of("cells.cpp", "// names")}
    assert {c["line"] for _, c in found["widen"]} == {line_of("cells.cpp", "// cells")}
print(len(wrapped["callers"]), "callers of xmalloc;", {k: len(v) for k, v in found.items()})
