"""Judges `assay machine --json`: keys, values above zero, figures that agree with each other and with the system."""
import json
import os
import sys

m = json.load(open(sys.argv[1], encoding="utf-8"))
source = sys.argv[2]


def want(condition, sentence):
    if not condition:
        sys.exit(sentence)


want(m["schema"] == "assay.machine" and m["schema_version"] == 2, "schema")
want(m["topology"]["cores"] >= 1 and m["topology"]["threads"] >= m["topology"]["cores"], "counts")
usable = os.sched_getaffinity(0)
want(m["usable"]["processors"] == len(usable), "usable processors")
want(set(m["usable"]["processor_numbers"]) == usable, "their numbers")
for line in open("/proc/meminfo", encoding="ascii"):
    if line.startswith("MemTotal:"):
        want(m["topology"]["memory_bytes"] == int(line.split()[1]) * 1024, "memory")
flags = next((line.split(":")[1].split() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("flags")), [])
for isa in ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile"):
    want(m["cpu"]["isa"][isa] == (isa in flags), isa)

peaks = m["peaks"]
want(peaks["source"] == source, "source is %s, not %s" % (peaks["source"], source))
want(len(peaks["fingerprint"]) == 64, "fingerprint")
want(peaks["took_s"] > 0 and peaks["age_s"] >= 0 and peaks["measured_unix_s"] > 1.6e9, "times")
want(peaks["clock_read_ns"] > 0 and peaks["clock_gettime_ns"] > 0, "clock")
rate = {}
for p in peaks["compute"]:
    value = p["operations_per_second"]
    if value is None:
        want(p["operations_per_second_reason"], "a missing peak has a reason")
    else:
        want(value > 0 and 0 <= p["spread_share"] <= 1 and p["isa"], "a peak is a number")
    rate[p["type"], p["threads"]] = value
want({t for t, _ in rate} == {"f32", "f64", "bf16", "i8"}, "types")
want(rate["f32", 1] > 0 and rate["f64", 1] > 0, "f32 and f64 are always there")
best = {}
for b in peaks["bandwidth"]:
    value = b["bytes_per_second"]
    if value is None:
        want(b["bytes_per_second_reason"], "a missing bandwidth has a reason")
        continue
    want(value > 0, "a bandwidth is a number")
    key = b["level"], b["threads"]
    best[key] = max(best.get(key, 0), value)
for r in peaks["ridge_points"]:
    key = r["level"], r["threads"]
    flops = rate[r["type"], r["threads"]]
    if flops is None or key not in best:
        want(r["operations_per_byte"] is None and r["operations_per_byte_reason"], "no ridge without both")
    else:
        want(abs(r["operations_per_byte"] - flops / best[key]) < 1e-6 * flops / best[key], "ridge is peak by bandwidth")
noise = m["noise"]
want(noise["pairs"] >= 8 and noise["kernel_ns"] > 0, "noise")
want(noise["difference_low_share"] <= noise["difference_high_share"], "interval")
want(noise["resolvable_share"] >= abs(noise["difference_high_share"]) - 1e-12, "resolvable")
places = [f["severity"] for f in m["findings"]]
want(places and places == sorted(places, reverse=True) and max(places) <= 100, "findings in order")
for f in m["findings"]:
    want(f["finding"] and f["evidence"] and f["rule"], "a finding says what and why")
    want(f["confidence"] in ("low", "medium", "high"), "confidence")
    want(f["severity"] == 0 or f["action"], "and what to do")
