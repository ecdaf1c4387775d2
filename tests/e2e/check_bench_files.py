# tests/e2e/check_bench_files.py - what the library writes, Python reads; what Python writes, the library reads.
# usage: check_bench_files.py PROGRAM FOLDER
import csv, hashlib, io, json, math, os, subprocess, sys

program, folder = sys.argv[1:]
ROWS = 500
HEADERS = {
    "results7": "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy",
    "results": "setting,lambda,tau,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy",
    "latency": "sample_id,wall_time_us,kernel_time_us,seq_len",
    "memory": "timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes",
    "baseline": "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j",
    "power": "timestamp_us,watts",
}


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 33

    def share(self):
        above, below = self.next() + 1, self.next() + 1
        return above / (above + below)


def check(what, fine):
    if not fine:
        sys.exit(f"check_bench_files: {what}")


def field(value):
    """What a field should hold: None is empty, numbers are compared as numbers."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def expected():
    out = {name: [] for name in HEADERS}
    names = ["mincut_l0.5_t2", "a,b", 'say "hi"', "two\nlines", "cr\\r"] # a table shows a CR, it has none
    n = Numbers(1)
    for i in range(ROWS):
        delta = -n.share() / 1e6
        kv, peak = n.share(), -n.share() * 1e9
        energy = n.share() if i % 3 else None
        rest = [delta, kv, peak, energy, n.next(), n.share()]
        out["results7"].append([names[i % 5]] + rest)
        out["results"].append([names[i % 5], (i % 10) / 10, i % 7] + rest)
    n = Numbers(2)
    for i in range(ROWS):
        wall, kernel = n.next(), n.next()
        out["latency"].append([i, wall // 1000, kernel // 1000 if i % 2 else None, i * 3])
        rss = n.next()
        out["memory"].append([1700000000000000 + i, rss, None, n.next() if i % 2 else None, 0])
        wall, mem = n.next(), n.next()
        out["baseline"].append([i, i * 2, wall // 1000, mem, n.share()])
        out["power"].append([1700000000000000 + i, n.share() * 100])
    return out


def check_rows(name, rows, wanted):
    check(f"{name}: {len(rows)} rows", len(rows) == len(wanted))
    for number, (row, want) in enumerate(zip(rows, wanted), 2):
        check(f"{name} row {number}: {row}", len(row) == len(want))
        for text, value in zip(row, want):
            value = field(value)
            if isinstance(value, str):
                fine = text == value
            elif isinstance(value, int):
                fine = text == str(value)
            else:  # exactly the same number, in no more digits than Python needs
                fine = float(text) == value and len(text.lstrip("-0.")) <= len(repr(value).lstrip("-0.")) + 1
            check(f"{name} row {number}: {text!r} is not {value!r}", fine)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def check_meta(name, path, config_hash):
    data = open(path, "rb").read()
    meta = json.load(open(path + ".meta.json", encoding="utf-8"))
    check(f"{name}: schema", meta["schema"] == "assay.bench_csv" and meta["version"] == 1)
    check(f"{name}: file", meta["file"] == os.path.basename(path) and meta["rows"] == ROWS)
    check(f"{name}: hash", meta["sha256"] == hashlib.sha256(data).hexdigest() and meta["bytes"] == len(data))
    check(f"{name}: columns", ",".join(c["name"] for c in meta["columns"]) == HEADERS[name])
    units = {c["name"]: c["unit"] for c in meta["columns"]}
    for column, unit in units.items():
        for end, right in (("_us", "us"), ("_bytes", "bytes"), ("_j", "J"), ("_reduction", "share")):
            check(f"{name}: unit of {column}", not column.endswith(end) or unit == right)
    check(f"{name}: config_hash", meta["config_hash"] == config_hash)
    facts = meta["fingerprint"]["facts"]
    check(f"{name}: keys are sorted", list(facts) == sorted(facts, key=lambda k: k.encode()))
    check(f"{name}: hash of all", hashlib.sha256(compact(facts).encode()).hexdigest() == meta["fingerprint"]["hash"])
    deciding = ["compiler_flags", "config_hash", "eps", "lambda", "model_commit", "seed", "tau", "weights_hash"]
    part = {k: facts[k] for k in deciding}
    check(f"{name}: deciding hash",
          hashlib.sha256(compact(part).encode()).hexdigest() == meta["fingerprint"]["deciding_hash"])
    check(f"{name}: host", facts["host"] == os.uname().nodename and facts["kernel"] == os.uname().release)
    for key, value in facts.items():
        check(f"{name}: reason of {key}", (value is None) == (key + "_why" in facts))


def copy(source, target):
    return subprocess.run([program, "copy", source, target], capture_output=True, text=True)


told = subprocess.run([program, "write", folder], check=True, capture_output=True).stdout.decode()
config_json, config_hash = told.split("\n")[:2]
config = {"model_commit": 'abc\n\x01"é', "weights_hash": "def\x7f/", "lambda": 0.5, "tau": 2, "eps": 0.015625,
          "compiler_flags": "-O3"}
check(f"config: {config_json}", config_json == compact(config))
check("config hash", config_hash == hashlib.sha256(compact(config).encode()).hexdigest())

wanted = expected()
for name, header in HEADERS.items():
    path = f"{folder}/csv/{name}.csv"
    text = open(path, newline="", encoding="utf-8").read()
    check(f"{name}: header", text.split("\n")[0] == header)
    check(f"{name}: last line", text.endswith("\n") and "\r\n" not in text)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    check_rows(name, rows[1:], wanted[name])
    if name != "power":
        check_meta(name, path, config_hash)
    else:
        check("power: no file beside it", not os.path.exists(path + ".meta.json"))

    # Read by the library and written again it is the same file, byte by byte, even quoted all over by Python.
    quoted = f"{folder}/quoted.csv"
    with open(quoted, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, quoting=csv.QUOTE_ALL).writerows(rows)
    for source in (path, quoted):
        done = copy(source, f"{folder}/copy.csv")
        check(f"{name}: {done.stderr}", done.returncode == 0)
        check(f"{name}: the copy differs", open(f"{folder}/copy.csv", newline="", encoding="utf-8").read() == text)

    # A field that is not what its column holds is refused, with its line and column.
    columns = header.split(",")
    for at, column in enumerate(columns):
        if column == "setting":
            continue
        broken = [list(r) for r in rows[:4]]
        broken[2][at] = "nan"
        with open(quoted, "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(broken)
        done = copy(quoted, f"{folder}/broken.csv")
        check(f"{name}: {done.stderr}", done.returncode == 3 and f"line 3, column {column}:" in done.stderr)
        check(f"{name}: something was written", not os.path.exists(f"{folder}/broken.csv"))
