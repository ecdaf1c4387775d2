"""Judges a folder that `assay bench --workload attention` wrote, by its own sums and hashes.

usage: check_bench.py FOLDER SAMPLES            the files agree with each other
       check_bench.py forge WITNESS KEY=VALUE   writes other values into a witness of hashes, whole again
       check_bench.py same FOLDER FOLDER        two runs left the same witness, timestamps apart
       check_bench.py kill ASSAY FOLDER N ARG.. starts a bench and kills it once N samples are there
"""
import csv
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_witness  # noqa: E402

RESULTS = "setting,lambda,tau,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy"
SEVEN = "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy"
SAMPLES = "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j"
LATENCY = "sample_id,wall_time_us,kernel_time_us,seq_len"


def rows(path, header):
    with open(path, newline="", encoding="utf-8") as f:
        first = f.readline().rstrip("\n")
        assert header is None or first == header, f"{path}: header {first}"
        return list(csv.DictReader(f, fieldnames=first.split(",")))


def chain(path):
    """the entries, and the head of the chain as another program computes it"""
    hashes = check_witness.witness(path)
    with open(path, encoding="utf-8") as f:
        entries = [json.loads(line) for line in f][:-1]
    assert len(entries) == len(hashes)
    return entries, hashes[-1][0]


def forge(path, change):
    """writes the witness anew with other values, every hash and the seal made to fit"""
    lines = open(path, encoding="utf-8").read().splitlines()
    entries = [json.loads(line, parse_float=check_witness.Digits, parse_int=check_witness.Digits) for line in lines[:-1]]
    head, out = "0" * 64, ""
    for i, e in enumerate(entries):
        e = dict(entries[0] if change == "sample" else e)
        e["index"], e["prev_hash"] = str(i), head
        if change != "sample":
            key, value = change.split("=")
            e[key] = value
        text = "assay.witness 1\n" + "".join(
            f"{k}={e[k]}\n" for k in check_witness.KEYS if k not in ("keep_mask", "timestamp", "entry_hash"))
        e["entry_hash"] = head = hashlib.sha256(text.encode()).hexdigest()
        quoted = {k: json.dumps(v) if k.endswith("hash") or v is None else v for k, v in e.items()}
        out += "{" + ",".join(f'"{k}":{quoted[k]}' for k in check_witness.KEYS) + "}\n"
    seal = {"seal": 1, "entries": len(entries), "head": head, "file_hash": hashlib.sha256(out.encode()).hexdigest()}
    open(path, "w", encoding="utf-8").write(out + json.dumps(seal, separators=(",", ":")) + "\n")


def check(folder, samples):
    results = json.load(open(f"{folder}/results.json", encoding="utf-8"))
    assert results["schema"] == "assay.bench" and results["samples"] == samples
    assert len(results["experiment_hash"]) == 64
    settings = {s["setting"]: s for s in results["settings"]}
    gated = [s for s in results["settings"] if not s["baseline"]]
    base = rows(f"{folder}/csv/baseline.csv", SAMPLES)
    assert [int(r["sample_id"]) for r in base] == list(range(samples))
    nine = rows(f"{folder}/csv/results.csv", RESULTS)
    seven = rows(f"{folder}/csv/results_7.csv", SEVEN)
    assert [r["setting"] for r in nine] == [s["setting"] for s in gated] == [r["setting"] for r in seven]
    for row in nine:
        name = row["setting"]
        s = settings[name]
        assert name == f"mincut_l{float(row['lambda']):g}_t{row['tau']}", name
        own = rows(f"{folder}/csv/{name}.csv", SAMPLES)
        details = rows(f"{folder}/csv/{name}.details.csv", None)
        latency = rows(f"{folder}/csv/{name}.latency.csv", LATENCY)
        assert [r["seq_len"] for r in own] == [r["seq_len"] for r in base] == [r["seq_len"] for r in latency]
        walls = sorted(int(r["wall_time_ns"]) for r in details)
        p95 = walls[max(math.ceil(0.95 * len(walls)), 1) - 1]
        assert int(row["p95_latency_us"]) == p95 // 1000, "p95"
        delta = sum(float(r["coherence_delta"]) for r in details) / samples
        assert abs(float(row["coherence_delta"]) - delta) < 1e-12 and delta <= 0, "coherence"
        kept = sum(int(r["positions_kept"]) for r in details) / sum(int(r["positions_total"]) for r in details)
        assert abs(float(row["kv_cache_reduction"]) - (1 - kept)) < 1e-12, "kv"
        memory = sum(int(r["peak_mem_bytes"]) for r in own) / sum(int(r["peak_mem_bytes"]) for r in base)
        assert abs(float(row["peak_mem_reduction"]) - (1 - memory)) < 1e-12, "memory"
        if results["energy_is_assumed"]:
            assert s["criteria"]["energy"] == "unknown", "watts that were given prove nothing"
        if results["energy_reason"]:
            assert row["energy_reduction"] == "" and all(r["energy_j"] == "" for r in own), "energy"
            assert s["criteria"]["energy"] == "unknown"
        else:
            energy = sum(float(r["energy_j"]) for r in own) / sum(float(r["energy_j"]) for r in base)
            assert abs(float(row["energy_reduction"]) - (1 - energy)) < 1e-9, "energy"
        entries, head = chain(f"{folder}/witness/{name}.jsonl")
        assert len(entries) == samples
        assert [e["output_hash"] for e in entries] == [r["output_hash"] for r in details], "outputs"
        assert all(e["mask_kept"] == int(r["edges_kept"]) for e, r in zip(entries, details)), "masks"
        assert {e["config_hash"] for e in entries} == {s["config_hash"]}, "configuration"
        assert all(int(r["cuts"]) <= int(r["decisions"]) for r in details), "cuts"
        assert s["criteria"]["witness"] in ("met", "unknown")
    for meta in os.listdir(f"{folder}/csv"):
        if meta.endswith(".meta.json"):
            m = json.load(open(f"{folder}/csv/{meta}", encoding="utf-8"))
            data = open(f"{folder}/csv/{meta[:-10]}", "rb").read()
            assert hashlib.sha256(data).hexdigest() in json.dumps(m), f"{meta}: the hash of its file"
            assert results["experiment_hash"] in json.dumps(m), f"{meta}: the stamp"
    for figure in ("latency", "tradeoff", "lengths", "energy"):
        root = ET.parse(f"{folder}/figs/{figure}.svg").getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 4, figure
    json.load(open(f"{folder}/fingerprint.json", encoding="utf-8"))


def same(a, b):
    names = sorted(n for n in os.listdir(f"{a}/witness") if n.endswith(".jsonl"))
    assert names and names == sorted(n for n in os.listdir(f"{b}/witness") if n.endswith(".jsonl"))
    for name in names:
        assert chain(f"{a}/witness/{name}")[1] == chain(f"{b}/witness/{name}")[1], name


def kill(assay, folder, wanted, arguments):
    p = subprocess.Popen([assay, "bench", "--output-dir", folder, *arguments], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    journal = f"{folder}/journal.jsonl"
    while p.poll() is None:
        if os.path.exists(journal) and open(journal, "rb").read().count(b"\n") > wanted:
            break
        time.sleep(0.005)  # asking again, not waiting for time to pass
    assert p.poll() is None, "it ended before it could be killed"
    p.send_signal(signal.SIGKILL)
    assert p.wait() == -signal.SIGKILL


if __name__ == "__main__":
    if sys.argv[1] == "same":
        same(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "forge":
        forge(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "kill":
        kill(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
    else:
        check(sys.argv[1], int(sys.argv[2]))
