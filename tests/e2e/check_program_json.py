#!/usr/bin/env python3
"""The JSON and the CSV files of a watched program say what was recorded. usage: check_program_json.py ASSAY FOLDER"""
import csv
import json
import math
import subprocess
import sys

assay, tmp = sys.argv[1:]


def report(name, *options):
    return subprocess.run([assay, "report", *options, f"{tmp}/{name}.assay"], capture_output=True, check=True).stdout


def program(name):
    return json.loads(report(name, "--json"))["program"]


def near(a, b, share=0.02):
    return math.isclose(a, b, rel_tol=share)


MIB = 1024 * 1024
leak = program("leak")
assert leak["command"] == ["./a.out", "--rows", "1000000"] and leak["exit_status"] == 0 and leak["signal"] is None
assert leak["wall_seconds"] == 14 and near(leak["processors_used"], 0.97) and leak["processors"] == 4
assert leak["written_bytes"] is None and leak["unavailable"] == {"written_bytes": "the kernel does not count it"}
assert leak["minor_faults"] == 523456
assert [p["pid"] for p in leak["processes"]] == [4242, 4243, 4244] and leak["processes"][2]["end_seconds"] is None
heap = leak["heap"]
assert heap["allocations"] == 3001234 and len(heap["sites"]) == 6
growing = [s for s in heap["sites"] if s["growing"]]
assert len(growing) == 1 and growing[0]["function"] == "parse_row" and near(growing[0]["growth_bytes_per_second"], 1.15 * MIB)
assert heap["stacks"][0]["frames"][0] == "make_temp+0x20 (libfoo.so.1)" and len(heap["stacks"][1]["frames"]) == 512
assert heap["layers"][1] == {"name": "attention", "calls": 100, "peak_within_bytes": 12 * MIB, "net_bytes": -512}
growth = leak["growth"]
assert growth["verdict"] == "grows" and near(growth["sites"][0]["share"], 1.15 / 1.2)
series = {s["name"]: s for s in growth["series"]}
assert near(series["heap_live"]["bytes_per_second"], 1.2 * MIB) and series["heap_live"]["p_value"] < 0.001
assert near(series["iterations"]["bytes_per_iteration"], 1.2 * 0.13 * MIB)
rss = leak["series"]["rss"]
assert len(rss["seconds"]) == len(rss["bytes"]) == 280 and near(rss["seconds"][-1], 13.95)
calls = leak["products"]["calls"]
assert calls[0]["calls"] == 2000 and near(calls[0]["flops_per_second"], 2 * 512**3 * 250, 1e-9)
assert calls[1]["flops"] is None and calls[1]["flops_per_second"] is None and calls[0]["roof_share"] is None
assert leak["cost"]["memory_inside_bytes"] == 11234 * 16

plain = program("plain")
assert plain["heap"] is None and plain["unavailable"]["heap"] == "the program is static"
assert plain["growth"]["verdict"] == "no_growth" and plain["growth"]["live_at_end"] is None
rules = {c["rule"]: c for c in plain["causes"]}
assert near(rules["program-waits"]["expected_gain"], 0.95) and near(rules["storage-wait"]["expected_gain"], 7.5 / 14)
assert all(c["expected_gain"] is None or 0 < c["expected_gain"] < 1 for c in plain["causes"])
assert program("short")["growth"]["verdict"] == "unknown"
assert program("hostile")["signal"] == 11
assert "program" not in json.loads(report("layers", "--json"))

# A section has what its page shows, where it stands without one too.
for section, keys in (("leaks", ["growth"]), ("bottlenecks", ["causes"]), ("summary", ["growth", "causes", "wall_seconds"]), ("memory", ["series"])):
    for name in ("leak", "plain"):
        told, whole = json.loads(report(name, "--json", "--section", section)), program(name)
        assert all(told["program"][key] == whole[key] for key in keys), (section, name)
        assert "processes" not in told["program"], section
told = json.loads(report("plain", "--json", "--section", "bottlenecks"))["bottlenecks"]
assert told["status"] == "unavailable" and "program.causes" in told["reason"] and "summary" not in told
told = json.loads(report("plain", "--json", "--section", "leaks"))["leaks"]
assert told["status"] == "unavailable" and "program.growth" in told["reason"]

for name in ("leak", "hostile"):
    told = program(name)
    report(name, "--quiet", "--export-csv", f"{tmp}/csv-{name}")
    rows = {n: list(csv.DictReader(open(f"{tmp}/csv-{name}/{n}.csv", newline="", encoding="utf-8"))) for n in ("processes", "heap_sites", "gemm")}
    for file, items in (("processes", told["processes"]), ("heap_sites", told["heap"]["sites"]), ("gemm", told["products"]["calls"])):
        assert len(rows[file]) == len(items), (name, file)
        for row, item in zip(rows[file], items):
            if file == "heap_sites":  # a row has the first of each list
                item["inlined_function"] = next(iter(item["inlined_functions"]), None)
                first = next(iter(item["callers"]), {})
                for key, of in (("", "function"), ("_file", "file"), ("_line", "line"), ("_share", "share"), ("_estimate", "estimate")):
                    item["caller" + key] = first.get(of)
            for key, text in row.items():
                value = item[key]
                if value is None:
                    assert text == "", (name, file, key, text)
                elif isinstance(value, bool):
                    assert text == str(value).lower()
                elif isinstance(value, (int, float)):
                    assert float(text) == value, (name, file, key, text, value)
                elif name != "hostile":
                    assert text == value, (name, file, key, text, value)
